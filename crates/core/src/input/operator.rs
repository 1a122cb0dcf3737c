//! What an operator does about the activities of a run, and about what has failed of it.

use std::{collections::BTreeMap, time::Duration};

use steadfast_proto::{activity, common};
use steadfast_retry::Timestamp;

/// Which pending activities an operator means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Selector {
    /// The one with this id.
    Id(String),
    /// The one that this event scheduled.
    Event(i64),
    /// All of this type.
    Type(String),
    /// All.
    All,
}

/// An operator pauses activities.
#[derive(Clone, Debug, PartialEq)]
pub struct PauseActivity {
    /// Which.
    pub selector: Selector,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
    /// The same request may come twice.
    pub request_id: String,
}

/// An operator lets activities go on.
#[derive(Clone, Debug, PartialEq)]
pub struct UnpauseActivity {
    /// Which.
    pub selector: Selector,
    /// Whether they count their attempts anew.
    pub reset_attempts: bool,
    /// Whether they forget their heartbeat.
    pub reset_heartbeat: bool,
    /// Over how long their starts are spread.
    pub jitter: Duration,
}

/// An operator makes activities start over.
#[derive(Clone, Debug, PartialEq)]
pub struct ResetActivity {
    /// Which.
    pub selector: Selector,
    /// Whether they forget their heartbeat.
    pub reset_heartbeat: bool,
    /// Whether paused ones stay paused.
    pub keep_paused: bool,
    /// Whether changed options go back to what the workflow asked for.
    pub restore_options: bool,
    /// Over how long their starts are spread.
    pub jitter: Duration,
}

/// An operator changes the options of activities.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateActivityOptions {
    /// Which.
    pub selector: Selector,
    /// The new values.
    pub options: activity::ActivityOptions,
    /// Which of them to take, by their names in snake case.
    pub mask: Vec<String>,
    /// Whether to go back to what the workflow asked for instead.
    pub restore_original: bool,
}

/// An operator parks activities. One that a worker has goes on; if it fails, it waits.
#[derive(Clone, Debug, PartialEq)]
pub struct ParkActivity {
    /// Which.
    pub selector: Selector,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
}

/// An operator resumes parked activities: each gets one more attempt, and as many as its policy has
/// left after that.
#[derive(Clone, Debug, PartialEq)]
pub struct ResumeActivity {
    /// Which.
    pub selector: Selector,
    /// The same request may come twice; empty for none.
    pub request_id: String,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
    /// Whether they count their attempts anew.
    pub reset_attempts: bool,
    /// Whether they forget their heartbeat.
    pub reset_heartbeat: bool,
    /// Whether they have a new idempotency key from now on.
    pub rekey: bool,
    /// How long until they go on.
    pub delay: Duration,
    /// What the next attempt, and only that one, finds in its header.
    pub header: BTreeMap<String, common::Payload>,
    /// What else is different from now on.
    pub change: ActivityChange,
}

/// What is to be different about an activity. What is not said stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActivityChange {
    /// The policy, as the JSON of a draft; an empty text goes back to what the workflow asked for.
    pub policy: Option<String>,
    /// New options.
    pub options: activity::ActivityOptions,
    /// Which of them to take, by their names in snake case.
    pub mask: Vec<String>,
    /// The input.
    pub input: Option<common::Payloads>,
}

/// A resume policy is applied to what is parked.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleResume {
    /// Which.
    pub selector: Selector,
    /// When.
    pub at: Timestamp,
    /// The policy's name.
    pub reason: String,
}

/// The resume that a policy has scheduled is called off.
#[derive(Clone, Debug, PartialEq)]
pub struct ClearResume {
    /// Of which.
    pub selector: Selector,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
}

/// An operator lets parked activities fail: the workflow gets their last failure.
#[derive(Clone, Debug, PartialEq)]
pub struct GiveUpActivity {
    /// Which.
    pub selector: Selector,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
}

/// An operator does not want to wait for the next attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct RetryNow {
    /// Of which.
    pub selector: Selector,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
}

/// An operator changes policy, time limits or input of activities.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeActivity {
    /// Of which.
    pub selector: Selector,
    /// What.
    pub change: ActivityChange,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
    /// Whether a wait that is under way is reckoned anew; otherwise the next failure is the first
    /// that the change is about.
    pub now: bool,
}

/// An operator has taken note of an error.
#[derive(Clone, Debug, PartialEq)]
pub struct AcknowledgeError {
    /// What has failed: an activity by its scheduled event, or [`RUN`](crate::RUN) or
    /// [`TASK`](crate::TASK).
    pub subject: i64,
    /// Who.
    pub identity: String,
    /// Why.
    pub reason: String,
}
