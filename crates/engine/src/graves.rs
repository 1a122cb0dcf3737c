//! What may wait in a queue though nobody wants it any more: the work of runs that have closed, and
//! queries whose callers have gone.
//!
//! It is passed over when its turn comes. When there is much of it, all queues are gone through once,
//! so that a queue without workers does not fill up with it.

use std::collections::BTreeSet;

use steadfast_store::RunNumber;

/// Runs that have closed, and queries whose callers have gone, since queues were gone through.
#[derive(Debug, Default)]
pub(crate) struct Graves {
    pub(crate) runs: BTreeSet<RunNumber>,
    pub(crate) queries: BTreeSet<String>,
}

impl Graves {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.queries.is_empty()
    }

    /// Whether it is time to go through queues in which so much waits.
    pub(crate) fn are_many(&self, waiting: usize) -> bool {
        let count = self.runs.len() + self.queries.len();
        count >= MANY && count * 4 >= waiting
    }
}

/// Fewer are not worth a look at all queues.
const MANY: usize = 256;
