//! Attempts: the first five, the last fifty, and counts of the rest.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use steadfast_retry::Timestamp;

use super::{fault::Fault, number, statements::Statements};
use crate::{
    attempts::{FIRST, KEPT, LAST},
    rows::{AttemptLog, AttemptOutcome, AttemptRow, Retried, RunIdentity, RunNumber},
};

/// The columns of an attempt, in the order in which they are read.
const COLUMNS: &str = "outcome, activity, attempt, activity_id, activity_type, worker,
    scheduled_at, started_at, ended_at, error_type, message, fingerprint, why, next_at,
    rule, layer, policy, source, delay, class, parked";

pub(super) fn attempts(
    db: &mut Connection,
    run: RunNumber,
    activity: i64,
) -> Result<AttemptLog, Fault> {
    let tx = db.transaction()?;
    Ok(AttemptLog { rows: kept(&tx, run, activity)?, dropped: dropped(&tx, run, activity)? })
}

pub(super) fn of_run(db: &mut Connection, run: RunNumber) -> Result<Vec<AttemptLog>, Fault> {
    let tx = db.transaction()?;
    let sql = "SELECT DISTINCT activity FROM attempts WHERE run = ?1 ORDER BY activity";
    let mut select = tx.prepare_cached(sql)?;
    let activities = select.query_map([run.0], |row| row.get(0))?;
    let log = |activity| -> Result<_, Fault> {
        Ok(AttemptLog { rows: kept(&tx, run, activity)?, dropped: dropped(&tx, run, activity)? })
    };
    activities.map(|activity| log(activity?)).collect()
}

pub(super) fn retried(
    db: &mut Connection,
    namespace: &str,
    more_than: u32,
    after: Option<(RunNumber, i64)>,
    limit: usize,
) -> Result<Vec<Retried>, Fault> {
    // Of the first attempts, which are always kept, the one that tells most stands for all.
    let sql = "SELECT kept.run, kept.activity, namespace, workflow_id, run_id
        FROM attempts AS kept INDEXED BY attempts_by_number JOIN runs ON runs.id = kept.run
        WHERE kept.attempt = min(?2 + 1, 5) AND kept.attempt BETWEEN 2 AND 5
          AND (kept.run, kept.activity) < (?3, ?4) AND namespace = ?1
          AND (?2 < 5 OR EXISTS (SELECT 1 FROM attempts AS later
               WHERE later.run = kept.run AND later.activity = kept.activity
                 AND later.attempt > ?2))
        ORDER BY kept.run DESC, kept.activity DESC LIMIT ?5";
    let tx = db.transaction()?;
    let (run, activity) = after.unwrap_or((RunNumber(i64::MAX), i64::MAX));
    let given = (namespace, more_than.max(1), run.0, activity, number::limit(limit));
    let mut select = tx.prepare_cached(sql)?;
    let mut rows = select.query(given)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let run = RunNumber(row.get(0)?);
        let identity =
            RunIdentity { namespace: row.get(2)?, workflow_id: row.get(3)?, run_id: row.get(4)? };
        if let Some(last) = last(&tx, run, row.get(1)?)? {
            found.push(Retried { run, identity, last });
        }
    }
    Ok(found)
}

pub(super) fn put(
    statements: &mut Statements<'_>,
    run: RunNumber,
    row: &AttemptRow,
) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO attempts (run, activity, attempt, activity_id,
            activity_type, worker, scheduled_at, started_at, ended_at, outcome, error_type,
            message, fingerprint, why, next_at, rule, layer, policy, source, delay, class, parked)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20, ?21, ?22)";
    statements.get(sql)?.execute(params![
        run.0,
        row.activity,
        row.attempt,
        row.activity_id,
        row.activity_type,
        row.worker,
        row.scheduled_at.nanos(),
        row.started_at.map(Timestamp::nanos),
        row.ended_at.nanos(),
        row.outcome.number(),
        row.error_type,
        row.message,
        row.fingerprint.cast_signed(),
        row.why,
        row.next_at.map(Timestamp::nanos),
        row.rule,
        row.layer,
        row.policy,
        row.source,
        row.delay.map(number::nanos),
        row.class,
        row.parked,
    ])?;
    // Attempts are numbered from 1: with a small number there cannot be too many.
    if usize::try_from(row.attempt).is_ok_and(|attempt| attempt > KEPT) {
        trim(statements, run, row.activity)?;
    }
    Ok(())
}

/// Drops the oldest attempt after the first five if there are more than fifty after those.
fn trim(statements: &mut Statements<'_>, run: RunNumber, activity: i64) -> Result<(), Fault> {
    const OLDEST: &str = "SELECT attempt, fingerprint FROM attempts
        WHERE run = ?1 AND activity = ?2 ORDER BY attempt LIMIT 1 OFFSET ?3";
    const COUNT: &str = "SELECT count(*) FROM attempts WHERE run = ?1 AND activity = ?2";
    const ADD: &str = "INSERT INTO attempt_counts (run, activity, fingerprint, count)
        VALUES (?1, ?2, ?3, 1)
        ON CONFLICT (run, activity, fingerprint) DO UPDATE SET count = count + 1";
    const DROP: &str = "DELETE FROM attempts WHERE run = ?1 AND activity = ?2 AND attempt = ?3";
    let count: i64 = statements.get(COUNT)?.query_row((run.0, activity), |row| row.get(0))?;
    if count <= number::limit(FIRST + LAST) {
        return Ok(());
    }
    let oldest = statements
        .get(OLDEST)?
        .query_row((run.0, activity, number::limit(FIRST)), |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?;
    if let Some((attempt, fingerprint)) = oldest {
        statements.get(ADD)?.execute((run.0, activity, fingerprint))?;
        statements.get(DROP)?.execute((run.0, activity, attempt))?;
    }
    Ok(())
}

fn kept(tx: &Transaction<'_>, run: RunNumber, activity: i64) -> Result<Vec<AttemptRow>, Fault> {
    let sql =
        format!("SELECT {COLUMNS} FROM attempts WHERE run = ?1 AND activity = ?2 ORDER BY attempt");
    let mut select = tx.prepare_cached(&sql)?;
    let mut rows = select.query((run.0, activity))?;
    let mut kept = Vec::new();
    while let Some(row) = rows.next()? {
        kept.push(attempt(row)?);
    }
    Ok(kept)
}

fn last(tx: &Transaction<'_>, run: RunNumber, activity: i64) -> Result<Option<AttemptRow>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM attempts WHERE run = ?1 AND activity = ?2
        ORDER BY attempt DESC LIMIT 1"
    );
    let mut select = tx.prepare_cached(&sql)?;
    let mut rows = select.query((run.0, activity))?;
    rows.next()?.map(attempt).transpose()
}

/// Reads the columns that [`COLUMNS`] names.
fn attempt(row: &Row<'_>) -> Result<AttemptRow, Fault> {
    let number = row.get(0)?;
    let outcome = AttemptOutcome::from_number(number)
        .ok_or_else(|| Fault::unreadable("attempts.outcome", number))?;
    Ok(AttemptRow {
        outcome,
        activity: row.get(1)?,
        attempt: row.get(2)?,
        activity_id: row.get(3)?,
        activity_type: row.get(4)?,
        worker: row.get(5)?,
        scheduled_at: Timestamp(row.get(6)?),
        started_at: row.get::<_, Option<i64>>(7)?.map(Timestamp),
        ended_at: Timestamp(row.get(8)?),
        error_type: row.get(9)?,
        message: row.get(10)?,
        fingerprint: row.get::<_, i64>(11)?.cast_unsigned(),
        why: row.get(12)?,
        next_at: row.get::<_, Option<i64>>(13)?.map(Timestamp),
        rule: row.get(14)?,
        layer: row.get(15)?,
        policy: row.get(16)?,
        source: row.get(17)?,
        delay: row.get::<_, Option<i64>>(18)?.map(number::span),
        class: row.get(19)?,
        parked: row.get(20)?,
    })
}

fn dropped(
    tx: &Transaction<'_>,
    run: RunNumber,
    activity: i64,
) -> Result<BTreeMap<u64, u64>, Fault> {
    let sql = "SELECT fingerprint, count FROM attempt_counts WHERE run = ?1 AND activity = ?2";
    let mut select = tx.prepare_cached(sql)?;
    let mut rows = select.query((run.0, activity))?;
    let mut counts = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let fingerprint: i64 = row.get(0)?;
        counts.insert(fingerprint.cast_unsigned(), number::unsigned("count", row.get(1)?)?);
    }
    Ok(counts)
}
