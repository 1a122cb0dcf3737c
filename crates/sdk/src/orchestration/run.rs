//! A run of an orchestration's code, and the ways out that its code does not see: it goes on as a
//! new run, is cancelled, or cannot be carried on.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use super::error::ORCHESTRATION_FAILED;
use crate::{error::Failure, workflow::WorkflowContext};

/// What the code of a run and whoever polls it share.
#[derive(Clone, Default)]
pub(super) struct Exit(Arc<Mutex<Way>>);

#[derive(Default)]
struct Way {
    /// The way out that the code has taken. It does not come back.
    out: Option<Failure>,
    /// What is to be had before the run may close.
    before: Vec<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Exit {
    /// The run ends so, as soon as its code waits.
    pub(super) fn take(&self, with: Failure) {
        self.lock().out.get_or_insert(with);
    }

    /// The run ends so. The code does not go on.
    pub(super) async fn leave<T>(&self, with: Failure) -> T {
        self.take(with);
        std::future::pending().await
    }

    /// The run does not close before this is done.
    pub(super) fn after(&self, done: impl Future<Output = ()> + Send + 'static) {
        self.lock().before.push(Box::pin(done));
    }

    fn lock(&self) -> MutexGuard<'_, Way> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exit")
    }
}

/// The code of a run, until it ends or takes a way out.
pub(super) struct Run {
    code: Option<Code>,
    cancelled: Pin<Box<dyn Future<Output = ()> + Send>>,
    exit: Exit,
    ending: Option<Result<String, Failure>>,
}

type Code = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

impl Run {
    pub(super) fn new(
        ctx: &WorkflowContext,
        exit: Exit,
        code: impl Future<Output = Result<String, String>> + Send + 'static,
    ) -> Self {
        let cancelled = Box::pin(ctx.cancelled());
        Self { code: Some(Box::pin(code)), cancelled, exit, ending: None }
    }

    /// Polls the code; gives how the run ends, if it does.
    fn step(&mut self, cx: &mut Context<'_>) -> Option<Result<String, Failure>> {
        if self.cancelled.as_mut().poll(cx).is_ready() {
            return Some(Err(Failure::cancelled(None)));
        }
        let polled = self.code.as_mut()?.as_mut().poll(cx);
        if let Some(failure) = self.exit.lock().out.take() {
            return Some(Err(failure));
        }
        match polled {
            Poll::Ready(said) => {
                Some(said.map_err(|message| Failure::new(message).of_type(ORCHESTRATION_FAILED)))
            }
            Poll::Pending => None,
        }
    }
}

impl Future for Run {
    type Output = Result<String, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ending.is_none() {
            self.ending = self.step(cx);
            if self.ending.is_none() {
                return Poll::Pending;
            }
            // What the code has under way goes with it.
            self.code = None;
        }
        let mut before = std::mem::take(&mut self.exit.lock().before);
        before.retain_mut(|done| done.as_mut().poll(cx).is_pending());
        if before.is_empty() {
            return self.ending.take().map_or(Poll::Pending, Poll::Ready);
        }
        self.exit.lock().before = before;
        Poll::Pending
    }
}
