//! Everything that can happen to a run.

mod operator;

use std::time::Duration;

use crate::{
    resume_task::ResumeTask,
    run::Identity,
    state::{CadenceTerms, Started, Target},
};
use steadfast_proto::{
    command, common, deployment, enums, failure, history, protocol, sdk, taskqueue, update,
};

pub use operator::{
    AcknowledgeError, ActivityChange, ChangeActivity, ClearResume, GiveUpActivity, ParkActivity,
    PauseActivity, ResetActivity, ResumeActivity, RetryNow, ScheduleResume, Selector,
    UnpauseActivity, UpdateActivityOptions,
};

/// Everything that can happen to a run. Closed on purpose: to add a cause, add a variant.
#[derive(Clone, Debug)]
pub enum Input {
    /// Somebody sent a signal.
    Signal(Signal),
    /// Somebody asked for the cancellation.
    RequestCancel(CancelRequest),
    /// Somebody ended the run.
    Terminate(Terminate),
    /// A start found the run open and is to be remembered.
    Attach(Box<Attach>),
    /// Somebody asked for an update.
    AdmitUpdate(update::Request),
    /// Somebody wants the next workflow task off the sticky queue.
    ResetSticky,
    /// A worker takes the workflow task.
    StartWorkflowTask(StartWorkflowTask),
    /// A worker is done with the workflow task.
    CompleteWorkflowTask(Box<CompleteWorkflowTask>),
    /// A worker could not do the workflow task.
    FailWorkflowTask(FailWorkflowTask),
    /// A worker takes an activity.
    StartActivity(StartActivity),
    /// The worker that was to take an activity has gone before it saw it.
    ReturnActivity(ActivityToken),
    /// A worker is done with an activity.
    CompleteActivity(CompleteActivity),
    /// A worker could not do an activity.
    FailActivity(FailActivity),
    /// A worker gave an activity up because its cancellation was asked for.
    CancelActivity(CancelActivity),
    /// A worker is still at it.
    Heartbeat(Heartbeat),
    /// An operator pauses activities.
    PauseActivity(PauseActivity),
    /// An operator lets activities go on.
    UnpauseActivity(UnpauseActivity),
    /// An operator makes activities start over.
    ResetActivity(ResetActivity),
    /// An operator changes the options of activities.
    UpdateActivityOptions(Box<UpdateActivityOptions>),
    /// An operator parks activities.
    ParkActivity(ParkActivity),
    /// An operator resumes parked activities.
    ResumeActivity(Box<ResumeActivity>),
    /// A resume policy is applied to what is parked.
    ScheduleResume(ScheduleResume),
    /// The resume that a policy has scheduled is called off.
    ClearResume(ClearResume),
    /// An operator lets parked activities fail.
    GiveUpActivity(GiveUpActivity),
    /// An operator does not want to wait for the next attempt.
    RetryNow(RetryNow),
    /// An operator changes policy, time limits or input of activities.
    ChangeActivity(Box<ChangeActivity>),
    /// An operator lets a parked workflow task be tried once more.
    ResumeTask(ResumeTask),
    /// An operator has taken note of an error.
    AcknowledgeError(AcknowledgeError),
    /// What is due to be resumed is looked for at other times now.
    SweepChanged,
    /// The closed run was reset: what it failed of is settled.
    Resumed(ResumedBy),
    /// The child was started.
    ChildStarted(ChildStarted),
    /// The child could not be started.
    ChildStartFailed(ChildStartFailed),
    /// The child has closed.
    ChildClosed(Box<ChildClosed>),
    /// The parent was reset and lives on as another run.
    Adopt(Adopt),
    /// The other run was told, or could not be.
    ExternalAnswered(ExternalAnswered),
    /// The other run has what this one had to say.
    MessageDelivered(u64),
    /// The engine runs as this process now: workers inside those before it are gone.
    TakeBack(u64),
    /// Time passed.
    Tick,
}

/// Who has a run go on that failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ResumedBy {
    /// Somebody.
    Hand,
    /// A resume policy.
    Policy,
}

/// A start that found the run open.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attach {
    /// The request, which is taken once.
    pub request_id: String,
    /// Whom it wants to hear of the end.
    pub callbacks: Vec<common::Callback>,
    /// Where it came from.
    pub links: Vec<common::Link>,
    /// Who asks.
    pub identity: String,
}

/// A signal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signal {
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub input: Option<common::Payloads>,
    /// Who sent it.
    pub identity: String,
    /// What else came with it.
    pub header: Option<common::Header>,
    /// The workflow that sent it, if one did.
    pub sender: Option<common::WorkflowExecution>,
    /// A second one with the same id changes nothing; empty for none.
    pub request_id: String,
    /// What it belongs to.
    pub links: Vec<common::Link>,
    /// Only a child of this run is meant.
    pub child_of: Option<Parent>,
    /// Whether the first task of a delayed run is to be scheduled at once.
    pub wakes: bool,
}

/// The run that asks, where only its child is meant.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Parent {
    /// Its workflow id.
    pub workflow_id: String,
    /// Its run id.
    pub run_id: String,
}

/// The parent was reset: the run that lives on takes its children on.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Adopt {
    /// The run that lives on.
    pub parent: Parent,
    /// The event that asked for this child, the same in both histories.
    pub initiated_event_id: i64,
}

/// A request to cancel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CancelRequest {
    /// Why.
    pub reason: String,
    /// Who asks.
    pub identity: String,
    /// The workflow that asks, if one does, and its event.
    pub sender: Option<(common::WorkflowExecution, i64)>,
    /// Only a child of this run is meant.
    pub child_of: Option<Parent>,
    /// What it belongs to.
    pub links: Vec<common::Link>,
}

/// A termination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terminate {
    /// Why.
    pub reason: String,
    /// More about why.
    pub details: Option<common::Payloads>,
    /// Who does it.
    pub identity: String,
    /// The run that takes over, when this is part of a reset.
    pub reset_run_id: String,
    /// Only a child of this run is meant.
    pub child_of: Option<Parent>,
    /// What it belongs to.
    pub links: Vec<common::Link>,
}

/// A worker takes the workflow task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartWorkflowTask {
    /// The scheduled event of the task that was on offer.
    pub scheduled_event_id: i64,
    /// The attempt that was on offer.
    pub attempt: u32,
    /// The poll's own id: the same one may ask twice.
    pub request_id: String,
    /// The worker.
    pub identity: String,
    /// The sticky queue that it polled; `None` for the normal one.
    pub sticky_queue: Option<String>,
    /// The engine's process, if the worker is inside it; otherwise 0.
    pub process: u64,
}

/// What names one start of a workflow task.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WorkflowTaskToken {
    /// Its scheduled event.
    pub scheduled_event_id: i64,
    /// Its started event.
    pub started_event_id: i64,
    /// Its attempt.
    pub attempt: u32,
    /// This very start.
    pub nonce: u64,
}

/// A worker is done with the workflow task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompleteWorkflowTask {
    /// Which one.
    pub token: WorkflowTaskToken,
    /// What the workflow wants.
    pub commands: Vec<command::Command>,
    /// What the workflow says to its updates.
    pub messages: Vec<protocol::Message>,
    /// The worker.
    pub identity: String,
    /// Where the next task should go.
    pub sticky: Option<taskqueue::StickyExecutionAttributes>,
    /// Whether the next task is to be handed back at once.
    pub return_new_task: bool,
    /// Whether a new task is wanted even if nothing happened.
    pub force_new_task: bool,
    /// Whether the worker can be shown events again that it has seen with this task.
    pub takes_events_again: bool,
    /// What the SDK wants to find again on replay.
    pub sdk_metadata: Option<sdk::WorkflowTaskCompletedMetadata>,
    /// What the SDK meters.
    pub metering_metadata: Option<common::MeteringMetadata>,
    /// Checksum of the worker's binary.
    pub binary_checksum: String,
    /// The build that the worker is of, which code asks for on replay.
    pub worker_version: Option<common::WorkerVersionStamp>,
    /// The deployment that the worker belongs to.
    pub deployment: Option<deployment::WorkerDeploymentOptions>,
    /// How the workflow wants to be versioned.
    pub versioning_behavior: i32,
}

/// A worker could not do the workflow task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FailWorkflowTask {
    /// Which one.
    pub token: WorkflowTaskToken,
    /// What kind of fault.
    pub cause: enums::WorkflowTaskFailedCause,
    /// The fault.
    pub failure: Option<failure::Failure>,
    /// The worker.
    pub identity: String,
    /// Checksum of the worker's binary.
    pub binary_checksum: String,
}

/// A worker takes an activity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StartActivity {
    /// The scheduled event of the activity that was on offer.
    pub scheduled_event_id: i64,
    /// The attempt that was on offer.
    pub attempt: u32,
    /// The stamp that was on offer.
    pub stamp: u32,
    /// The poll's own id: the same one may ask twice.
    pub request_id: String,
    /// The worker.
    pub identity: String,
    /// The engine's process, if the worker is inside it; otherwise 0.
    pub process: u64,
    /// How many attempts the worker has in hand with this one; 0 if that is not known.
    pub company: u32,
    /// After how much silence the worker counts as lost, if it gives signs of life by itself for what
    /// its code says nothing of; otherwise zero.
    pub silence_max: Duration,
}

/// What names one start of an activity.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ActivityToken {
    /// One attempt that was handed out.
    Attempt {
        /// Its scheduled event.
        scheduled_event_id: i64,
        /// The attempt.
        attempt: u32,
        /// This very start.
        nonce: u64,
    },
    /// Whatever attempt of the activity with this id is under way.
    Id(String),
}

/// A worker is done with an activity.
#[derive(Clone, Debug, PartialEq)]
pub struct CompleteActivity {
    /// Which one.
    pub token: ActivityToken,
    /// What it gave.
    pub result: Option<common::Payloads>,
    /// The worker.
    pub identity: String,
}

/// A worker could not do an activity.
#[derive(Clone, Debug, PartialEq)]
pub struct FailActivity {
    /// Which one.
    pub token: ActivityToken,
    /// Why.
    pub failure: Option<failure::Failure>,
    /// The last heartbeat, if it was not sent before.
    pub last_heartbeat_details: Option<common::Payloads>,
    /// The worker.
    pub identity: String,
}

/// A worker gave an activity up because its cancellation was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct CancelActivity {
    /// Which one.
    pub token: ActivityToken,
    /// What it has to say.
    pub details: Option<common::Payloads>,
    /// The worker.
    pub identity: String,
}

/// A worker is still at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    /// Which one.
    pub token: ActivityToken,
    /// How far it is; nothing, if it says nothing of it.
    pub details: Option<common::Payloads>,
    /// It leaves the attempt to somebody else, who will end it: it does not end with the worker.
    pub leaves: bool,
}

/// The child was started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChildStarted {
    /// The event that asked for it.
    pub initiated_event_id: i64,
    /// Its first run.
    pub run_id: String,
}

/// The child could not be started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChildStartFailed {
    /// The event that asked for it.
    pub initiated_event_id: i64,
    /// Why not.
    pub cause: enums::StartChildWorkflowExecutionFailedCause,
}

/// The child has closed.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildClosed {
    /// The event that asked for it.
    pub initiated_event_id: i64,
    /// Its first run, as the parent knows it.
    pub first_run_id: String,
    /// Its last run.
    pub execution: common::WorkflowExecution,
    /// How: its last event.
    pub close: history::history_event::Attributes,
}

/// What came of a signal or cancel request to another run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExternalAnswered {
    /// The event that asked for it.
    pub initiated_event_id: i64,
    /// Why it could not be delivered; `None` when it was.
    pub refused: Option<ExternalRefused>,
}

/// Why a signal or cancel request could not be delivered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExternalRefused {
    /// There is no such open run.
    NotFound,
    /// There is no such namespace.
    NamespaceNotFound,
    /// It has taken all the signals that it can.
    SignalLimit,
}

/// A new run, before it has its first event.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its names.
    pub identity: Identity,
    /// Its first event.
    pub started: Started,
    /// What the starter wrote about it.
    pub user_metadata: Option<sdk::UserMetadata>,
    /// What it belongs to.
    pub links: Vec<common::Link>,
    /// The request that creates it.
    pub request_id: String,
    /// A signal that comes with it.
    pub signal: Option<Signal>,
    /// Set if it is started in Cadence's terms.
    pub cadence: Option<CadenceTerms>,
    /// The schedule that starts it and wants to hear of its end.
    pub scheduled_by: Option<Target>,
}
