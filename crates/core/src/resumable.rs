//! An error as resume policies see it: the one place that says which of its words they are asked about.

use steadfast_retry::{
    Timestamp,
    resume::{ActionError, WORKFLOW},
};

/// An error, in parts.
#[derive(Clone, Copy, Debug)]
pub struct Resumable<'a> {
    /// The workflow type: its flow.
    pub workflow_type: &'a str,
    /// The activity's type; empty if the whole run has failed.
    pub activity_type: &'a str,
    /// The activity's kind.
    pub kind: &'a str,
    /// The type of the failure.
    pub error_type: &'a str,
    /// What the failure says.
    pub cause: &'a str,
    /// How often it was tried.
    pub attempts: u32,
    /// When the last attempt stopped.
    pub stopped_at: Timestamp,
}

impl Resumable<'_> {
    /// Asks about it.
    pub fn ask<T>(&self, ask: impl FnOnce(&ActionError<'_>) -> T) -> T {
        let is_run = self.activity_type.is_empty();
        let action = if is_run {
            self.workflow_type.to_owned()
        } else {
            format!("{}.{}", self.workflow_type, self.activity_type)
        };
        ask(&ActionError {
            cause: &format!("{}: {}", self.error_type, self.cause),
            flow: self.workflow_type,
            action: &action,
            action_type: if is_run { WORKFLOW } else { self.kind },
            attempts: self.attempts,
            stopped_at: self.stopped_at,
        })
    }
}
