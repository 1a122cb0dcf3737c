//! Local activities: run by the worker that has the workflow's task, for as long as it has it.
//!
//! ```text
//!   code wants ──▶ running ──▶ ended ──▶ code goes on ──▶ wants nothing more ──▶ the task is answered
//!                     │
//!                     └── the task's time is nearly up ──▶ answered so far, and taken again
//! ```

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use steadfast_engine::{Timestamp, failure};
use steadfast_proto::{
    common::{Payloads, WorkflowExecution},
    enums::{RetryState, TimeoutType},
    failure::{ActivityFailureInfo, Failure as Wire, TimeoutFailureInfo, failure::FailureInfo},
};
use steadfast_retry::{self as retry, Decision, Place, Policy, Seed, Signals, State, decide};
use tokio::{
    sync::OwnedSemaphorePermit,
    task::{AbortHandle, JoinSet},
};

use super::{
    Shared,
    attempt::{caught, unknown},
};
use crate::{
    activity::{ActivityContext, ActivityInfo, Line},
    error::Failure,
    replay::{Broken, Execution, LocalEnd},
    span::FOREVER,
    workflow::{LocalTask, Outcome},
};

/// Those of one workflow task, and of the tasks that follow it without a break.
#[derive(Debug)]
pub(super) struct Local<'a> {
    shared: &'a Arc<Shared>,
    run: &'a WorkflowExecution,
    /// Made for the first: most tasks have none.
    running: Option<JoinSet<(u32, LocalEnd)>>,
    known: BTreeMap<u32, (Arc<Line>, AbortHandle)>,
    /// A worker that stops waits for the answer.
    busy: Option<OwnedSemaphorePermit>,
}

/// Why a task is not answered.
pub(super) enum Unanswered {
    /// The code cannot go on.
    Broken(Broken),
    /// The worker is no more.
    Gone,
}

impl From<Broken> for Unanswered {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl<'a> Local<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, run: &'a WorkflowExecution) -> Self {
        Self { shared, run, running: None, known: BTreeMap::new(), busy: None }
    }

    /// Runs what the code wants until it wants nothing more, or until the task's time is nearly up.
    /// Says whether something is still under way.
    pub(super) async fn work(&mut self, execution: &mut Execution) -> Result<bool, Unanswered> {
        if self.known.is_empty() && !execution.wants_local() {
            return Ok(false);
        }
        self.busy = Arc::clone(&self.shared.busy).try_acquire_owned().ok();
        let time = Time::of(self.shared, execution);
        self.follow(execution, &time);
        let mut nearly_up = self.shared.clock.sleep(execution.task_timeout() * 4 / 5);
        while !self.known.is_empty() {
            tokio::select! {
                biased;
                ended = self.running.get_or_insert_default().join_next() => {
                    let Some(ended) = ended else { return Err(Unanswered::Gone) };
                    // One that was stopped has nothing to say.
                    let Ok((seq, end)) = ended else { continue };
                    if self.known.remove(&seq).is_some() {
                        execution.local_ended(seq, end, time.passed())?;
                        self.follow(execution, &time);
                    }
                }
                () = &mut nearly_up => return Ok(true),
                () = self.shared.gone() => return Err(Unanswered::Gone),
            }
        }
        Ok(false)
    }

    /// Starts what the code wants, and stops what it does not want any more.
    fn follow(&mut self, execution: &mut Execution, time: &Time) {
        let Some(wanted) = execution.local_changes() else { return };
        let is_wanted = |seq: &u32| wanted.binary_search_by_key(seq, |(seq, ..)| *seq).is_ok();
        self.known.retain(|seq, (_, running)| {
            let keep = is_wanted(seq);
            if !keep {
                running.abort();
            }
            keep
        });
        for (seq, task, stopping) in wanted {
            if !self.known.contains_key(&seq) {
                let workflow_type = execution.workflow_type();
                self.start(seq, task, workflow_type, time.clone());
            }
            if let (true, Some((line, _))) = (stopping, self.known.get(&seq)) {
                line.cancel();
            }
        }
    }

    fn start(&mut self, seq: u32, task: LocalTask, workflow_type: String, time: Time) {
        let line = Arc::new(Line::default());
        let attempts = Attempts {
            shared: Arc::clone(self.shared),
            run: self.run.clone(),
            workflow_type,
            task,
            line: Arc::clone(&line),
            time,
        };
        let running = self.running.get_or_insert_default();
        let running = running.spawn(async move { (seq, attempts.run().await) });
        self.known.insert(seq, (line, running));
    }
}

/// The run's own time, which went on while a task was worked on.
#[derive(Clone, Debug)]
struct Time {
    shared: Arc<Shared>,
    asked_at: Timestamp,
    began: Timestamp,
}

impl Time {
    fn of(shared: &Arc<Shared>, execution: &Execution) -> Self {
        let asked_at = of_system(execution.asked_at());
        Self { shared: Arc::clone(shared), asked_at, began: shared.clock.now() }
    }

    /// How long ago the code was asked.
    fn passed(&self) -> Duration {
        self.shared.clock.now().since(self.began)
    }

    fn now(&self) -> Timestamp {
        self.asked_at.after(self.passed())
    }
}

fn of_system(time: std::time::SystemTime) -> Timestamp {
    let passed = time.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::default().after(passed)
}

/// The attempts of one, with the waits that are too short for a timer.
struct Attempts {
    shared: Arc<Shared>,
    run: WorkflowExecution,
    workflow_type: String,
    task: LocalTask,
    line: Arc<Line>,
    time: Time,
}

impl Attempts {
    async fn run(self) -> LocalEnd {
        let first = of_system(self.task.scheduled_at);
        let mut state = State::at_attempt(self.task.attempt, first);
        let policy = match self.task.policy.compile() {
            Ok(policy) => policy,
            Err(error) => {
                let failure = Failure::from(error).non_retryable().into_wire();
                return self.failed(&state, failure, RetryState::NonRetryableFailure);
            }
        };
        loop {
            let began = self.shared.clock.now();
            let failure = match self.attempt(state.attempt()).await {
                Ok(result) => return end(&state, Ok(result)),
                Err(failure) => failure.into_wire(),
            };
            state.executed = state.executed.saturating_add(self.shared.clock.now().since(began));
            let decision = self.decide(&policy, &state, &failure);
            let Decision::RetryAt { delay, .. } = decision else {
                return self.given_up(&state, failure, &decision);
            };
            if delay >= self.task.threshold {
                let ended = self.failed(&state, failure, RetryState::InProgress);
                return LocalEnd { backoff: Some(delay), ..ended };
            }
            state.record(&decision);
            state.deliver();
            tokio::select! {
                () = self.shared.clock.sleep(delay) => {}
                () = self.line.cancelled() => return end(&state, cancelled()),
            }
        }
    }

    /// One attempt, within its time.
    async fn attempt(&self, attempt: u32) -> Result<Option<Payloads>, Failure> {
        let Ok(_room) = self.shared.local_slots.acquire().await else {
            return Err(Failure::new("the worker has stopped"));
        };
        let LocalTask { name, input, start_to_close, .. } = &self.task;
        let Some(activity) = self.shared.registry.activity(name) else {
            return Err(unknown(&self.shared, name));
        };
        let (limit, kind) = self.limit(*start_to_close);
        let running = activity.run(self.context(attempt), input.clone());
        let ended = tokio::select! {
            biased;
            ended = caught(&self.shared, name, running) => ended,
            () = self.shared.clock.sleep(limit) => return Err(timed_out(kind)),
        };
        if self.line.take_writes().is_empty() {
            return ended;
        }
        Err(Failure::terminal("a local activity cannot write with its result"))
    }

    /// How long an attempt may take, and which limit that is.
    fn limit(&self, start_to_close: Option<Duration>) -> (Duration, TimeoutType) {
        let passed = self.time.now().since(of_system(self.task.scheduled_at));
        let left = self.task.schedule_to_close.map(|span| span.saturating_sub(passed));
        match (start_to_close, left) {
            (Some(span), Some(left)) if left < span => (left, TimeoutType::ScheduleToClose),
            (None, Some(left)) => (left, TimeoutType::ScheduleToClose),
            (span, _) => (span.unwrap_or(FOREVER).min(FOREVER), TimeoutType::StartToClose),
        }
    }

    fn context(&self, attempt: u32) -> ActivityContext {
        let LocalTask { name, activity_id, start_to_close, .. } = &self.task;
        let mut info = ActivityInfo::local(&self.shared.settings.namespace, &self.run);
        info.activity_type.clone_from(name);
        info.activity_id.clone_from(activity_id);
        info.workflow_type.clone_from(&self.workflow_type);
        info.attempt = attempt;
        info.start_to_close = *start_to_close;
        ActivityContext::new(info, Arc::clone(&self.line), self.shared.surroundings())
    }

    fn decide(&self, policy: &Policy, state: &State, failed: &Wire) -> Decision {
        let task = &self.task;
        let first = of_system(task.scheduled_at);
        let signals = Signals {
            cancel_requested: self.line.is_cancelled(),
            deadline: task.schedule_to_close.map(|span| first.after(span)),
            place: Place {
                activity: &task.name,
                task_queue: &self.shared.settings.task_queue,
                ..Place::default()
            },
            ..Signals::default()
        };
        let parts = [self.run.run_id.as_str(), &task.activity_id];
        let causes = failure::causes_of(failed);
        let view = retry::Failure { causes: &causes, ..failure::for_decision(failed) };
        decide(Some(policy), state, &view, &signals, self.time.now(), Seed::new(&parts))
    }

    fn given_up(&self, state: &State, failure: Wire, decision: &Decision) -> LocalEnd {
        let is_cancelled =
            matches!(failure.failure_info, Some(FailureInfo::CanceledFailureInfo(_)));
        if is_cancelled && self.line.is_cancelled() {
            return end(state, cancelled());
        }
        let retry_state = match decision {
            // There is nobody to whom it could be shown as parked.
            Decision::Park { .. } => RetryState::NonRetryableFailure,
            Decision::RetryAt { .. } | Decision::Exhausted { .. } | Decision::Fail { .. } => {
                let wire = failure::retry_state(decision.retry_state());
                RetryState::try_from(wire).unwrap_or_default()
            }
        };
        self.failed(state, failure, retry_state)
    }

    /// An end without a result, and why it was not tried again here.
    fn failed(&self, state: &State, cause: Wire, retry_state: RetryState) -> LocalEnd {
        let info = ActivityFailureInfo {
            identity: self.shared.settings.identity.clone(),
            activity_type: Some(steadfast_proto::common::ActivityType {
                name: self.task.name.clone(),
            }),
            activity_id: self.task.activity_id.clone(),
            retry_state: retry_state.into(),
            ..ActivityFailureInfo::default()
        };
        let failure = Wire {
            message: "activity failed".to_owned(),
            cause: Some(Box::new(cause)),
            failure_info: Some(FailureInfo::ActivityFailureInfo(info)),
            ..Wire::default()
        };
        end(state, Err(Box::new(failure)))
    }
}

fn end(state: &State, outcome: Outcome) -> LocalEnd {
    LocalEnd { attempt: state.attempt(), outcome, backoff: None }
}

fn cancelled() -> Outcome {
    Err(Box::new(Failure::cancelled(None).into_wire()))
}

fn timed_out(kind: TimeoutType) -> Failure {
    let info = TimeoutFailureInfo { timeout_type: kind.into(), ..TimeoutFailureInfo::default() };
    Failure::from_wire(Wire {
        message: "the local activity took too long".to_owned(),
        failure_info: Some(FailureInfo::TimeoutFailureInfo(info)),
        ..Wire::default()
    })
}
