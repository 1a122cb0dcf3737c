//! Attempts: the first five, the last fifty, and counts of the rest.

use std::collections::BTreeMap;

use super::Data;
use crate::{
    attempts::{FIRST, KEPT},
    rows::{AttemptLog, AttemptRow, Retried, RunNumber},
};

/// The attempts of one activity.
#[derive(Default)]
pub(super) struct Log {
    rows: BTreeMap<u32, AttemptRow>,
    dropped: BTreeMap<u64, u64>,
}

impl Log {
    fn read(&self) -> AttemptLog {
        AttemptLog { rows: self.rows.values().cloned().collect(), dropped: self.dropped.clone() }
    }

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
        let log = self.runs.get(&run).and_then(|run| run.attempts.get(&activity));
        log.map(Log::read).unwrap_or_default()
    }

    pub(super) fn run_attempts(&self, run: RunNumber) -> Vec<AttemptLog> {
        self.runs
            .get(&run)
            .into_iter()
            .flat_map(|run| run.attempts.values())
            .map(Log::read)
            .collect()
    }

    pub(super) fn retried(
        &self,
        namespace: &str,
        more_than: u32,
        after: Option<(RunNumber, i64)>,
        limit: usize,
    ) -> Vec<Retried> {
        let after = after.unwrap_or((RunNumber(i64::MAX), i64::MAX));
        let runs = self.runs.range(..=after.0).rev();
        let all = runs.flat_map(|(number, run)| {
            let logs = run.attempts.iter().rev().map(move |(activity, log)| (*activity, log));
            logs.map(move |(activity, log)| (*number, activity, run, log))
        });
        let found = all.filter_map(|(number, activity, run, log)| {
            let (_, last) = log.rows.last_key_value()?;
            let is_meant = run.identity.namespace == namespace
                && (number, activity) < after
                && last.attempt > more_than.max(1);
            let identity = run.identity.clone();
            is_meant.then(|| Retried { run: number, identity, last: last.clone() })
        });
        found.take(limit).collect()
    }
}
