//! A task on its way to a worker. If nobody takes it out, it goes back to where it came from.

use std::fmt;

/// Something handed to a worker that may be gone by now.
pub(crate) struct Gift<R> {
    inside: Option<R>,
    lost: Option<Box<dyn FnOnce() + Send>>,
}

impl<R> Gift<R> {
    /// Wraps a task; `lost` is called if it is never taken.
    pub(crate) fn new(inside: R, lost: impl FnOnce() + Send + 'static) -> Self {
        Self { inside: Some(inside), lost: Some(Box::new(lost)) }
    }

    /// Nothing: what was asked for is not to be had any more.
    pub(crate) fn empty() -> Self {
        Self { inside: None, lost: None }
    }

    /// What is inside, while nobody has taken it.
    pub(crate) fn peek(&self) -> Option<&R> {
        self.inside.as_ref()
    }

    /// The worker has it.
    pub(crate) fn take(mut self) -> Option<R> {
        self.lost = None;
        self.inside.take()
    }
}

impl<R> Default for Gift<R> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<R> Drop for Gift<R> {
    fn drop(&mut self) {
        if let Some(lost) = self.lost.take() {
            lost();
        }
    }
}

impl<R> fmt::Debug for Gift<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gift").finish_non_exhaustive()
    }
}
