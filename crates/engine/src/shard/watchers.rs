//! Those who wait for something to happen to a run.
//!
//! They are not kept with the runs: one that somebody waits for may be let go of like any other, and
//! is read when something happens to it.

use std::{collections::BTreeMap, sync::Arc};

use steadfast_core::UpdateProgress;
use steadfast_proto::history::HistoryEvent;
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

/// Somebody who waits for a history to grow.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// Only the close will do.
    pub(crate) close_only: bool,
    pub(crate) slot: oneshot::Sender<Option<Arc<HistoryEvent>>>,
}

/// Somebody who waits for an update.
#[derive(Debug)]
pub(crate) struct UpdateWatcher {
    pub(crate) update_id: String,
    /// Only the outcome will do.
    pub(crate) outcome_only: bool,
    pub(crate) slot: oneshot::Sender<UpdateProgress>,
}

/// Somebody who may have gone without a word.
pub(crate) trait MayLeave {
    fn has_gone(&self) -> bool;
}

impl MayLeave for Watcher {
    fn has_gone(&self) -> bool {
        self.slot.is_closed()
    }
}

impl MayLeave for UpdateWatcher {
    fn has_gone(&self) -> bool {
        self.slot.is_closed()
    }
}

/// Those who wait, by the run that they wait for.
#[derive(Debug)]
pub(crate) struct Watchers<W> {
    by_run: BTreeMap<RunNumber, Vec<W>>,
    count: usize,
    /// How many there may be before those are looked for who have gone.
    count_max: usize,
}

impl<W> Default for Watchers<W> {
    fn default() -> Self {
        Self { by_run: BTreeMap::new(), count: 0, count_max: SWEEP_FROM }
    }
}

impl<W: MayLeave> Watchers<W> {
    pub(crate) fn add(&mut self, run: RunNumber, watcher: W) {
        if self.count >= self.count_max {
            self.sweep();
        }
        self.by_run.entry(run).or_default().push(watcher);
        self.count += 1;
    }

    /// Those of a run whose wait is over now.
    pub(crate) fn take(&mut self, run: RunNumber, is_over: impl Fn(&W) -> bool) -> Vec<W> {
        let Some(all) = self.by_run.remove(&run) else { return Vec::new() };
        self.count -= all.len();
        let (ready, waiting): (Vec<W>, Vec<W>) = all.into_iter().partition(is_over);
        if !waiting.is_empty() {
            self.count += waiting.len();
            self.by_run.insert(run, waiting);
        }
        ready
    }

    /// Those who wait for a run ask again: what they wait for may have happened unseen.
    pub(crate) fn forget(&mut self, run: RunNumber) {
        self.count -= self.by_run.remove(&run).map_or(0, |all| all.len());
    }

    /// How many there are, with some who have gone.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Drops those who have gone. Whoever waits for long asks again and again, and leaves a watcher
    /// each time.
    fn sweep(&mut self) {
        self.by_run.retain(|_, all| {
            all.retain(|it| !it.has_gone());
            !all.is_empty()
        });
        self.count = self.by_run.values().map(Vec::len).sum();
        self.count_max = 2 * self.count + SWEEP_FROM;
    }
}

/// So few that nobody looks whether they have gone.
const SWEEP_FROM: usize = 64;
