//! What comes of an input: events, effects, and perhaps the run that goes on.

use std::time::Duration;

use steadfast_proto::{failure, update};
use steadfast_retry::Timestamp;

use crate::{refused::Refused, run::Run, written::Written};

/// What came of an input. Nothing of it may be shown before it is durable, but for workflow tasks.
#[derive(Debug, Default)]
pub struct Transition {
    /// Whether anything is to be written at all.
    pub changed: bool,
    /// Events to append.
    pub events: Written,
    /// What to do once it is durable.
    pub effects: Vec<Effect>,
    /// Attempts that ended.
    pub attempts: Vec<Attempt>,
    /// Activities that are over, for whoever counts them.
    pub ended: Vec<EndedActivity>,
    /// How many parked activities, or failed runs, a resume policy has brought back.
    pub resumed_by_policy: u32,
    /// The run that goes on where this one closed; becomes durable with it.
    pub successor: Option<Box<(Run, Self)>>,
    /// Whether what lists show of the run has changed.
    pub visible: bool,
    /// The workflow task that was answered is as if it had never been: the start of the last one that
    /// is in the history. 0 if there is none, and after every other transition.
    pub back_to: i64,
    /// The input was taken, but not as it was meant: what its sender is to be told.
    pub refused: Option<Refused>,
}

/// What to do once a transition is durable.
#[expect(clippy::large_enum_variant, reason = "made once and moved once")]
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A workflow task waits for a worker.
    WorkflowTaskReady,
    /// An activity waits for a worker.
    ActivityReady {
        /// Its scheduled event.
        scheduled_event_id: i64,
        /// Whether the worker that just answered asked to have it at once.
        eager: bool,
    },
    /// A workflow task waited for a worker, and is not to be had any more.
    WorkflowTaskWithdrawn {
        /// Its scheduled event.
        scheduled_event_id: i64,
        /// Its attempt.
        attempt: u32,
    },
    /// An activity waited for a worker, and is not to be had any more as it was.
    ActivityWithdrawn {
        /// Its scheduled event.
        scheduled_event_id: i64,
        /// Its stamp then.
        stamp: u32,
    },
    /// A child is to be started.
    StartChild {
        /// The event that asked for it.
        initiated_event_id: i64,
    },
    /// A signal or cancel request is to be sent.
    SendExternal {
        /// The event that asked for it.
        initiated_event_id: i64,
    },
    /// A message is to be sent.
    SendMessage {
        /// Its number.
        number: u64,
    },
    /// An update got further.
    UpdateChanged {
        /// Its id.
        update_id: String,
        /// How far.
        progress: UpdateProgress,
    },
    /// The run has closed.
    Closed,
    /// The closed run, which failed, is to go on from before the step that failed.
    StartOver,
    /// The closed run's time is over: delete it.
    Delete,
}

/// How far an update got.
#[expect(clippy::large_enum_variant, reason = "made once and moved once")]
#[derive(Clone, Debug, PartialEq)]
pub enum UpdateProgress {
    /// The workflow has taken it on.
    Accepted,
    /// It is done.
    Completed(update::Outcome),
    /// It is not going to be done.
    Aborted(Aborted),
}

/// Why an update is not going to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Aborted {
    /// The run has closed.
    Closed,
    /// The run has closed, and another one goes on: ask that one.
    Continued,
    /// The workflow task that carried it failed.
    TaskFailed,
}

/// An activity that is over.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EndedActivity {
    /// Its type.
    pub activity_type: String,
    /// Attempts that were begun.
    pub attempts: u32,
    /// Whether it gave a result.
    pub completed: bool,
    /// From its schedule to its end.
    pub took: Duration,
}

/// An attempt that ended, for the log of attempts: of an activity, of the run or of a workflow task.
#[expect(clippy::struct_field_names, reason = "an attempt has a number")]
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// The activity's scheduled event, or [`RUN`](crate::RUN) or [`TASK`](crate::TASK).
    pub scheduled_event_id: i64,
    /// The activity's id.
    pub activity_id: String,
    /// The activity's type.
    pub activity_type: String,
    /// Which attempt.
    pub attempt: u32,
    /// Who worked on it.
    pub identity: String,
    /// When it was due.
    pub scheduled_at: Timestamp,
    /// When a worker took it.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// What was decided about the next one, in words.
    pub why: String,
    /// When the next one is due.
    pub next_at: Option<Timestamp>,
    /// What the rule that decided looks for; empty if none did.
    pub rule: String,
    /// The layer that it is from.
    pub layer: &'static str,
    /// The policy that was asked: `name@version` of an operator's, else its name.
    pub policy: String,
    /// Where the wait came from: `backoff`, `next_delay`, `retry_after`, `operator`, `resume`.
    pub source: &'static str,
    /// The wait.
    pub delay: Option<Duration>,
    /// What kind of trouble it was.
    pub class: &'static str,
    /// Whether the activity is parked with this.
    pub parked: bool,
}

impl Attempt {
    /// Nothing is known of it but when it ended.
    pub(crate) fn ended(at: Timestamp) -> Self {
        Self {
            scheduled_event_id: 0,
            activity_id: String::new(),
            activity_type: String::new(),
            attempt: 1,
            identity: String::new(),
            scheduled_at: at,
            started_at: None,
            ended_at: at,
            outcome: AttemptOutcome::Completed,
            why: String::new(),
            next_at: None,
            rule: String::new(),
            layer: "",
            policy: String::new(),
            source: "",
            delay: None,
            class: "",
            parked: false,
        }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AttemptOutcome {
    /// It gave a result.
    Completed,
    /// It failed.
    Failed(failure::Failure),
    /// It took too long.
    TimedOut(failure::Failure),
    /// It was cancelled.
    Cancelled,
}
