//! Which commits may be packed: those of which it is sure that the tables will take them.
//!
//! Once a commit is packed it is answered, and cannot be refused any more. In any doubt it is written to
//! the tables at once, which tells what is wrong with it.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Transaction};

use super::waiting::{Known, Waiting, hash};
use crate::{
    rows::{Batch, RunIdentity, RunNumber, RunWrite, ShardNumber},
    sqlite::{commit::last_event, fault::Fault, statements::Statements},
};

/// A commit with more bytes goes to the tables at once, because it would be written twice.
const BYTES_MAX: usize = 256 * 1024;

/// The same for what it has of a run on average: about as much as the tables are spared by what waits.
const BYTES_MAX_OF_A_RUN: usize = 16 * 1024;

impl Waiting {
    /// Whether a commit that keeps the rules may be packed. `last_run` is the highest run number in the
    /// tables.
    pub(in super::super) fn admits(
        &mut self,
        tx: &Transaction<'_>,
        batch: &Batch,
        last_run: i64,
    ) -> Result<bool, Fault> {
        let bytes: usize = batch.writes.iter().map(RunWrite::bytes).sum();
        let bytes_max = BYTES_MAX.min(batch.writes.len() * BYTES_MAX_OF_A_RUN);
        if self.is_stuck() || bytes > bytes_max {
            return Ok(false);
        }
        let last_run = self.last_run.max(last_run);
        let mut statements = Statements::of(tx);
        let mut run_ids = BTreeSet::new();
        for write in &batch.writes {
            let is_sure = match &write.create {
                _ if write.aside.is_some() => false,
                Some(_) if write.delete => false,
                Some(names) => {
                    write.run.0 > last_run
                        && run_ids.insert(&names.run_id)
                        && self.is_new(&mut statements, names)?
                }
                None => self.takes(&mut statements, write)?,
            };
            if !is_sure {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether no run has this id.
    fn is_new(&self, statements: &mut Statements<'_>, names: &RunIdentity) -> Result<bool, Fault> {
        if self.run_ids.contains(&hash(&[&names.run_id])) {
            return Ok(false);
        }
        let sql = "SELECT 1 FROM runs WHERE run_id = ?1";
        Ok(!statements.get(sql)?.exists([&names.run_id])?)
    }

    /// Whether the run is there, in its shard, and what is written of it follows what there is.
    fn takes(&mut self, statements: &mut Statements<'_>, write: &RunWrite) -> Result<bool, Fault> {
        let known = match self.known.get(&write.run) {
            Some(known) => *known,
            None => match find(statements, write.run)? {
                Some(found) => *self.known.entry(write.run).or_insert(found),
                None => return Ok(false),
            },
        };
        let follows = write.events.first().is_none_or(|batch| batch.first > known.last_event);
        Ok(known.shard == write.shard && !known.is_deleted && follows)
    }
}

fn find(statements: &mut Statements<'_>, run: RunNumber) -> Result<Option<Known>, Fault> {
    let sql = "SELECT shard FROM runs WHERE id = ?1";
    let Some(shard) = statements.get(sql)?.query_row([run.0], |row| row.get(0)).optional()? else {
        return Ok(None);
    };
    let last_event = last_event(statements, run)?;
    Ok(Some(Known { shard: ShardNumber(shard), last_event, is_deleted: false }))
}
