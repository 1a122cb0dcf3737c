//! Attempts: the first five, the last fifty, and counts of the rest.

use std::collections::BTreeMap;

use super::Data;
use crate::{
    attempts::{FIRST, KEPT},
    rows::{AttemptLog, AttemptRow, RunNumber},
};

/// The attempts of one activity.
#[derive(Default)]
pub(super) struct Log {
    rows: BTreeMap<u32, AttemptRow>,
    dropped: BTreeMap<u64, u64>,
}

impl Log {
    pub(super) fn push(&mut self, row: AttemptRow) {
        self.rows.insert(row.attempt, row);
        if self.rows.len() > KEPT {
            let oldest = self.rows.keys().nth(FIRST).copied();
            if let Some(row) = oldest.and_then(|attempt| self.rows.remove(&attempt)) {
                *self.dropped.entry(row.fingerprint).or_default() += 1;
            }
        }
    }
}

impl Data {
    pub(super) fn attempts(&self, run: RunNumber, activity: i64) -> AttemptLog {
        match self.runs.get(&run).and_then(|run| run.attempts.get(&activity)) {
            Some(log) => AttemptLog {
                rows: log.rows.values().cloned().collect(),
                dropped: log.dropped.clone(),
            },
            None => AttemptLog::default(),
        }
    }
}
