//! Commits: one transaction, one fsync.
//!
//! Most are [packed](super::packed) and come to the tables later. What may be refused, runs an aside, or
//! is large goes to the tables at once, after all that waits. Every statement is prepared once and kept.
//! The order of work is that of the memory backend: the fence, the sequence, the rules, then the writes
//! one after the other.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use steadfast_retry::Timestamp;

use super::{
    asides::{self, Guard},
    attempts, errors,
    fault::Fault,
    number,
    packed::{Packed, Waiting, pack, unpack},
    shards::{fence, progress},
    statements::Statements,
    visibility,
};
use crate::{
    check,
    rows::{Batch, EventBatch, ItemWrite, RunIdentity, RunNumber, RunWrite, StateRow},
};

pub(super) fn commit(
    db: &mut Connection,
    batch: &Arc<Batch>,
    guard: &Guard,
    packed: &Packed,
) -> Result<(), Fault> {
    let mut waiting = packed.waiting();
    let done = write(db, batch, guard, packed, &mut waiting);
    if done.as_ref().is_err_and(Fault::is_fenced) {
        packed.set_ours(false);
    }
    done
}

fn write(
    db: &mut Connection,
    batch: &Arc<Batch>,
    guard: &Guard,
    packed: &Packed,
    waiting: &mut Waiting,
) -> Result<(), Fault> {
    let (tx, last_run) = begin_with(db, batch)?;
    if !waiting.admits(&tx, batch, last_run)? {
        return long(tx, batch, guard, packed, waiting);
    }
    match short(tx, batch, packed, waiting) {
        // What deletes makes room, but only in the tables.
        Err(fault) if fault.is_full() => {
            let (tx, _) = begin_with(db, batch)?;
            long(tx, batch, guard, packed, waiting)
        }
        done => done,
    }
}

/// Writes a commit as a row of its own.
fn short(
    tx: Transaction<'_>,
    batch: &Arc<Batch>,
    packed: &Packed,
    waiting: &mut Waiting,
) -> Result<(), Fault> {
    let bytes = pack(&tx, batch)?;
    tx.commit()?;
    waiting.add(Arc::clone(batch), bytes);
    packed.tell(waiting);
    Ok(())
}

/// Writes a commit to the tables, behind all that waits.
fn long(
    tx: Transaction<'_>,
    batch: &Batch,
    guard: &Guard,
    packed: &Packed,
    waiting: &mut Waiting,
) -> Result<(), Fault> {
    unpack(&tx, waiting)?;
    apply_all(&tx, batch, guard)?;
    let (_, last_run) = progress(&tx)?;
    let created = batch.writes.iter().filter(|write| write.create.is_some() && !write.delete);
    let last_run = created.map(|write| write.run.0).fold(last_run, i64::max);
    note_progress(&tx, batch.sequence, last_run)?;
    tx.commit()?;
    packed.forget(waiting);
    Ok(())
}

/// Begins to write a batch that may be written, and tells the highest run number in the tables. Whatever
/// fails from then on, also the COMMIT itself: the transaction is rolled back when it is dropped.
fn begin_with<'db>(
    db: &'db mut Connection,
    batch: &Batch,
) -> Result<(Transaction<'db>, i64), Fault> {
    let tx = begin(db)?;
    fence(&tx, batch)?;
    let (last, last_run) = progress(&tx)?;
    if batch.sequence != last + 1 {
        return Err(check::out_of_sequence(batch.sequence, last).into());
    }
    check::batch(batch)?;
    Ok((tx, last_run))
}

/// Writes how far commits have come in the tables.
pub(super) fn note_progress(
    tx: &Transaction<'_>,
    sequence: u64,
    last_run: i64,
) -> Result<(), Fault> {
    tx.prepare_cached("UPDATE commits SET sequence = ?1, last_run = ?2")?
        .execute((number::signed("sequence", sequence)?, last_run))?;
    Ok(())
}

/// Begins to write. Waits for another process that is writing, as long as the options say.
pub(super) fn begin(db: &mut Connection) -> Result<Transaction<'_>, Fault> {
    if !db.is_autocommit() {
        // Even rolling back failed the last time; until it succeeds nothing can begin.
        db.execute_batch("ROLLBACK")?;
    }
    Ok(db.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

fn apply_all(tx: &Transaction<'_>, batch: &Batch, guard: &Guard) -> Result<(), Fault> {
    let mut statements = Statements::of(tx);
    for write in &batch.writes {
        match &write.aside {
            None => apply(&mut statements, write)?,
            Some(aside) => asides::apply(tx, guard, aside, || apply(&mut statements, write))?,
        }
    }
    Ok(())
}

/// Writes to the tables.
pub(super) fn apply(statements: &mut Statements<'_>, write: &RunWrite) -> Result<(), Fault> {
    if write.delete {
        return delete(statements, write);
    }
    match (&write.create, &write.state) {
        (Some(identity), Some(state)) => create(statements, write, identity, state)?,
        (None, Some(state)) => put_state(statements, write, state)?,
        (_, None) => exists(statements, write)?,
    }
    for item in &write.items {
        put_item(statements, write.run, item)?;
    }
    if let (None, Some(first)) = (&write.create, write.events.first())
        && first.first <= last_event(statements, write.run)?
    {
        return Err(check::event_taken(write, first.first).into());
    }
    for events in &write.events {
        append(statements, write.run, events)?;
    }
    if let Some(row) = &write.visibility {
        visibility::put(statements, write, row)?;
    }
    for attempt in &write.attempts {
        attempts::put(statements, write.run, attempt)?;
    }
    for error in &write.errors {
        errors::put(statements, write.run, error)?;
    }
    Ok(())
}

fn create(
    statements: &mut Statements<'_>,
    write: &RunWrite,
    identity: &RunIdentity,
    state: &StateRow,
) -> Result<(), Fault> {
    let sql = "INSERT INTO runs
        (id, shard, namespace, workflow_id, run_id, next_due, has_work, state)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    statements
        .get(sql)?
        .execute(params![
            write.run.0,
            write.shard.0,
            identity.namespace,
            identity.workflow_id,
            identity.run_id,
            state.next_due.map(Timestamp::nanos),
            state.has_work,
            state.data,
        ])
        .map_err(|error| Fault::from(error).on_conflict(|| check::taken(write, identity)))?;
    Ok(())
}

/// A statement that does not name a column leaves its index alone, so the one that should do is
/// tried first: with due times spread over 100,000 runs, 256 states take 37 pages of log if these
/// stay as they are, and 243 otherwise.
fn put_state(
    statements: &mut Statements<'_>,
    write: &RunWrite,
    state: &StateRow,
) -> Result<(), Fault> {
    const SAME: &str = "UPDATE runs SET state = ?5
        WHERE id = ?1 AND shard = ?2 AND next_due IS ?3 AND has_work = ?4";
    const WORK: &str = "UPDATE runs SET state = ?5, has_work = ?4
        WHERE id = ?1 AND shard = ?2 AND next_due IS ?3";
    const DUE: &str = "UPDATE runs SET state = ?5, next_due = ?3
        WHERE id = ?1 AND shard = ?2 AND has_work = ?4";
    const BOTH: &str = "UPDATE runs SET state = ?5, has_work = ?4, next_due = ?3
        WHERE id = ?1 AND shard = ?2";
    let after = state.waking();
    let before = write.woken_by.unwrap_or(after);
    let tries: &[&str] = match (before.due != after.due, before.has_work != after.has_work) {
        (false, false) => &[SAME, BOTH],
        (false, true) => &[WORK, BOTH],
        (true, false) => &[DUE, BOTH],
        (true, true) => &[BOTH],
    };
    for sql in tries {
        let due = state.next_due.map(Timestamp::nanos);
        let row = params![write.run.0, write.shard.0, due, state.has_work, state.data];
        if statements.get(sql)?.execute(row)? == 1 {
            return Ok(());
        }
    }
    Err(check::unknown_run(write).into())
}

fn exists(statements: &mut Statements<'_>, write: &RunWrite) -> Result<(), Fault> {
    match shard_of(statements, write.run)? {
        Some(shard) if shard == write.shard.0 => Ok(()),
        Some(_) | None => Err(check::unknown_run(write).into()),
    }
}

fn shard_of(statements: &mut Statements<'_>, run: RunNumber) -> Result<Option<u32>, Fault> {
    Ok(statements
        .get("SELECT shard FROM runs WHERE id = ?1")?
        .query_row([run.0], |row| row.get(0))
        .optional()?)
}

fn put_item(
    statements: &mut Statements<'_>,
    run: RunNumber,
    item: &ItemWrite,
) -> Result<(), Fault> {
    const PUT: &str = "INSERT OR REPLACE INTO items (run, kind, key, data) VALUES (?1, ?2, ?3, ?4)";
    const DELETE: &str = "DELETE FROM items WHERE run = ?1 AND kind = ?2 AND key = ?3";
    let kind = item.kind.number();
    match &item.data {
        Some(data) => statements.get(PUT)?.execute(params![run.0, kind, item.key, data])?,
        None => statements.get(DELETE)?.execute(params![run.0, kind, item.key])?,
    };
    Ok(())
}

/// The newest event of a run; 0 if it has none.
pub(super) fn last_event(statements: &mut Statements<'_>, run: RunNumber) -> Result<i64, Fault> {
    let sql = "SELECT last_event FROM events WHERE run = ?1 ORDER BY first_event DESC LIMIT 1";
    let found = statements.get(sql)?.query_row([run.0], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(0))
}

fn append(
    statements: &mut Statements<'_>,
    run: RunNumber,
    events: &EventBatch,
) -> Result<(), Fault> {
    let sql = "INSERT INTO events (run, first_event, last_event, data) VALUES (?1, ?2, ?3, ?4)";
    statements.get(sql)?.execute(params![run.0, events.first, events.last, events.data])?;
    Ok(())
}

fn delete(statements: &mut Statements<'_>, write: &RunWrite) -> Result<(), Fault> {
    const DELETE: [&str; 8] = [
        "DELETE FROM runs WHERE id = ?1",
        "DELETE FROM items WHERE run = ?1",
        "DELETE FROM events WHERE run = ?1",
        "DELETE FROM visibility WHERE run = ?1",
        "DELETE FROM search_attributes WHERE run = ?1",
        "DELETE FROM attempts WHERE run = ?1",
        "DELETE FROM attempt_counts WHERE run = ?1",
        "DELETE FROM errors WHERE run = ?1",
    ];
    if shard_of(statements, write.run)?.is_some_and(|shard| shard != write.shard.0) {
        return Err(check::unknown_run(write).into());
    }
    for sql in DELETE {
        statements.get(sql)?.execute([write.run.0])?;
    }
    Ok(())
}
