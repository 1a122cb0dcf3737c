//! Activities of orchestrations: what they are given, and how the engine hands them out.

use std::{ops::Deref, time::Duration};

use crate::{
    activity::{ActivityContext as Inner, ActivityOptions},
    error::PANIC,
    policy::TemporalPolicy,
};

/// What an activity knows, and can say while it runs: all that [`crate::ActivityContext`] has, too.
#[derive(Clone, Debug)]
pub struct ActivityContext {
    ctx: Inner,
}

impl ActivityContext {
    pub(super) fn new(ctx: Inner) -> Self {
        Self { ctx }
    }

    /// The instance that called it.
    pub fn instance_id(&self) -> &str {
        &self.ctx.info().workflow_id
    }

    /// The name of the orchestration that called it.
    pub fn orchestration_name(&self) -> &str {
        &self.ctx.info().workflow_type
    }

    /// Its own name.
    pub fn activity_name(&self) -> &str {
        &self.ctx.info().activity_type
    }

    /// Whether it was cancelled: it took too long, or its orchestration is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.ctx.check().is_err()
    }

    /// Logs a line.
    pub fn trace_info(&self, message: impl AsRef<str>) {
        let info = self.ctx.info();
        let (instance, activity) = (&info.workflow_id, &info.activity_type);
        tracing::info!(instance, activity, "{}", message.as_ref());
    }

    /// Logs a warning.
    pub fn trace_warn(&self, message: impl AsRef<str>) {
        let info = self.ctx.info();
        let (instance, activity) = (&info.workflow_id, &info.activity_type);
        tracing::warn!(instance, activity, "{}", message.as_ref());
    }

    /// Logs an error.
    pub fn trace_error(&self, message: impl AsRef<str>) {
        let info = self.ctx.info();
        let (instance, activity) = (&info.workflow_id, &info.activity_type);
        tracing::error!(instance, activity, "{}", message.as_ref());
    }
}

impl Deref for ActivityContext {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.ctx
    }
}

/// How the engine hands an activity out. What the activity says is final, since its failures say so
/// themselves; the policy is for workers that die over it, or that do not know it.
pub(super) fn delivery() -> ActivityOptions {
    ActivityOptions::new().retry(TemporalPolicy {
        initial_interval: Duration::from_millis(100),
        backoff_coefficient: 2.0,
        maximum_interval: Duration::from_secs(30),
        maximum_attempts: DELIVERIES,
        non_retryable_error_types: vec![PANIC.to_owned()],
    })
}

/// How often an activity is handed out before the orchestration fails.
const DELIVERIES: i32 = 10;
