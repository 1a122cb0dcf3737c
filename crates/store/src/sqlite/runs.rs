//! Runs: loading one, and finding those that are due or have work.

use rusqlite::{Connection, OptionalExtension, Params, Row, Transaction};
use steadfast_retry::Timestamp;

use super::{fault::Fault, number};
use crate::{
    rows::{Item, ItemKind, Lookup, RunIdentity, RunNumber, RunRows, ShardNumber, StateRow},
    store::WorkflowId,
};

pub(super) fn load(db: &mut Connection, lookup: &Lookup) -> Result<Option<RunRows>, Fault> {
    // Most names that are looked up are new, and then nothing else is to be read.
    if !is_known(db, lookup)? {
        return Ok(None);
    }
    // One snapshot for the run and its items.
    let tx = db.transaction()?;
    let Some(mut run) = find(&tx, lookup)? else { return Ok(None) };
    run.items = items(&tx, run.run)?;
    Ok(Some(run))
}

pub(super) fn due(
    db: &mut Connection,
    shard: ShardNumber,
    until: Timestamp,
    after: Option<(Timestamp, RunNumber)>,
    limit: usize,
) -> Result<Vec<(Timestamp, RunNumber)>, Fault> {
    let sql = "SELECT next_due, id FROM runs
        WHERE shard = ?1 AND next_due <= ?2 AND (next_due, id) > (?3, ?4)
        ORDER BY next_due, id LIMIT ?5";
    // Run numbers begin at 1: before the first of them is before everything.
    let (due, run) = after.unwrap_or((Timestamp(i64::MIN), RunNumber(0)));
    let given = (shard.0, until.nanos(), due.nanos(), run.0, number::limit(limit));
    let mut select = db.prepare_cached(sql)?;
    let rows =
        select.query_map(given, |row| Ok((Timestamp(row.get(0)?), RunNumber(row.get(1)?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn with_work(
    db: &mut Connection,
    shard: ShardNumber,
    after: RunNumber,
    limit: usize,
) -> Result<Vec<RunNumber>, Fault> {
    let sql = "SELECT id FROM runs WHERE has_work AND shard = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
    let mut select = db.prepare_cached(sql)?;
    let given = (shard.0, after.0, number::limit(limit));
    let rows = select.query_map(given, |row| Ok(RunNumber(row.get(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn workflow_ids(
    db: &mut Connection,
    after: Option<WorkflowId>,
    limit: usize,
) -> Result<Vec<WorkflowId>, Fault> {
    // An index has all of it, in this order.
    let sql = "SELECT DISTINCT namespace, workflow_id FROM runs
        WHERE (namespace, workflow_id) > (?1, ?2) ORDER BY namespace, workflow_id LIMIT ?3";
    // No namespace is called nothing.
    let (namespace, workflow_id) = after.unwrap_or_default();
    let mut select = db.prepare_cached(sql)?;
    let given = (namespace, workflow_id, number::limit(limit));
    let rows = select.query_map(given, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Whether there is such a run, as far as an index alone tells.
fn is_known(db: &Connection, lookup: &Lookup) -> Result<bool, Fault> {
    match lookup {
        Lookup::Current { namespace, workflow_id } => {
            let sql = "SELECT 1 FROM runs WHERE namespace = ?1 AND workflow_id = ?2 LIMIT 1";
            Ok(db.prepare_cached(sql)?.exists([namespace, workflow_id])?)
        }
        Lookup::Number(_) | Lookup::Run(_) => Ok(true),
    }
}

fn find(tx: &Transaction<'_>, lookup: &Lookup) -> Result<Option<RunRows>, Fault> {
    match lookup {
        Lookup::Number(run) => one(tx, "WHERE id = ?1", [run.0]),
        Lookup::Current { namespace, workflow_id } => one(
            tx,
            "WHERE namespace = ?1 AND workflow_id = ?2 ORDER BY id DESC LIMIT 1",
            [namespace, workflow_id],
        ),
        // The unary plus keeps the choice of index to the unique one.
        Lookup::Run(RunIdentity { namespace, workflow_id, run_id }) => one(
            tx,
            "WHERE +namespace = ?1 AND +workflow_id = ?2 AND run_id = ?3",
            [namespace, workflow_id, run_id],
        ),
    }
}

fn one(tx: &Transaction<'_>, which: &str, given: impl Params) -> Result<Option<RunRows>, Fault> {
    let sql = format!(
        "SELECT id, shard, namespace, workflow_id, run_id, next_due, has_work, state FROM runs {which}"
    );
    Ok(tx.prepare_cached(&sql)?.query_row(given, rows).optional()?)
}

fn rows(row: &Row<'_>) -> rusqlite::Result<RunRows> {
    Ok(RunRows {
        run: RunNumber(row.get(0)?),
        shard: ShardNumber(row.get(1)?),
        identity: RunIdentity {
            namespace: row.get(2)?,
            workflow_id: row.get(3)?,
            run_id: row.get(4)?,
        },
        state: StateRow {
            next_due: row.get::<_, Option<i64>>(5)?.map(Timestamp),
            has_work: row.get(6)?,
            data: row.get(7)?,
        },
        items: Vec::new(),
    })
}

fn items(tx: &Transaction<'_>, run: RunNumber) -> Result<Vec<Item>, Fault> {
    let sql = "SELECT kind, key, data FROM items WHERE run = ?1 ORDER BY kind, key";
    let mut select = tx.prepare_cached(sql)?;
    let mut rows = select.query([run.0])?;
    let mut items = Vec::new();
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let kind =
            ItemKind::from_number(number).ok_or_else(|| Fault::unreadable("items.kind", number))?;
        items.push(Item { kind, key: row.get(1)?, data: row.get(2)? });
    }
    Ok(items)
}
