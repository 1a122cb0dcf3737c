//! The rules of one run, as a pure state machine.
//!
//! ```text
//!              now, entropy, limits
//!                     │
//!   Input ──▶ Run::apply ──▶ Transition { events, effects, attempts, successor }
//!                     │
//!                     └──▶ rows that changed
//! ```
//!
//! Nothing here reads a clock, draws a random number, touches a disk or awaits. An [`Input`] goes
//! in together with the time and a source of ids; a [`Transition`] comes out, or the input is
//! [`Refused`] and nothing has changed. Events are the public protobuf messages, written as the
//! official SDKs expect them.

mod activity;
mod apply;
mod bad;
mod completion;
mod counted;
pub mod cron;
mod deadline;
mod describe;
mod ending;
mod entropy;
pub mod failure;
mod fold;
mod input;
mod letter;
mod limits;
mod machine;
mod parked;
pub mod policy;
mod ready;
mod refused;
mod replay;
mod reset;
mod resumable;
mod resume_task;
mod rows;
mod rulebook;
mod run;
pub mod schedule;
mod size;
pub mod span;
mod state;
mod suspicion;
mod table;
mod task_header;
pub mod text;
mod transition;
mod trouble;
mod tx;
mod view;
mod weight;
mod written;

pub use activity::Timeouts;
pub use counted::{Counted, RuleCount};
pub use entropy::Entropy;
pub use input::{
    AcknowledgeError, ActivityChange, ActivityToken, Adopt, Attach, CancelActivity, CancelRequest,
    ChangeActivity, ChildClosed, ChildStartFailed, ChildStarted, ClearResume, CompleteActivity,
    CompleteWorkflowTask, ExternalAnswered, ExternalRefused, FailActivity, FailWorkflowTask,
    GiveUpActivity, Heartbeat, Input, Parent, ParkActivity, PauseActivity, ResetActivity,
    ResumeActivity, ResumedBy, RetryNow, ScheduleResume, Selector, Signal, Start, StartActivity,
    StartWorkflowTask, Terminate, UnpauseActivity, UpdateActivityOptions, WorkflowTaskToken,
};
pub use limits::Limits;
pub use machine::close::closed_before_update;
pub use parked::{
    Acknowledged, Change, DeadLetter, NextOnly, Park, ParkedFor, RunResume, Then, Trouble,
};
pub use refused::{BadCommand, Cause, Refused};
pub use reset::{Past, Reset};
pub use resumable::Resumable;
pub use resume_task::ResumeTask;
pub use rows::{Key, Kind, MissingEvent, Sink, Stored};
pub use rulebook::{Ear, EndingRule, KeyRule, Listener, Rulebook};
pub use run::{Identity, Run};
pub use state::{
    Activity, ActivityRow, CadenceTerms, Child, ChildRow, External, ExternalInitiated, ExternalRow,
    Message, Notice, Pause, Request, Started, State, Sticky, Target, Timer, Told, Update,
    UpdateRow, WorkflowTask,
};
pub use steadfast_retry::Timestamp;
pub use suspicion::{Company, Suspicion, Unknown};
pub use table::{Row, Table};
pub use task_header::{
    ATTEMPT_KEYS, FENCE_HEADER, IDEMPOTENCY_HEADER, LEAVES, SILENCE_LONGEST, SILENCE_MAX,
    SPOKEN_FOR_HEADER,
};
pub use transition::{
    Aborted, Attempt, AttemptOutcome, Effect, EndedActivity, Transition, UpdateProgress,
};
pub use trouble::{ErrorState, RUN, RunError, TASK};
pub use tx::Context;
pub use view::{QueryRoute, Urgency};
pub use written::Written;
