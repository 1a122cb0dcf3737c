//! A schedule: what happens to it, and what it wants done.
//!
//! ```text
//!             a time comes ─┐
//!   trigger, backfill ──────┼──▶ buffer ──▶ starting ──▶ running ──▶ closed
//!                           │       │           │           ▲
//!                           │       └─ dropped  └─ failed   └─ asked to end, terminated
//! ```
//!
//! A start in `starting` is on its way to the workflow that it begins. It is sent when this state
//! is durable, and again after a crash; its request id makes it count once.

use steadfast_proto::{
    common,
    enums::WorkflowExecutionStatus as Status,
    failure::Failure,
    schedule::{self, BackfillRequest, ScheduleInfo, SchedulePatch, schedule_action::Action},
    workflow::NewWorkflowExecutionInfo,
};
use steadfast_retry::Timestamp;

use super::{
    invalid::Invalid,
    state::{Backfill, ScheduleState},
    times::{Times, Turn},
};
use crate::span;

/// A schedule.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub(super) state: ScheduleState,
    pub(super) times: Times,
}

/// What happens to a schedule.
#[derive(Clone, Debug)]
pub enum Input {
    /// Time passed.
    Tick,
    /// Somebody wants something done, or not done.
    Patch {
        /// What.
        patch: SchedulePatch,
        /// Makes it count once.
        request_id: String,
    },
    /// Somebody replaces it.
    Update {
        /// The new schedule, with its spec in canonical form.
        schedule: Box<schedule::Schedule>,
        /// The new search attributes; `None` leaves them.
        search_attributes: Option<common::SearchAttributes>,
        /// The new memo; `None` leaves it.
        memo: Option<common::Memo>,
        /// What the change has seen; empty for whatever there is.
        conflict_token: Vec<u8>,
        /// Makes it count once.
        request_id: String,
    },
    /// A start has come to life.
    Started {
        /// Which.
        request_id: String,
        /// As this run.
        run_id: String,
    },
    /// A start came to nothing.
    NotStarted {
        /// Which.
        request_id: String,
    },
    /// A run that was started has closed, and no other follows it.
    Closed(Box<Closed>),
    /// A run was asked to make room.
    Heard {
        /// By this request.
        request_id: String,
        /// Whether there was such a run.
        found: bool,
    },
}

/// How a run closed.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    /// The request that started it.
    pub request_id: String,
    /// The workflow, by its first run.
    pub execution: common::WorkflowExecution,
    /// How.
    pub status: Status,
    /// Its result, if it has one.
    pub result: Option<common::Payloads>,
    /// Its failure, if it has one.
    pub failure: Option<Failure>,
}

/// Why an input is refused. Nothing has changed then.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// It was changed in the meantime.
    #[error("mismatched conflict token: the schedule has changed since it was described")]
    Conflict,
    /// The new one cannot be used.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Schedule {
    /// A new schedule, whose state names what was asked for.
    pub fn create(
        mut state: ScheduleState,
        id: &str,
        patch: Option<SchedulePatch>,
        now: Timestamp,
    ) -> Result<Self, Invalid> {
        state.considered = now.nanos();
        state.info = Some(ScheduleInfo {
            create_time: Some(span::instant_to_wire(now)),
            ..ScheduleInfo::default()
        });
        let mut it = Self::from_state(state, id)?;
        if let Some(patch) = patch {
            it.patch(patch, now);
        }
        it.state.version = 1;
        it.go_on(now);
        Ok(it)
    }

    /// A schedule as it was kept.
    pub fn from_state(state: ScheduleState, id: &str) -> Result<Self, Invalid> {
        let spec = state.schedule.as_ref().and_then(|it| it.spec.clone()).unwrap_or_default();
        Ok(Self { times: Times::new(&spec, id)?, state })
    }

    /// All that is kept of it.
    pub fn state(&self) -> &ScheduleState {
        &self.state
    }

    /// When it must be looked at again even if nothing happens to it.
    pub fn next_due(&self) -> Option<Timestamp> {
        span::kept(self.state.wake_at)
    }

    /// Whether something is on its way that was not answered.
    pub fn has_work(&self) -> bool {
        self.is_starting() || self.state.closing.iter().any(|it| !it.heard)
    }

    /// Whether a start is on its way.
    pub fn is_starting(&self) -> bool {
        !self.state.starting.is_empty()
    }

    /// Whether its time is over, so that it can be deleted.
    pub fn is_over(&self, now: Timestamp) -> bool {
        span::kept(self.state.delete_at).is_some_and(|at| at <= now)
    }

    /// What a change must show to have seen this state.
    pub fn conflict_token(&self) -> Vec<u8> {
        self.state.version.to_be_bytes().to_vec()
    }

    /// The workflow that it starts.
    pub fn action(&self) -> Option<&NewWorkflowExecutionInfo> {
        match self.schedule()?.action.as_ref()?.action.as_ref()? {
            Action::StartWorkflow(info) => Some(info),
        }
    }

    /// The next times at which it acts.
    pub fn future(&self, count: usize, now: Timestamp) -> Vec<Timestamp> {
        let given = self.schedule().and_then(|it| it.state.as_ref());
        let most = match given {
            Some(state) if state.limited_actions => {
                usize::try_from(state.remaining_actions).unwrap_or_default().min(count)
            }
            _ => count,
        };
        self.times.future(Timestamp(self.state.considered), now).take(most).collect()
    }

    /// Its times, whatever it does about them.
    pub fn times(&self) -> &Times {
        &self.times
    }

    /// Lets something happen to it.
    pub fn apply(&mut self, input: Input, id: &str, now: Timestamp) -> Result<(), Refused> {
        match input {
            Input::Tick => {}
            Input::Patch { patch, request_id } => {
                if self.is_new(request_id) {
                    self.consider(now);
                    self.patch(patch, now);
                }
            }
            Input::Update { schedule, search_attributes, memo, conflict_token, request_id } => {
                if self.state.requests.contains(&request_id) {
                    return Ok(());
                }
                if !conflict_token.is_empty() && conflict_token != self.conflict_token() {
                    return Err(Refused::Conflict);
                }
                let spec = schedule.spec.clone().unwrap_or_default();
                let times = Times::new(&spec, id)?;
                self.is_new(request_id);
                self.consider(now);
                self.times = times;
                self.update(*schedule, search_attributes, now);
                if memo.is_some() {
                    self.state.memo = memo;
                }
            }
            Input::Started { request_id, run_id } => self.started(&request_id, run_id, now),
            Input::NotStarted { request_id } => drop(self.take_starting(&request_id)),
            Input::Closed(closed) => self.closed(*closed, now),
            Input::Heard { request_id, found } => self.heard(&request_id, found),
        }
        self.go_on(now);
        Ok(())
    }

    pub(super) fn schedule(&self) -> Option<&schedule::Schedule> {
        self.state.schedule.as_ref()
    }

    /// What was asked for, to be changed.
    pub(super) fn asked(&mut self) -> &mut schedule::ScheduleState {
        let schedule = self.state.schedule.get_or_insert_default();
        schedule.state.get_or_insert_default()
    }

    pub(super) fn info(&mut self) -> &mut ScheduleInfo {
        self.state.info.get_or_insert_default()
    }

    pub(super) fn policies(&self) -> schedule::SchedulePolicies {
        self.schedule().and_then(|it| it.policies).unwrap_or_default()
    }

    /// Whether a request was not seen before. It is now.
    fn is_new(&mut self, request_id: String) -> bool {
        if request_id.is_empty() {
            return true;
        }
        if self.state.requests.contains(&request_id) {
            return false;
        }
        if self.state.requests.len() >= REQUESTS_MAX {
            self.state.requests.remove(0);
        }
        self.state.requests.push(request_id);
        true
    }

    fn update(
        &mut self,
        schedule: schedule::Schedule,
        search_attributes: Option<common::SearchAttributes>,
        now: Timestamp,
    ) {
        // A time that has come and is not yet due because of jitter is kept if it still is one.
        if self.schedule().is_none_or(|old| old.spec != schedule.spec) {
            self.state.considered = self.state.considered.max(now.nanos());
        }
        self.state.schedule = Some(schedule);
        if let Some(attributes) = search_attributes {
            // None at all are as good as none.
            self.state.search_attributes =
                Some(attributes).filter(|it| !it.indexed_fields.is_empty());
        }
        self.info().update_time = Some(span::instant_to_wire(now));
        self.state.version += 1;
    }

    fn patch(&mut self, patch: SchedulePatch, now: Timestamp) {
        if !patch.pause.is_empty() {
            self.pause(true, patch.pause);
        }
        if !patch.unpause.is_empty() {
            self.state.considered = self.state.considered.max(now.nanos());
            self.pause(false, patch.unpause);
        }
        if let Some(trigger) = patch.trigger_immediately {
            let nominal = trigger.scheduled_time.as_ref().map_or(now, span::instant_from_wire);
            let turn = Turn { nominal, due: nominal };
            self.buffer(turn, trigger.overlap_policy(), true);
        }
        for request in patch.backfill_request {
            self.backfill(&request);
        }
        self.state.version += 1;
    }

    pub(super) fn pause(&mut self, paused: bool, notes: String) {
        let asked = self.asked();
        asked.paused = paused;
        asked.notes = notes;
    }

    fn backfill(&mut self, request: &BackfillRequest) {
        let instant =
            |wire: &Option<_>| wire.as_ref().map_or(0, |at| span::instant_from_wire(at).nanos());
        self.state.backfills.push(Backfill {
            considered: instant(&request.start_time).saturating_sub(1),
            end: instant(&request.end_time),
            overlap_policy: request.overlap_policy,
        });
    }
}

const REQUESTS_MAX: usize = 20;
