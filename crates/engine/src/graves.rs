//! What may wait in a queue though nobody wants it any more: the work of runs that have closed, what
//! a run has withdrawn, and queries whose callers have gone.
//!
//! It is passed over when its turn comes. When there is much of it, all queues are gone through once,
//! so that a queue without workers does not fill up with it.

use std::collections::BTreeSet;

use steadfast_store::RunNumber;

/// What tells one offer of a run from another.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct OfferKey {
    pub(crate) run: RunNumber,
    pub(crate) scheduled_event_id: i64,
    /// The attempt of a workflow task, the stamp of an activity.
    pub(crate) turn: u32,
}

/// What has died since queues were gone through.
#[derive(Debug, Default)]
pub(crate) struct Graves {
    /// Runs that have closed.
    pub(crate) runs: BTreeSet<RunNumber>,
    /// Offers that were withdrawn.
    pub(crate) offers: BTreeSet<OfferKey>,
    /// Queries whose callers have gone.
    pub(crate) queries: BTreeSet<String>,
}

impl Graves {
    /// Whether it is time to go through queues in which so much waits.
    pub(crate) fn are_many(&self, waiting: usize) -> bool {
        let count = self.count();
        count >= MANY && count * 4 >= waiting
    }

    /// Whether somebody who asks what waits is to be told without them: it takes a look at all that
    /// does.
    pub(crate) fn are_to_be_told_apart(&self, waiting: usize) -> bool {
        self.count() > 0 && waiting <= LOOKED_AT_MAX
    }

    pub(crate) fn has_offer(&self, key: &OfferKey) -> bool {
        self.runs.contains(&key.run) || self.offers.contains(key)
    }

    /// What is offered again is wanted again.
    pub(crate) fn exhume(&mut self, key: &OfferKey) {
        self.runs.remove(&key.run);
        self.offers.remove(key);
    }

    fn count(&self) -> usize {
        self.runs.len() + self.offers.len() + self.queries.len()
    }
}

/// Fewer are not worth a look at all queues.
const MANY: usize = 256;

/// Whoever asks is not let wait for a look at more.
const LOOKED_AT_MAX: usize = 20_000;
