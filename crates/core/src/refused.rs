//! Why an input was not taken.

use steadfast_proto::enums;

/// Why an input was not taken. The run is as it was.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// The run is closed.
    #[error("workflow execution already completed")]
    Closed,
    /// The run is not the one that was meant.
    #[error("workflow execution not found")]
    WrongRun,
    /// The run is about to close.
    #[error("workflow operation can not be applied because workflow is closing")]
    Closing,
    /// The workflow task is not under way, or not in this worker's hands.
    #[error("Workflow task not found.")]
    TaskNotFound,
    /// The workflow task was kept alive for too long.
    #[error("workflow task heartbeat timeout")]
    TaskHeartbeatTimeout,
    /// The workflow wanted to close, but something new has come in.
    #[error("UnhandledCommand")]
    UnhandledCommand,
    /// The workflow wants what it cannot have.
    #[error("{cause}: {detail}", cause = .0.cause.as_str_name_camel(), detail = .0.detail)]
    BadCommand(BadCommand),
    /// The activity is not under way, or not in this worker's hands.
    #[error("invalid activityID or activity already timed out or invoking workflow is completed")]
    ActivityNotFound,
    /// There is no pending activity with this id.
    #[error(
        "cannot find pending activity with ActivityID {0}, check workflow execution history for more details"
    )]
    UnknownActivityId(String),
    /// No pending activity is meant by the operator's words.
    #[error(
        "Can't find pending activity with such ID. Invalid activityID or activity already completed"
    )]
    NoActivitySelected,
    /// It is paused, by another request.
    #[error("activity is already paused")]
    AlreadyPaused,
    /// Only what is parked can be resumed, given up, or have its resume scheduled.
    #[error("activity {0} is not parked")]
    NotParked(String),
    /// Whoever the activity calls may have forgotten that it did.
    #[error(
        "activity {activity} was first delivered {since} before this resume, and its idempotency key \
         is remembered for {ttl}: its work might be done twice; resume it with rekey to give it a new \
         key"
    )]
    KeyForgotten {
        /// Which.
        activity: String,
        /// How long ago it was first delivered.
        since: String,
        /// How long its key is remembered.
        ttl: String,
    },
    /// Only a parked workflow task can be resumed.
    #[error("the workflow task is not parked")]
    TaskNotParked,
    /// Only what waits for its next attempt can be tried at once.
    #[error("activity {0} does not wait for its next attempt: {1}")]
    NotWaiting(String, &'static str),
    /// A worker is at it.
    #[error("activity {0} is with a worker: wait until its attempt has ended")]
    AtWork(String),
    /// An acknowledged error is not resumed by a policy.
    #[error("the error of activity {0} is acknowledged: resume it by hand")]
    Acknowledged(String),
    /// There is no such error.
    #[error("nothing has failed there that is not settled")]
    NoError,
    /// Nobody asked for its cancellation.
    #[error("unable to mark activity as canceled without activity being request canceled first")]
    CancelNotRequested,
    /// The run has taken all the signals that it can.
    #[error("exceeded workflow execution limit for signal events")]
    SignalLimit,
    /// Too many updates at once.
    #[error("limit on number of concurrent in-flight updates has been reached ({limit})")]
    UpdatesInFlight {
        /// The limit.
        limit: usize,
    },
    /// The run has taken all the updates that it can.
    #[error(
        "limit on the total number of distinct updates in this workflow has been reached ({limit})"
    )]
    UpdateLimit {
        /// The limit.
        limit: usize,
    },
    /// The workflow task fails over and over.
    #[error("Unable to perform workflow execution update due to Workflow Task in failed state.")]
    TaskFailing,
    /// A field is wrong.
    #[error("{field}: {problem}")]
    Invalid {
        /// Which.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

/// A command that the workflow cannot have.
#[derive(Clone, Debug, PartialEq)]
pub struct BadCommand {
    /// What kind of fault.
    pub cause: Cause,
    /// What is wrong.
    pub detail: String,
    /// Whether the run must end for it.
    pub fatal: bool,
}

/// A workflow task's kind of fault, with its name as people read it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Cause(pub enums::WorkflowTaskFailedCause);

impl Cause {
    /// `BAD_START_TIMER_ATTRIBUTES` as `BadStartTimerAttributes`.
    pub fn as_str_name_camel(self) -> String {
        let name = self.0.as_str_name().trim_start_matches("WORKFLOW_TASK_FAILED_CAUSE_");
        name.split('_').map(capitalised).collect()
    }
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    format!("{first}{}", rest.to_lowercase())
}
