//! Who wakes the code of a run.
//!
//! Code that waits for what its context gives is woken while the worker reads history, and at no other
//! time. What wakes it while it is at rest is of somewhere else, a timer of the runtime or an answer
//! from the network: it is not in the history, so that it would be lost with the process, and the code
//! would do something else at the next replay.

use std::sync::{
    Weak,
    atomic::{AtomicBool, Ordering},
};

use super::journal::Journal;

/// Whether the code of a run is at rest, and whether it was left in peace.
#[derive(Debug)]
pub(super) struct Rest {
    is_resting: AtomicBool,
    is_disturbed: AtomicBool,
    journal: Weak<Journal>,
}

impl Rest {
    /// Of code that is being polled.
    pub(super) fn of(journal: Weak<Journal>) -> Self {
        let (is_resting, is_disturbed) = Default::default();
        Self { is_resting, is_disturbed, journal }
    }

    pub(super) fn begin(&self) {
        self.is_resting.store(true, Ordering::Release);
    }

    /// The worker goes on with the code. Says whether somebody else wanted to meanwhile.
    pub(super) fn end(&self) -> bool {
        self.is_resting.store(false, Ordering::Release);
        self.is_disturbed.load(Ordering::Acquire)
    }

    /// Somebody wakes the code.
    pub(super) fn woken(&self) {
        if self.is_resting.load(Ordering::Acquire)
            && !self.is_disturbed.swap(true, Ordering::AcqRel)
        {
            self.tell();
        }
    }

    /// Nothing else may happen to the run for long, and then nobody would know why.
    fn tell(&self) {
        let Some(journal) = self.journal.upgrade() else { return };
        let info = journal.state().info.clone();
        tracing::error!(
            workflow_type = info.workflow_type,
            workflow_id = info.workflow_id,
            run_id = info.run_id,
            "{STRANGER}"
        );
    }
}

/// What is said of code that waits for something that its context does not know of.
pub(crate) const STRANGER: &str = "the workflow's code waits for something that is not durable, such as \
     tokio::time::sleep, a request or a task of its own; wait with ctx.sleep, and do the rest in an activity";
