//! How an activity is run: its limits in time, its policy, its queue.

use std::time::Duration;

use crate::{policy::RetryPolicy, priority::Priority};

/// How an activity is run. What is not set comes from the registration, then from the application,
/// then from the framework.
///
/// ```
/// use std::time::Duration;
/// use steadfast::{ActivityOptions, RetryPolicy};
///
/// let options = ActivityOptions::new()
///     .start_to_close(Duration::from_secs(30))
///     .retry(RetryPolicy::new().max_attempts(3));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActivityOptions {
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) start_to_close: Option<Duration>,
    pub(crate) schedule_to_close: Option<Duration>,
    pub(crate) schedule_to_start: Option<Duration>,
    pub(crate) heartbeat: Option<Duration>,
    pub(crate) task_queue: Option<String>,
    pub(crate) kind: Option<String>,
    pub(crate) summary: Option<String>,
    pub(crate) priority: Option<Priority>,
}

impl ActivityOptions {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// When it is tried again.
    #[must_use]
    pub fn retry(self, policy: impl Into<RetryPolicy>) -> Self {
        Self { retry: Some(policy.into()), ..self }
    }

    /// How long one attempt may take, from when a worker starts it.
    #[must_use]
    pub fn start_to_close(self, span: Duration) -> Self {
        Self { start_to_close: Some(span), ..self }
    }

    /// How long it may take with all its attempts and waits.
    #[must_use]
    pub fn schedule_to_close(self, span: Duration) -> Self {
        Self { schedule_to_close: Some(span), ..self }
    }

    /// How long it may wait for a worker.
    #[must_use]
    pub fn schedule_to_start(self, span: Duration) -> Self {
        Self { schedule_to_start: Some(span), ..self }
    }

    /// How long it may be silent, once it runs.
    #[must_use]
    pub fn heartbeat(self, span: Duration) -> Self {
        Self { heartbeat: Some(span), ..self }
    }

    /// The queue whose workers run it; that of the workflow, if none is named.
    #[must_use]
    pub fn task_queue(self, name: impl Into<String>) -> Self {
        Self { task_queue: Some(name.into()), ..self }
    }

    /// What kind of work it is: a tag for rules and lists.
    #[must_use]
    pub fn kind(self, kind: impl Into<String>) -> Self {
        Self { kind: Some(kind.into()), ..self }
    }

    /// A line that people see beside it.
    #[must_use]
    pub fn summary(self, summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..self }
    }

    /// Whether it comes before others of its queue; as its workflow does, if nothing is said.
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// These, with gaps filled from below.
    #[must_use]
    pub(crate) fn or(self, below: &Self) -> Self {
        Self {
            retry: self.retry.or_else(|| below.retry.clone()),
            start_to_close: self.start_to_close.or(below.start_to_close),
            schedule_to_close: self.schedule_to_close.or(below.schedule_to_close),
            schedule_to_start: self.schedule_to_start.or(below.schedule_to_start),
            heartbeat: self.heartbeat.or(below.heartbeat),
            task_queue: self.task_queue.or_else(|| below.task_queue.clone()),
            kind: self.kind.or_else(|| below.kind.clone()),
            summary: self.summary.or_else(|| below.summary.clone()),
            priority: self.priority.or_else(|| below.priority.clone()),
        }
    }
}
