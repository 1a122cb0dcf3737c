//! Timers: waits that outlive the process.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use steadfast_proto::command::{Command, StartTimerCommandAttributes};

use super::{context::WorkflowContext, journal::Kind, pending::Pending};
use crate::{error::Cancelled, span};

/// A wait that outlives the process. Dropped, it is cancelled.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn remind(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
/// ctx.sleep(Duration::from_secs(7 * 24 * 3600)).summary("until the reminder").await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a timer does nothing unless it is awaited"]
pub struct Timer {
    wait: Option<Pending>,
}

impl Timer {
    pub(crate) fn start(ctx: &WorkflowContext, span: Duration, exact: bool) -> Self {
        let mut state = ctx.journal.state();
        if state.is_cancelled(ctx.scope) {
            return Self { wait: None };
        }
        let id = state.next_id();
        let attributes = StartTimerCommandAttributes {
            timer_id: id.clone(),
            start_to_fire_timeout: Some(span::to_wire(span)),
        };
        let start = Command::of(attributes);
        let slot = state.issue_with(Kind::Timer { id }, ctx.scope, start, exact);
        drop(state);
        Self { wait: Some(Pending::new(ctx.journal.clone(), slot)) }
    }

    /// With a line that people see beside it.
    pub fn summary(self, summary: &str) -> Self {
        if let Some(wait) = &self.wait {
            wait.note(summary);
        }
        self
    }

    /// Dropped, it is not cancelled.
    pub(crate) fn kept(mut self) -> Self {
        self.wait.iter_mut().for_each(Pending::keep);
        self
    }
}

impl Future for Timer {
    type Output = Result<(), Cancelled>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(wait) = &mut self.wait else { return Poll::Ready(Err(Cancelled)) };
        wait.poll(cx).map(|(outcome, _)| outcome.map(drop).map_err(|_| Cancelled))
    }
}
