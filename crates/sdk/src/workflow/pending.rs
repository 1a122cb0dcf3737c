//! A wait for something that was begun. Whoever stops waiting cancels it.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use super::journal::{Journal, Outcome};
use crate::payload;

/// What a cancellation does to something that is under way.
///
/// ```no_run
/// # use steadfast::{Failure, OnCancel, WorkflowContext};
/// # async fn copy(file: String) -> Result<u32, Failure> { Ok(7) }
/// # async fn back_up(ctx: WorkflowContext, file: String) -> Result<u32, Failure> {
/// // When the workflow is cancelled, the copy may clean up, and is waited for.
/// let pages = ctx.activity(copy, &file).on_cancel(OnCancel::Wait).await?;
/// # Ok(pages) }
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum OnCancel {
    /// Ask it to stop, and do not wait for it.
    #[default]
    Try,
    /// Ask it to stop, and wait for what it says.
    Wait,
    /// Leave it alone, and do not wait for it.
    Abandon,
}

/// A wait in a slot of the journal.
#[derive(Debug)]
pub(crate) struct Pending {
    journal: Arc<Journal>,
    slot: u64,
    done: bool,
    kept: bool,
}

impl Pending {
    pub(crate) fn new(journal: Arc<Journal>, slot: u64) -> Self {
        Self { journal, slot, done: false, kept: false }
    }

    /// Where it waits.
    pub(crate) fn slot(&self) -> u64 {
        self.slot
    }

    /// Has people see a line beside it, if its command has not been sent.
    pub(crate) fn note(&self, summary: &str) {
        let mut state = self.journal.state();
        let issued = state.commands.iter_mut().rfind(|issued| issued.slot == Some(self.slot));
        if let Some(issued) = issued {
            issued.command.user_metadata = payload::summary(summary);
        }
    }

    /// What it came to, and at which attempt.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(Outcome, u32)> {
        let polled = self.journal.state().poll(self.slot, cx);
        self.done |= polled.is_ready();
        polled
    }

    /// Dropped before its end, it goes on all the same.
    pub(crate) fn keep(&mut self) {
        self.kept = true;
    }

    /// Leaves it to itself.
    pub(crate) fn detach(mut self) {
        self.kept = true;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let mut state = self.journal.state();
        if self.kept { state.leave(self.slot) } else { state.abandon(self.slot) }
    }
}
