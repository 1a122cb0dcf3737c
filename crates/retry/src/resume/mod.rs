//! Resume policies: what an operator says about work that has failed and is kept.
//!
//! ```text
//! error ──► policies in order of priority ──► the first that matches ──► resume at stop + wait
//! ```
//!
//! A policy whose attempts are used up no longer matches, so the next one gets its turn: a ladder.
//! These are pure functions; who keeps the policies and wakes the work is somebody else.

mod draft;
mod find;
mod priority;
mod schedule;
mod sweep;

pub use draft::{BackOffDraft, Draft, Fault, Invalid};
pub use find::{ActionError, Policies};
pub use priority::priority;
pub use schedule::{BackOff, Resume};
pub use sweep::Sweep;

use serde::Serialize;

/// A policy that has been checked. Made from a [`Draft`].
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// A UUID.
    pub id: String,
    /// What people call it, and the reason given for a resume.
    pub name: String,
    /// Found somewhere in the error's cause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_substring: Option<String>,
    /// Exactly this flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Exactly this action, with its flow in front: `smoke.SmokeFormatAction`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Exactly this kind of action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    /// Attempts of the action in all, the first one included.
    pub max_attempts: u32,
    /// Higher is asked first.
    pub priority: i64,
    /// How long to wait.
    pub back_off: BackOff,
}

/// The kind of action that is a whole workflow.
pub const WORKFLOW: &str = "WORKFLOW";

/// The one action that belongs to no flow, so its name stands alone.
pub const NO_EGRESS: &str = "NoEgressFlowConfiguredAction";
