//! Writing to the tables what has waited.

use std::sync::Arc;

use rusqlite::Transaction;

use super::{message, waiting::Waiting};
use crate::{
    rows::Batch,
    sqlite::{
        commit::{apply, note_progress},
        fault::{Fault, damaged},
        number,
        shards::progress,
        statements::Statements,
    },
};

/// Writes all that waits in the file to the tables. Tells whether that was anything. It has waited until
/// the transaction is committed.
pub(in super::super) fn unpack(tx: &Transaction<'_>, waiting: &mut Waiting) -> Result<bool, Fault> {
    let span = span(tx)?;
    if span != waiting.span {
        *waiting = read(tx)?;
    }
    if span.is_none() {
        return Ok(false);
    }
    let (last, last_run) = progress(tx)?;
    // First of all, so that the tables find room even in a file that is full.
    tx.prepare_cached("DELETE FROM packed_commits")?.execute(())?;
    let last_run = last_run.max(waiting.last_run);
    let mut statements = Statements::of(tx);
    for write in waiting.folded() {
        // What came and went meanwhile was never there.
        if !(write.create.is_some() && write.delete) {
            apply(&mut statements, write)?;
        }
    }
    note_progress(tx, last, last_run)?;
    Ok(true)
}

/// The first and the last commit that wait in the file.
fn span(tx: &Transaction<'_>) -> Result<Option<(u64, u64)>, Fault> {
    // Two questions: each is answered by one end of the table.
    let sql = "SELECT (SELECT min(sequence) FROM packed_commits),
        (SELECT max(sequence) FROM packed_commits)";
    let (first, last): (Option<i64>, Option<i64>) =
        tx.prepare_cached(sql)?.query_row((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let sequence = |number| number::unsigned("packed_commits.sequence", number);
    Ok(Some((sequence(first)?, sequence(last)?)))
}

/// Reads what waits, as after a crash.
fn read(tx: &Transaction<'_>) -> Result<Waiting, Fault> {
    let mut waiting = Waiting::default();
    let mut select =
        tx.prepare_cached("SELECT sequence, data FROM packed_commits ORDER BY sequence")?;
    let mut rows = select.query(())?;
    while let Some(row) = rows.next()? {
        let sequence = number::unsigned("packed_commits.sequence", row.get(0)?)?;
        let data = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let writes = message::read(data).map_err(|error| {
            let path = tx.path().unwrap_or_default();
            damaged(path.as_ref(), format!("commit {sequence} cannot be read: {error}"))
        })?;
        waiting.add(Arc::new(Batch { sequence, writes, ..Batch::default() }), data.len());
    }
    Ok(waiting)
}
