//! The workflow task: the workflow's code is to be run.
//!
//! ```text
//!              something happened          a worker takes it
//!  (none) ────────────────────▶ Scheduled ─────────────────▶ Started ──▶ completed ──▶ (none)
//!    ▲                             │ sticky: nobody in time     │
//!    │                             ▼                            │ failed, or too slow
//!    │                          Scheduled on the normal queue   ▼
//!    └───────────────────────────────────────────────────── Scheduled, next attempt
//!                                                             (from the fourth on held back, and
//!                                                              parked where operators say so)
//! ```
//!
//! There is at most one. Its first attempt is in the history; later ones are *unwritten*: their
//! events have the ids that they would get, and are written only when one succeeds, so that a workflow
//! that fails a thousand times does not fill its history. So are those of a task that is there for
//! updates alone ([`speculation`]). While it is started, what happens outside is buffered.

use std::time::Duration;

use steadfast_proto::{
    enums::{self, WorkflowTaskFailedCause as FailedCause},
    failure::Failure,
    history::{self, HistoryEvent, history_event::Attributes},
    taskqueue,
};
use steadfast_retry::Timestamp;

use crate::{
    failure::of_lost_worker,
    input::{FailWorkflowTask, StartWorkflowTask, WorkflowTaskToken},
    limits::Limits,
    machine::{setback, speculation, task_park, terminate, update},
    refused::Refused,
    run::Run,
    span::{from_wire, instant_to_wire, to_wire},
    state::WorkflowTask,
    transition::Effect,
    tx::{Note, Tx},
};

/// Attempts that have nothing to wait for.
const AT_ONCE: u32 = 3;
const LONGEST_GROWTH: Duration = Duration::from_secs(600);
/// Who acts when it is the engine.
pub(crate) const ENGINE: &str = "history-service";

/// The workflow has to hear of what happens in this transition: see [`schedule_wanted`].
pub(crate) fn want(tx: &mut Tx<'_>) {
    tx.wants_task = true;
}

/// As [`want`], and a delayed start is not waited for.
pub(crate) fn want_now(tx: &mut Tx<'_>) {
    tx.run.state.backoff_until = 0;
    want(tx);
}

/// An update wants to be heard: see [`speculation`].
pub(crate) fn want_for_update(tx: &mut Tx<'_>) {
    let_go(tx);
    speculation::schedule(tx);
}

/// Schedules the workflow task that the transition wants, one for all that happened, unless there
/// is one or the first is not due yet. One that is held back goes out now: with what is new it may
/// do better.
pub(crate) fn schedule_wanted(tx: &mut Tx<'_>) {
    if tx.wants_task {
        let_go(tx);
        if tx.run.state.backoff_until == 0 {
            speculation::write(tx);
        }
    }
    let state = &tx.run.state;
    let may = state.is_open() && state.task.is_none() && state.backoff_until == 0;
    if std::mem::take(&mut tx.wants_task) && may {
        schedule(tx);
    }
}

/// Schedules a workflow task. What was buffered comes before it.
pub(crate) fn schedule(tx: &mut Tx<'_>) {
    if tx.flush() {
        tx.run.state.task_attempt = 1;
    }
    let attempt = tx.run.state.task_attempt.max(1);
    if attempt == 1 {
        let timeout = timeout(tx, attempt);
        let queue = tx.run.next_task_queue();
        tx.append(scheduled(queue, timeout, attempt));
    } else {
        put_unwritten(tx, attempt);
    }
    task_park::keep_if_parked(tx);
    tx.effect(Effect::WorkflowTaskReady);
}

/// A task whose events are not written yet.
pub(crate) fn put_unwritten(tx: &mut Tx<'_>, attempt: u32) {
    tx.run.state.task = Some(WorkflowTask {
        scheduled_event_id: tx.run.state.next_event_id,
        attempt,
        scheduled_at: tx.now.0,
        original_scheduled_at: tx.now.0,
        timeout: nanos(timeout(tx, attempt)),
        ..WorkflowTask::default()
    });
}

/// A worker takes the task.
pub(crate) fn start(tx: &mut Tx<'_>, input: StartWorkflowTask) -> Result<(), Refused> {
    let task = tx.run.state.task.as_ref().ok_or(Refused::TaskNotFound)?;
    if task.is_started() && !input.request_id.is_empty() && task.request_id == input.request_id {
        return Ok(());
    }
    let is_offered = task.is_offered()
        && task.scheduled_event_id == input.scheduled_event_id
        && task.attempt == input.attempt
        && is_polled(tx.run, input.sticky_queue.as_deref());
    if !is_offered {
        return Err(Refused::TaskNotFound);
    }
    if input.sticky_queue.is_none() {
        tx.run.state.sticky = None;
    }
    renew_if_overtaken(tx);
    let nonce = tx.entropy.nonce();
    let Some(task) = &mut tx.run.state.task else { return Err(Refused::TaskNotFound) };
    task.identity = input.identity;
    task.request_id = input.request_id;
    task.process = input.process;
    task.nonce = nonce;
    if task.is_unwritten() {
        task.started_event_id = task.scheduled_event_id + 1;
        task.started_at = tx.now.0;
    } else {
        let started = started(tx.run, tx.limits);
        tx.append(started);
    }
    update::send(tx);
    Ok(())
}

/// The task that `token` names, if it is the one under way.
pub(crate) fn under_way<'a>(
    run: &'a Run,
    token: &WorkflowTaskToken,
) -> Result<&'a WorkflowTask, Refused> {
    let task = run.state.task.as_ref().ok_or(Refused::TaskNotFound)?;
    let same = task.is_started()
        && task.scheduled_event_id == token.scheduled_event_id
        && task.started_event_id == token.started_event_id
        && task.attempt == token.attempt
        && task.nonce == token.nonce;
    same.then_some(task).ok_or(Refused::TaskNotFound)
}

/// Writes the events of an unwritten task, as far as it has come.
pub(crate) fn write_unwritten(tx: &mut Tx<'_>) {
    let task = tx.run.state.task.as_ref();
    let Some(task) = task.filter(|task| task.is_unwritten()).cloned() else { return };
    let [scheduled, started] = unwritten_attributes(tx.run, &task, tx.limits);
    let id = tx.append_at(Timestamp(task.scheduled_at), scheduled, Note::default());
    if task.is_started() {
        tx.append_at(Timestamp(task.started_at), started, Note::default());
    }
    // Whoever has it goes on with it.
    tx.run.state.task = Some(WorkflowTask { scheduled_event_id: id, speculative: false, ..task });
}

/// The events that an unwritten task would have: a worker must see them at the end of the history.
pub(crate) fn unwritten_events(run: &Run, limits: &Limits) -> Vec<HistoryEvent> {
    let Some(task) = run.state.task.as_ref().filter(|task| task.is_unwritten()) else {
        return Vec::new();
    };
    let [scheduled, started] = unwritten_attributes(run, task, limits);
    let event = |id, at, attributes: Attributes| HistoryEvent {
        event_id: id,
        event_time: Some(instant_to_wire(Timestamp(at))),
        event_type: attributes.event_type().into(),
        task_id: id,
        attributes: Some(attributes),
        ..HistoryEvent::default()
    };
    vec![
        event(task.scheduled_event_id, task.scheduled_at, scheduled),
        event(task.scheduled_event_id + 1, task.started_at, started),
    ]
}

/// A worker reports that it could not do the task.
pub(crate) fn report_failure(tx: &mut Tx<'_>, input: FailWorkflowTask) -> Result<(), Refused> {
    under_way(tx.run, &input.token)?;
    if input.cause == FailedCause::GrpcMessageTooLarge {
        terminate::by_engine(tx, "GrpcMessageTooLarge");
        return Ok(());
    }
    fail(tx, input.cause, input.failure, &input.identity, &input.binary_checksum);
    // A task that was on its way to a poll that had gone is nobody's failure.
    if input.cause != FailedCause::ResetStickyTaskQueue {
        hold_back(tx);
    }
    Ok(())
}

/// The worker that has the task was inside a process before this one: another one may have it at
/// once. If that goes on, what the task does may be what ends the process, and it has to wait.
pub(crate) fn take_back(tx: &mut Tx<'_>, process: u64) {
    let task = tx.run.state.task.as_ref();
    if task.is_some_and(|task| task.is_held_within() && task.process < process) {
        let cause = FailedCause::ResetStickyTaskQueue;
        fail(tx, cause, Some(of_lost_worker()), ENGINE, "");
        hold_back(tx);
    }
}

/// Ends the task badly and schedules the next attempt.
pub(crate) fn fail(
    tx: &mut Tx<'_>,
    cause: FailedCause,
    failure: Option<Failure>,
    identity: &str,
    binary_checksum: &str,
) {
    write_failed(tx, cause, failure, identity, binary_checksum);
    schedule(tx);
}

/// Ends the task because the run closes, if a worker has it; what was buffered is kept.
pub(crate) fn end_for_close(tx: &mut Tx<'_>) {
    if tx.run.task_is_started() {
        write_failed(tx, FailedCause::ForceCloseCommand, None, ENGINE, "");
    }
    tx.run.state.task = None;
    tx.flush();
}

/// A worker that reports its failures at once would be given the next attempt at once, for ever. From
/// the fourth on it has to wait, longer each time.
fn hold_back(tx: &mut Tx<'_>) {
    let now = tx.now;
    if let Some(task) = &mut tx.run.state.task
        && task.attempt > AT_ONCE
        && task.is_offered()
    {
        task.held_until = now.after(growth(task.attempt)).0;
    }
}

/// The task is not held back any longer.
fn let_go(tx: &mut Tx<'_>) {
    let now = tx.now;
    if let Some(task) =
        tx.run.state.task.as_mut().filter(|task| task.held_until != 0 && !task.parked)
    {
        task.held_until = 0;
        task.scheduled_at = now.0;
        tx.effect(Effect::WorkflowTaskReady);
    }
}

/// The task's time is over.
pub(crate) fn time_out(tx: &mut Tx<'_>) {
    speculation::write(tx);
    let Some(task) = tx.run.state.task.clone() else { return };
    if task.held_until != 0 {
        return let_go(tx);
    }
    if task.is_started() {
        setback::task_timed_out(tx, &task);
        if !task.is_unwritten() {
            tx.append(timed_out(&task, enums::TimeoutType::StartToClose));
        }
        next_attempt(tx, &task);
    } else {
        tx.append(timed_out(&task, enums::TimeoutType::ScheduleToStart));
        tx.run.state.sticky = None;
    }
    tx.run.state.task = None;
    schedule(tx);
}

/// The first task of a delayed run is due.
pub(crate) fn backoff_is_over(tx: &mut Tx<'_>) {
    tx.run.state.backoff_until = 0;
    want(tx);
}

/// Takes the run off the worker that has it in its cache.
pub(crate) fn reset_sticky(tx: &mut Tx<'_>) {
    tx.run.state.sticky = None;
    if let Some(task) = &mut tx.run.state.task
        && task.sticky
        && !task.is_started()
    {
        task.sticky = false;
        tx.effect(Effect::WorkflowTaskReady);
    }
}

/// Ends the task badly.
pub(crate) fn write_failed(
    tx: &mut Tx<'_>,
    cause: FailedCause,
    failure: Option<Failure>,
    identity: &str,
    binary_checksum: &str,
) {
    speculation::write(tx);
    let Some(task) = tx.run.state.task.clone() else { return };
    setback::task_failed(tx, &task, cause, failure.as_ref());
    if !task.is_unwritten() {
        #[expect(deprecated, reason = "older workers still tell their checksum")]
        let event = history::WorkflowTaskFailedEventAttributes {
            scheduled_event_id: task.scheduled_event_id,
            started_event_id: task.started_event_id,
            cause: cause.into(),
            failure,
            identity: identity.to_owned(),
            binary_checksum: binary_checksum.to_owned(),
            ..history::WorkflowTaskFailedEventAttributes::default()
        };
        tx.append(event);
    }
    tx.run.state.task = None;
    next_attempt(tx, &task);
}

/// A worker that had the run in its cache may have been the cause: the first failure there only
/// costs it the cache.
fn next_attempt(tx: &mut Tx<'_>, failed: &WorkflowTask) {
    let was_sticky = tx.run.state.sticky.take().is_some();
    tx.run.state.task_attempt = if was_sticky { 1 } else { failed.attempt.saturating_add(1) };
    tx.run.state.closing = false;
    update::take_back(tx);
}

/// An unwritten task that events have overtaken becomes a normal one, behind them.
fn renew_if_overtaken(tx: &mut Tx<'_>) {
    let Some(task) = tx.run.state.task.clone() else { return };
    if !task.is_unwritten() || task.scheduled_event_id == tx.run.state.next_event_id {
        return;
    }
    tx.run.state.task_attempt = 1;
    let timeout = timeout(tx, 1);
    let queue = tx.run.next_task_queue();
    tx.append(scheduled(queue, timeout, 1));
    if let Some(renewed) = &mut tx.run.state.task {
        renewed.original_scheduled_at = task.original_scheduled_at;
    }
}

/// Whether whoever polled that queue may have the task.
fn is_polled(run: &Run, sticky_queue: Option<&str>) -> bool {
    let sticky = run.state.sticky.as_ref();
    sticky_queue.is_none_or(|polled| sticky.is_some_and(|sticky| sticky.queue == polled))
}

/// How long the task may take. Those that fail again and again get more, which spaces them out:
/// a worker does not report the failure of a repetition, it lets it time out.
fn timeout(tx: &mut Tx<'_>, attempt: u32) -> Duration {
    let limit = match from_wire(tx.run.started.workflow_task_timeout.as_ref()) {
        Duration::ZERO => tx.limits.task_timeout,
        given => given,
    };
    if attempt <= AT_ONCE {
        return limit;
    }
    let all = limit.saturating_add(growth(attempt)).min(LONGEST_GROWTH.max(limit));
    let spread = u32::try_from(tx.entropy.nonce() % 200).unwrap_or_default();
    all * (1_000 - spread) / 1_000
}

/// 5 s with the first attempt that is not at once, and twice as much with each one after it.
fn growth(attempt: u32) -> Duration {
    let doublings = attempt.saturating_sub(AT_ONCE + 1).min(7);
    Duration::from_secs(5).saturating_mul(1 << doublings).min(LONGEST_GROWTH)
}

fn unwritten_attributes(run: &Run, task: &WorkflowTask, limits: &Limits) -> [Attributes; 2] {
    let timeout = Duration::from_nanos(u64::try_from(task.timeout).unwrap_or_default());
    let scheduled = scheduled(run.next_task_queue(), timeout, task.attempt);
    let mut started = started(run, limits);
    started.scheduled_event_id = task.scheduled_event_id;
    [scheduled.into(), started.into()]
}

fn scheduled(
    task_queue: taskqueue::TaskQueue,
    timeout: Duration,
    attempt: u32,
) -> history::WorkflowTaskScheduledEventAttributes {
    history::WorkflowTaskScheduledEventAttributes {
        task_queue: Some(task_queue),
        start_to_close_timeout: to_wire(timeout),
        attempt: i32::try_from(attempt).unwrap_or(i32::MAX),
    }
}

fn started(run: &Run, limits: &Limits) -> history::WorkflowTaskStartedEventAttributes {
    let task = run.state.task.clone().unwrap_or_default();
    let reasons = reasons_to_continue_as_new(run, limits);
    history::WorkflowTaskStartedEventAttributes {
        scheduled_event_id: task.scheduled_event_id,
        identity: task.identity,
        request_id: task.request_id,
        suggest_continue_as_new: !reasons.is_empty(),
        suggest_continue_as_new_reasons: reasons.into_iter().map(Into::into).collect(),
        history_size_bytes: run.state.history_bytes,
        ..history::WorkflowTaskStartedEventAttributes::default()
    }
}

fn reasons_to_continue_as_new(
    run: &Run,
    limits: &Limits,
) -> Vec<enums::SuggestContinueAsNewReason> {
    use enums::SuggestContinueAsNewReason as Reason;
    let big = run.state.history_bytes >= limits.history_bytes_suggest;
    let long = run.last_event_id() >= limits.history_events_suggest;
    let updated = run.updates.len() * 10 >= limits.updates_max * 9;
    let all = [
        (big, Reason::HistorySizeTooLarge),
        (long, Reason::TooManyHistoryEvents),
        (updated, Reason::TooManyUpdates),
    ];
    all.into_iter().filter_map(|(holds, reason)| holds.then_some(reason)).collect()
}

fn timed_out(
    task: &WorkflowTask,
    kind: enums::TimeoutType,
) -> history::WorkflowTaskTimedOutEventAttributes {
    history::WorkflowTaskTimedOutEventAttributes {
        scheduled_event_id: task.scheduled_event_id,
        started_event_id: task.started_event_id,
        timeout_type: kind.into(),
    }
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}
