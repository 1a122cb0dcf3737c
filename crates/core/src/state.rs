//! What a run remembers, beside its history.
//!
//! These are the stored rows: protobuf messages of our own, so that fields can be added and old
//! data still opens. **A tag is never reused and never changes its meaning.** Instants are
//! nanoseconds since the epoch, 0 for none. Payloads that are in the history are not kept again:
//! the event that holds them is, by [`Arc`].

use std::sync::Arc;

use steadfast_proto::{activity, common, enums, failure, history, sdk, update};
use steadfast_retry::Timestamp;

use crate::{
    counted::Counted,
    parked::{Acknowledged, Change, NextOnly, Park, RunResume, Trouble},
    span::kept,
    suspicion::Suspicion,
    table::Row,
};

pub use crate::letter::{Message, Notice, Target, Told};

/// Of workers whose tasks are not given out by their builds.
pub(crate) const UNVERSIONED: &str = "unversioned";

/// The attributes of a run's first event.
pub type Started = history::WorkflowExecutionStartedEventAttributes;

/// The part of a run that changes with every step. Small, whatever is pending.
#[derive(Clone, PartialEq, prost::Message)]
pub struct State {
    /// The id that the next event gets.
    #[prost(int64, tag = "1")]
    pub next_event_id: i64,
    /// Whether it runs, or how it closed.
    #[prost(enumeration = "enums::WorkflowExecutionStatus", tag = "2")]
    pub status: i32,
    /// When it was created.
    #[prost(int64, tag = "3")]
    pub started_at: i64,
    /// When its first task was or is due.
    #[prost(int64, tag = "4")]
    pub execution_at: i64,
    /// When it closed.
    #[prost(int64, tag = "5")]
    pub closed_at: i64,
    /// When this run times out.
    #[prost(int64, tag = "6")]
    pub run_expires_at: i64,
    /// When the whole chain times out.
    #[prost(int64, tag = "7")]
    pub chain_expires_at: i64,
    /// Until when the first task waits; 0 once it was scheduled.
    #[prost(int64, tag = "8")]
    pub backoff_until: i64,
    /// Bytes of history.
    #[prost(int64, tag = "9")]
    pub history_bytes: i64,
    /// Steps taken.
    #[prost(int64, tag = "10")]
    pub transitions: i64,
    /// Signals taken.
    #[prost(int64, tag = "11")]
    pub signals: i64,
    /// Whether its cancellation was asked for.
    #[prost(bool, tag = "12")]
    pub cancel_requested: bool,
    /// The workflow task that waits for a worker, or that one works on.
    #[prost(message, optional, tag = "13")]
    pub task: Option<WorkflowTask>,
    /// The attempt number of the next workflow task.
    #[prost(uint32, tag = "14")]
    pub task_attempt: u32,
    /// The worker that has the run in its cache.
    #[prost(message, optional, tag = "15")]
    pub sticky: Option<Sticky>,
    /// Started event of the last workflow task that was completed.
    #[prost(int64, tag = "16")]
    pub previous_started_event_id: i64,
    /// The request that created the run, or the first run of its chain.
    #[prost(string, tag = "17")]
    pub create_request_id: String,
    /// The memo, once the workflow changed it.
    #[prost(message, optional, tag = "18")]
    pub memo: Option<common::Memo>,
    /// The search attributes, once the workflow changed them.
    #[prost(message, optional, tag = "19")]
    pub search_attributes: Option<common::SearchAttributes>,
    /// The place that the next buffered event gets.
    #[prost(uint64, tag = "20")]
    pub next_buffered: u64,
    /// The number that the next message to another run gets.
    #[prost(uint64, tag = "21")]
    pub next_message: u64,
    /// The run that took this one's place when it was reset.
    #[prost(string, tag = "22")]
    pub reset_run_id: String,
    /// Whether a close was refused because something new had come in; signals wait while a worker
    /// has the next workflow task.
    #[prost(bool, tag = "23")]
    pub closing: bool,
    /// When a closed run is deleted.
    #[prost(int64, tag = "24")]
    pub delete_at: i64,
    /// Whether this run was ended by its reset: its parent and children are not told.
    #[prost(bool, tag = "26")]
    pub ended_by_reset: bool,
    /// Bytes of the events that wait for the workflow task to end.
    #[prost(int64, tag = "27")]
    pub buffered_bytes: i64,
    /// The time of the newest event. A clock that goes back does not turn the history round.
    #[prost(int64, tag = "28")]
    pub last_event_at: i64,
    /// The run of the parent that has taken this one on since the parent was reset; empty while
    /// the first event still names the right one.
    #[prost(string, tag = "29")]
    pub parent_run_id: String,
    /// The run that goes on where this one closed: by continue-as-new, retry or cron.
    #[prost(string, tag = "30")]
    pub next_run_id: String,
    /// Set for a run that was started in Cadence's terms.
    #[prost(message, optional, tag = "31")]
    pub cadence: Option<CadenceTerms>,
    /// The schedule that started the chain and hears of its end.
    #[prost(message, optional, tag = "40")]
    pub scheduled_by: Option<Target>,
    /// What it failed of, once it has and no other run goes on.
    #[prost(message, optional, tag = "41")]
    pub trouble: Option<Trouble>,
    /// What its workflow task failed of, until one succeeds.
    #[prost(message, optional, tag = "42")]
    pub task_trouble: Option<Trouble>,
    /// The first of the runs that were tried for the same work; empty if it is this one.
    #[prost(string, tag = "43")]
    pub first_tried_run_id: String,
    /// How often runs before this one have failed and were resumed as the next.
    #[prost(uint32, tag = "44")]
    pub resumes: u32,
    /// When it goes on by itself, once it has failed and a resume policy has taken it.
    #[prost(message, optional, tag = "45")]
    pub resume: Option<RunResume>,
    /// The builds of the workers that did its tasks, in the words of the attribute `BuildIds`; the
    /// newest of them, if there were many.
    #[prost(string, repeated, tag = "46")]
    pub builds: Vec<String>,
}

/// What Cadence's policy says of a workflow and the public one cannot. In these terms a workflow that
/// fails after its cancellation was asked for has been cancelled.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct CadenceTerms {
    /// How long one chain of retries may take, in nanoseconds; 0 for as long as its attempts last.
    /// The next cron run has all of it again.
    #[prost(int64, tag = "1")]
    pub expiration: i64,
    /// When this chain of retries is over.
    #[prost(int64, tag = "2")]
    pub expires_at: i64,
}

/// A workflow task: scheduled, then started.
#[derive(Clone, PartialEq, prost::Message)]
pub struct WorkflowTask {
    /// Its scheduled event; a number that no event has yet if it is not written.
    #[prost(int64, tag = "1")]
    pub scheduled_event_id: i64,
    /// Its started event; 0 while it waits for a worker.
    #[prost(int64, tag = "2")]
    pub started_event_id: i64,
    /// Which attempt, from 1. Those above 1 are not written until one succeeds.
    #[prost(uint32, tag = "3")]
    pub attempt: u32,
    /// When it was scheduled.
    #[prost(int64, tag = "4")]
    pub scheduled_at: i64,
    /// When the first of a chain of heartbeats was scheduled.
    #[prost(int64, tag = "5")]
    pub original_scheduled_at: i64,
    /// When a worker took it.
    #[prost(int64, tag = "6")]
    pub started_at: i64,
    /// Names this very start: an answer to another one is refused.
    #[prost(fixed64, tag = "7")]
    pub nonce: u64,
    /// Who took it.
    #[prost(string, tag = "8")]
    pub identity: String,
    /// The poll that took it.
    #[prost(string, tag = "9")]
    pub request_id: String,
    /// How long it may take once started, in nanoseconds.
    #[prost(int64, tag = "10")]
    pub timeout: i64,
    /// Whether it waits on the sticky queue.
    #[prost(bool, tag = "11")]
    pub sticky: bool,
    /// Until when it is held back, because it has failed again and again; 0 if it is not.
    #[prost(int64, tag = "12")]
    pub held_until: i64,
    /// The engine's process that works on it itself; 0 if a worker elsewhere does.
    #[prost(uint64, tag = "13")]
    pub process: u64,
    /// Whether it is not handed out until somebody resumes it.
    #[prost(bool, tag = "14")]
    pub parked: bool,
    /// Whether it is there for updates alone, and not in the history until one is taken.
    #[prost(bool, tag = "15")]
    pub speculative: bool,
}

/// A worker's own queue.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sticky {
    /// Its name.
    #[prost(string, tag = "1")]
    pub queue: String,
    /// How long a task waits there before it goes to the normal queue, in nanoseconds.
    #[prost(int64, tag = "2")]
    pub timeout: i64,
}

/// A pending activity.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// What the workflow asked for.
    pub scheduled: Arc<history::ActivityTaskScheduledEventAttributes>,
    /// How far it is.
    pub row: ActivityRow,
}

/// How far a pending activity is.
#[expect(clippy::struct_excessive_bools, reason = "each is stored under a tag of its own")]
#[derive(Clone, PartialEq, prost::Message)]
pub struct ActivityRow {
    /// Its scheduled event.
    #[prost(int64, tag = "1")]
    pub scheduled_event_id: i64,
    /// Which attempt, from 1.
    #[prost(uint32, tag = "2")]
    pub attempt: u32,
    /// Grows with every change from outside, so that tasks handed to a queue before are void.
    #[prost(uint32, tag = "3")]
    pub stamp: u32,
    /// When its first attempt was due.
    #[prost(int64, tag = "4")]
    pub first_scheduled_at: i64,
    /// When this attempt is or was due.
    #[prost(int64, tag = "5")]
    pub scheduled_at: i64,
    /// Whether this attempt was given to its queue.
    #[prost(bool, tag = "6")]
    pub queued: bool,
    /// When a worker took this attempt; 0 while none has.
    #[prost(int64, tag = "7")]
    pub started_at: i64,
    /// Names this very start: an answer to another one is refused.
    #[prost(fixed64, tag = "8")]
    pub nonce: u64,
    /// Who works on it, or worked on it last.
    #[prost(string, tag = "9")]
    pub identity: String,
    /// The poll that took it.
    #[prost(string, tag = "10")]
    pub request_id: String,
    /// Why the attempt before failed.
    #[prost(message, optional, tag = "11")]
    pub last_failure: Option<failure::Failure>,
    /// When the attempt before ended.
    #[prost(int64, tag = "12")]
    pub last_ended_at: i64,
    /// When the attempt before was taken.
    #[prost(int64, tag = "13")]
    pub last_started_at: i64,
    /// The last heartbeat, over all attempts.
    #[prost(int64, tag = "14")]
    pub last_heartbeat_at: i64,
    /// What it said.
    #[prost(message, optional, tag = "15")]
    pub heartbeat_details: Option<common::Payloads>,
    /// The event that asked for its cancellation.
    #[prost(int64, tag = "16")]
    pub cancel_requested_event_id: i64,
    /// Set while it is paused.
    #[prost(message, optional, tag = "17")]
    pub pause: Option<Pause>,
    /// Options changed from outside; absent as long as the event's own hold.
    #[prost(message, optional, tag = "18")]
    pub options: Option<activity::ActivityOptions>,
    /// Whether its running attempt must be told that it was reset.
    #[prost(bool, tag = "19")]
    pub reset: bool,
    /// Whether the heartbeat details are to be forgotten when the running attempt ends.
    #[prost(bool, tag = "20")]
    pub reset_heartbeat: bool,
    /// Attempts handed to a worker, over all resets.
    #[prost(uint32, tag = "21")]
    pub deliveries: u32,
    /// Its started event, known only in a history that was cut between start and close.
    #[prost(int64, tag = "22")]
    pub started_event_id: i64,
    /// What its policy has counted, if that is more than the number of the attempt.
    #[prost(message, optional, tag = "23")]
    pub counted: Option<Counted>,
    /// The same as it was while the attempt before ran.
    #[prost(message, optional, tag = "24")]
    pub counted_before: Option<Counted>,
    /// The engine's process that works on it itself; 0 if a worker elsewhere does.
    #[prost(uint64, tag = "25")]
    pub process: u64,
    /// Set while it is parked.
    #[prost(message, optional, tag = "26")]
    pub park: Option<Park>,
    /// What only the next attempt is told.
    #[prost(message, optional, tag = "28")]
    pub next_only: Option<NextOnly>,
    /// When an attempt failed for the first time.
    #[prost(int64, tag = "29")]
    pub first_failed_at: i64,
    /// The last few requests that resumed it: a repetition of one changes nothing.
    #[prost(string, repeated, tag = "30")]
    pub resumed_by: Vec<String>,
    /// How often it was resumed.
    #[prost(uint32, tag = "31")]
    pub resumes: u32,
    /// What was changed from outside, oldest first; the last few.
    #[prost(message, repeated, tag = "32")]
    pub changes: Vec<Change>,
    /// Its input, once it was changed from outside.
    #[prost(message, optional, tag = "33")]
    pub input: Option<common::Payloads>,
    /// Its policy, once it was changed from outside: a draft as JSON. Empty for none.
    #[prost(string, tag = "34")]
    pub policy: String,
    /// Whether the next attempt was granted by a resume, whatever the policy says.
    #[prost(bool, tag = "35")]
    pub granted: bool,
    /// What was decided when the attempt before ended, in words.
    #[prost(string, tag = "36")]
    pub words: String,
    /// Who has taken note of its failure.
    #[prost(message, optional, tag = "37")]
    pub acknowledged: Option<Acknowledged>,
    /// How far it is suspected of ending its workers. Tag 27 was their number alone.
    #[prost(message, optional, tag = "38")]
    pub suspicion: Option<Suspicion>,
    /// How many attempts its worker had in hand when it took this one, if that is known.
    #[prost(uint32, tag = "39")]
    pub company: u32,
    /// When it was first delivered under its present idempotency key.
    #[prost(int64, tag = "40")]
    pub first_delivered_at: i64,
    /// How often it was given a new idempotency key.
    #[prost(uint32, tag = "41")]
    pub rekeyed: u32,
    /// When the engine began to listen anew, if the heartbeat was due while it was away. The silence
    /// counts from then.
    #[prost(int64, tag = "42")]
    pub listened_to_since: i64,
    /// How long its worker may be silent, in nanoseconds, if that gives signs of life by itself; 0 if it
    /// does not.
    #[prost(uint64, tag = "43")]
    pub silence_max: u64,
}

/// Who paused an activity, when and why.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Pause {
    /// When.
    #[prost(int64, tag = "1")]
    pub at: i64,
    /// Who.
    #[prost(string, tag = "2")]
    pub identity: String,
    /// Why.
    #[prost(string, tag = "3")]
    pub reason: String,
    /// The request that did.
    #[prost(string, tag = "4")]
    pub request_id: String,
}

/// A pending timer.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Timer {
    /// The id that the workflow gave it.
    #[prost(string, tag = "1")]
    pub timer_id: String,
    /// When it fires.
    #[prost(int64, tag = "2")]
    pub fires_at: i64,
}

/// A pending child.
#[derive(Clone, Debug, PartialEq)]
pub struct Child {
    /// What the workflow asked for.
    pub initiated: Arc<history::StartChildWorkflowExecutionInitiatedEventAttributes>,
    /// What the workflow wrote about it; the child's own first event has it too.
    pub user_metadata: Option<Arc<sdk::UserMetadata>>,
    /// How far it is.
    pub row: ChildRow,
}

/// How far a pending child is.
#[expect(clippy::struct_field_names, reason = "each says which id")]
#[derive(Clone, PartialEq, prost::Message)]
pub struct ChildRow {
    /// Its first run; empty until it was started.
    #[prost(string, tag = "1")]
    pub run_id: String,
    /// Its started event; 0 until that is in the history.
    #[prost(int64, tag = "2")]
    pub started_event_id: i64,
    /// The request that starts it, so that it is started once.
    #[prost(string, tag = "3")]
    pub request_id: String,
}

/// A signal or cancel request on its way to another run.
#[derive(Clone, Debug, PartialEq)]
pub struct External {
    /// What the workflow asked for.
    pub initiated: ExternalInitiated,
    /// What is stored of it.
    pub row: ExternalRow,
}

/// The event that holds an external request.
#[derive(Clone, Debug, PartialEq)]
pub enum ExternalInitiated {
    /// A signal.
    Signal(Arc<history::SignalExternalWorkflowExecutionInitiatedEventAttributes>),
    /// A cancel request.
    Cancel(Arc<history::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes>),
}

/// What is stored of an external request.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ExternalRow {
    /// The request id by which the target tells repetitions.
    #[prost(string, tag = "1")]
    pub request_id: String,
}

/// An update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Update {
    /// The request, until it is in the history.
    pub request: Option<update::Request>,
    /// The start of the workflow task that carried it to a worker; 0 if none has.
    pub sent: u64,
    /// The outcome, once it is known and until the run is evicted.
    pub outcome: Option<update::Outcome>,
    /// What is stored of it.
    pub row: UpdateRow,
}

/// What is stored of an update: where it stands in the history.
#[expect(clippy::struct_field_names, reason = "each says which id")]
#[derive(Clone, PartialEq, prost::Message)]
pub struct UpdateRow {
    /// The event that admitted it, if it came with a reset.
    #[prost(int64, tag = "1")]
    pub admitted_event_id: i64,
    /// The event that accepted it.
    #[prost(int64, tag = "2")]
    pub accepted_event_id: i64,
    /// The event that completed it.
    #[prost(int64, tag = "3")]
    pub completed_event_id: i64,
}

/// A request that was applied, so that it is not applied again.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Request {
    /// When a start found the run open with it; 0 for a signal.
    #[prost(int64, tag = "1")]
    pub attached_at: i64,
    /// The event that such a start has made; 0 while that waits for its place.
    #[prost(int64, tag = "2")]
    pub event_id: i64,
    /// Whom such a start wants to hear of the end.
    #[prost(message, repeated, tag = "3")]
    pub callbacks: Vec<common::Callback>,
}

impl State {
    /// Takes an event into account that the history now ends with.
    pub(crate) fn count(&mut self, bytes: usize, at: i64) {
        self.next_event_id += 1;
        self.history_bytes = self.history_bytes.saturating_add_unsigned(wide(bytes));
        self.last_event_at = self.last_event_at.max(at);
    }

    /// Whether the run is open.
    pub fn is_open(&self) -> bool {
        self.status() == enums::WorkflowExecutionStatus::Running
    }
}

impl WorkflowTask {
    /// Whether a worker has it.
    pub fn is_started(&self) -> bool {
        self.started_event_id != 0
    }

    /// Whether a worker has it that ends with the engine's process.
    pub fn is_held_within(&self) -> bool {
        self.is_started() && self.process != 0
    }

    /// Whether it waits for a worker.
    pub fn is_offered(&self) -> bool {
        !self.is_started() && self.held_until == 0 && !self.parked
    }

    /// Whether a worker that was offered this one before has it, or may still have it.
    pub(crate) fn is_to_be_had_as(&self, offered: &Self) -> bool {
        let is_same = self.scheduled_event_id == offered.scheduled_event_id
            && self.attempt == offered.attempt;
        self.is_started() || is_same && self.is_offered()
    }

    /// Whether its events are not in the history: it is a repetition of one that failed, or there
    /// for updates alone.
    pub fn is_unwritten(&self) -> bool {
        self.attempt > 1 || self.speculative
    }
}

impl Update {
    /// Whether its acceptance is in the history.
    pub fn is_accepted(&self) -> bool {
        self.row.accepted_event_id != 0
    }

    /// Whether its outcome is in the history.
    pub fn is_completed(&self) -> bool {
        self.row.completed_event_id != 0
    }
}

impl Timer {
    /// When it fires.
    pub fn due(&self) -> Option<Timestamp> {
        kept(self.fires_at)
    }
}

impl Row for Activity {
    fn name(&self) -> &str {
        &self.scheduled.activity_id
    }
}

impl Row for Timer {
    fn name(&self) -> &str {
        &self.timer_id
    }
}

/// An update that is not completed, by the order in which they came.
impl Row for String {}
impl Row for Child {}
impl Row for External {}
impl Row for Update {}
impl Row for Request {}
impl Row for Message {}
impl Row for history::HistoryEvent {}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
