//! What waits in memory: the commits that are packed, folded by run, and what is known of these runs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use xxhash_rust::xxh3::Xxh3;

use super::Concern;
use crate::{
    rows::{Batch, RunNumber, RunWrite, ShardNumber},
    sqlite::crew::Moment,
};

/// How long something may wait while others are written, for those who look at the file with other
/// tools.
const LONGEST: Duration = Duration::from_secs(1);

/// How long to leave it after it could not be unpacked.
const PAUSE: Duration = Duration::from_secs(1);

/// Packed commits, on their way to the tables.
#[derive(Debug, Default)]
pub(in super::super) struct Waiting {
    /// The first and the last of them.
    pub(super) span: Option<(u64, u64)>,
    /// The newest, which the one who handed it in may still hold.
    newest: Option<Arc<Batch>>,
    /// The others, folded.
    writes: BTreeMap<RunNumber, Box<RunWrite>>,
    /// What is known of runs that were written, or were about to be.
    pub(super) known: BTreeMap<RunNumber, Known>,
    /// Run ids that were given, by their hash.
    pub(super) run_ids: BTreeSet<u64>,
    /// The highest run number that was given.
    pub(super) last_run: i64,
    /// Bytes of the rows.
    bytes: usize,
    /// Since when.
    since: Option<Instant>,
    /// When it is tried again, after it failed.
    not_before: Option<Instant>,
}

/// What is known of a run without looking at the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) shard: ShardNumber,
    /// Its newest event; 0 if it has none.
    pub(super) last_event: i64,
    pub(super) is_deleted: bool,
}

/// What readers are told: which runs and workflow ids they would not find as they are.
#[derive(Debug, Default)]
pub(super) struct Marks {
    runs: BTreeSet<RunNumber>,
    /// Workflow ids of new runs, by their hash: to look once in vain is no harm.
    workflow_ids: BTreeSet<u64>,
    /// Something else was committed, if only a number.
    any: bool,
}

impl Waiting {
    pub(in super::super) fn is_empty(&self) -> bool {
        self.span.is_none()
    }

    pub(super) fn is_due(&self, bytes_max: usize, moment: Moment) -> bool {
        if self.not_before.is_some_and(|time| now() < time) {
            return false;
        }
        let is_long = || self.since.is_some_and(|since| since.elapsed() > LONGEST);
        moment == Moment::Idle || self.bytes > bytes_max || is_long()
    }

    pub(super) fn has_failed(&mut self) {
        self.not_before = Some(now() + PAUSE);
    }

    /// Whether it could not be unpacked: nothing should be added then.
    pub(super) fn is_stuck(&self) -> bool {
        self.not_before.is_some()
    }

    /// Takes in a commit that was packed into so many bytes.
    pub(in super::super) fn add(&mut self, batch: Arc<Batch>, bytes: usize) {
        let (first, _) = self.span.unwrap_or((batch.sequence, 0));
        self.span = Some((first, batch.sequence));
        self.since.get_or_insert_with(now);
        self.bytes += bytes;
        for write in &batch.writes {
            self.learn(write);
        }
        if let Some(before) = self.newest.replace(batch) {
            self.fold(before);
        }
    }

    /// The folded writes, by run number.
    pub(super) fn folded(&mut self) -> impl Iterator<Item = &RunWrite> {
        if let Some(newest) = self.newest.take() {
            self.fold(newest);
        }
        self.writes.values().map(|write| &**write)
    }

    /// Adds what the newest commit is about.
    pub(super) fn tell_newest(&self, marks: &mut Marks) {
        marks.any |= !self.is_empty();
        for write in self.newest.iter().flat_map(|batch| &batch.writes) {
            marks.runs.insert(write.run);
            if let Some(names) = &write.create {
                marks.workflow_ids.insert(hash(&[&names.namespace, &names.workflow_id]));
            }
        }
    }

    fn learn(&mut self, write: &RunWrite) {
        let new = Known { shard: write.shard, last_event: 0, is_deleted: false };
        let known = self.known.entry(write.run).or_insert(new);
        if let Some(events) = write.events.last() {
            known.last_event = events.last;
        }
        known.is_deleted |= write.delete;
        if let Some(names) = &write.create {
            self.run_ids.insert(hash(&[&names.run_id]));
            self.last_run = self.last_run.max(write.run.0);
        }
    }

    fn fold(&mut self, batch: Arc<Batch>) {
        for write in Arc::unwrap_or_clone(batch).writes {
            match self.writes.get_mut(&write.run) {
                Some(before) => before.merge_all([write]),
                None => _ = self.writes.insert(write.run, Box::new(write)),
            }
        }
    }
}

impl Marks {
    pub(super) fn concern(&self, read: Concern<'_>) -> bool {
        match read {
            Concern::Everything => self.any,
            Concern::Run(run) => self.runs.contains(&run),
            Concern::WorkflowId(namespace, workflow_id) => {
                !self.workflow_ids.is_empty()
                    && self.workflow_ids.contains(&hash(&[namespace, workflow_id]))
            }
        }
    }
}

/// One number for names.
pub(super) fn hash(names: &[&str]) -> u64 {
    let mut hasher = Xxh3::new();
    for name in names {
        hasher.update(&name.len().to_le_bytes());
        hasher.update(name.as_bytes());
    }
    hasher.digest()
}

#[expect(clippy::disallowed_methods, reason = "when what waits is unpacked changes nothing in it")]
fn now() -> Instant {
    Instant::now()
}
