//! Which policy takes an error.

use super::{NO_EGRESS, Policy, WORKFLOW, schedule::Resume};
use crate::{seed::Unit, time::Timestamp};

/// An action that has failed.
#[derive(Clone, Copy, Debug)]
pub struct ActionError<'a> {
    /// What it said. The longer context is not looked at.
    pub cause: &'a str,
    /// The flow that the data came in by.
    pub flow: &'a str,
    /// The action with its flow in front.
    pub action: &'a str,
    /// The kind of action; [`WORKFLOW`] if it is a whole workflow.
    pub action_type: &'a str,
    /// How often the action has been tried by now.
    pub attempts: u32,
    /// When it stopped.
    pub stopped_at: Timestamp,
}

/// Policies in the order in which they are asked: by falling priority, then by name, then by id.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Policies {
    ordered: Vec<Policy>,
}

impl Policies {
    /// Puts policies in order; the order they come in does not matter.
    #[must_use]
    pub fn new(policies: impl IntoIterator<Item = Policy>) -> Self {
        let mut ordered: Vec<Policy> = policies.into_iter().collect();
        ordered.sort_by(|a, b| {
            let falling = b.priority.cmp(&a.priority);
            falling.then_with(|| a.name.cmp(&b.name)).then_with(|| a.id.cmp(&b.id))
        });
        Self { ordered }
    }

    /// The policies in the order in which they are asked.
    pub fn in_order(&self) -> impl Iterator<Item = &Policy> {
        self.ordered.iter()
    }

    /// The first policy that takes the error.
    #[must_use]
    pub fn find(&self, error: &ActionError<'_>) -> Option<&Policy> {
        self.ordered.iter().find(|policy| policy.takes(error))
    }

    /// When and why the error is resumed; `None` leaves it to a person.
    #[must_use]
    pub fn resume(&self, error: &ActionError<'_>, unit: Unit) -> Option<Resume<'_>> {
        self.find(error).map(|policy| policy.resume(error, unit))
    }
}

impl Policy {
    /// Whether the policy takes the error: every given criterion agrees, and attempts are left. A whole
    /// workflow that failed is taken only by a policy that says so.
    #[must_use]
    pub fn takes(&self, error: &ActionError<'_>) -> bool {
        let is = |criterion: &Option<String>, value: &str| {
            criterion.as_ref().is_none_or(|criterion| criterion == value)
        };
        let is_meant = error.action_type != WORKFLOW || self.action_type.is_some();
        is_meant
            && error.attempts < self.max_attempts
            && self.error_substring.as_ref().is_none_or(|part| error.cause.contains(part.as_str()))
            && is(&self.flow, error.flow)
            && is(&self.action_type, error.action_type)
            && self.action.as_ref().is_none_or(|action| names(action, error.action))
    }
}

/// The action that belongs to no flow is the same with and without one in front.
fn names(action: &str, failed: &str) -> bool {
    let bare = failed.rsplit('.').next().unwrap_or(failed);
    action == failed || action == NO_EGRESS && bare == NO_EGRESS
}
