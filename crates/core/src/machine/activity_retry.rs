//! What becomes of an activity whose attempt failed or took too long.
//!
//! Whether it is tried again is said by [`activity_policy`]; this file carries it out.

use steadfast_proto::{
    enums,
    failure::{Failure, failure::FailureInfo},
    history,
};
use steadfast_retry::{Decision, Reason, Timestamp};

use crate::{
    deadline::ActivityDeadline,
    failure::{caused_by, of_lost_worker, of_server, of_timeout, retry_state, shortened},
    input::{FailActivity, Heartbeat},
    machine::{
        activity::{self, close, log},
        activity_policy::{self, Ended, Verdict},
    },
    refused::Refused,
    size,
    state::Activity,
    transition::{AttemptOutcome, Effect},
    tx::Tx,
};

/// The message when there is no time left for another attempt.
const NO_TIME: &str = "Not enough time to schedule next retry before activity ScheduleToClose \
                       timeout, giving up retrying";

/// A worker reports that it could not do it.
pub(crate) fn report_failure(tx: &mut Tx<'_>, input: FailActivity) -> Result<(), Refused> {
    let id = activity::under_way(tx.run, &input.token)?;
    if input.last_heartbeat_details.is_some() {
        let beat = Heartbeat { token: input.token, details: input.last_heartbeat_details };
        activity::heartbeat(tx, beat)?;
    }
    let failure = input.failure.unwrap_or_else(|| of_server("activity failed", false));
    attempt_failed(tx, id, failure, &input.identity);
    Ok(())
}

/// The workers inside the processes before this one are gone, and with them the attempts that they
/// were at. Each counts: it was begun, and may have done all of its work.
pub(crate) fn take_back(tx: &mut Tx<'_>, process: u64) {
    let held: Vec<i64> = tx.run.activities_held_within().collect();
    for id in held {
        let Some(activity) = tx.run.activities.get(&id) else { continue };
        if activity.row.process < process {
            let identity = activity.row.identity.clone();
            attempt_failed(tx, id, of_lost_worker(), &identity);
        }
    }
}

/// An attempt has failed: there is another one, or the activity fails with it.
fn attempt_failed(tx: &mut Tx<'_>, id: i64, failure: Failure, identity: &str) {
    // The decision sees what failed, not what is left of it.
    let Some(verdict) = activity_policy::ask(tx, id, &failure) else { return };
    let failure = if size::of(Some(&failure)) > tx.limits.blob_bytes_max {
        shortened(failure, tx.limits.last_failure_bytes_max)
    } else {
        failure
    };
    if !goes_on(tx, id, &verdict, &failure, AttemptOutcome::Failed) {
        write_failed(tx, id, failure, retry_state(verdict.decision.retry_state()), identity);
    }
}

/// What the worker sent is too large to be kept: the activity fails, and is not tried again.
pub(crate) fn too_large(tx: &mut Tx<'_>, id: i64, what: &str, identity: &str) {
    let failure = of_server(what, true);
    let state = enums::RetryState::NonRetryableFailure.into();
    if let Some(activity) = tx.run.activities.get(&id) {
        let attempt = log(tx, activity, AttemptOutcome::Failed(failure.clone()));
        tx.out.attempts.push(attempt);
    }
    write_failed(tx, id, failure, state, identity);
}

/// One of its deadlines has come.
pub(crate) fn due(tx: &mut Tx<'_>, id: i64) {
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let Some((at, what)) = activity.deadline() else { return };
    if at > tx.now {
        return;
    }
    match what {
        ActivityDeadline::Retry => {
            enqueue(tx, id);
            // Nobody may have looked for so long that more of its deadlines have passed.
            due(tx, id);
        }
        ActivityDeadline::StartToClose => {
            attempt_timed_out(tx, id, enums::TimeoutType::StartToClose);
        }
        ActivityDeadline::Heartbeat => attempt_timed_out(tx, id, enums::TimeoutType::Heartbeat),
        ActivityDeadline::ScheduleToStart => {
            let failure = timeout(
                activity,
                enums::TimeoutType::ScheduleToStart,
                "activity ScheduleToStart timeout",
            );
            write_timed_out(tx, id, failure, enums::RetryState::Timeout.into());
        }
        ActivityDeadline::ScheduleToClose => {
            let failure = timeout(activity, enums::TimeoutType::ScheduleToClose, NO_TIME);
            if activity.is_started() {
                let attempt = log(tx, activity, AttemptOutcome::TimedOut(failure.clone()));
                tx.out.attempts.push(attempt);
            }
            write_timed_out(tx, id, failure, enums::RetryState::Timeout.into());
        }
    }
}

/// Puts the next attempt on its queue.
pub(crate) fn enqueue(tx: &mut Tx<'_>, id: i64) {
    if let Some(activity) = tx.run.activities.get_mut(&id) {
        activity.row.queued = true;
        tx.effect(Effect::ActivityReady { scheduled_event_id: id, eager: false });
    }
}

fn attempt_timed_out(tx: &mut Tx<'_>, id: i64, kind: enums::TimeoutType) {
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let message = if kind == enums::TimeoutType::Heartbeat {
        "activity Heartbeat timeout"
    } else {
        "activity StartToClose timeout"
    };
    let details = activity.row.heartbeat_details.clone();
    let failure = of_timeout(kind, message, details);
    let Some(verdict) = activity_policy::ask(tx, id, &failure) else { return };
    if goes_on(tx, id, &verdict, &failure, AttemptOutcome::TimedOut) {
        return;
    }
    let state = retry_state(verdict.decision.retry_state());
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let last = if matches!(verdict.decision.why().reason, Reason::Deadline { .. }) {
        timeout(activity, enums::TimeoutType::ScheduleToClose, NO_TIME)
    } else {
        timeout(activity, kind, message)
    };
    write_timed_out(tx, id, last, state);
}

/// A paused activity may go on: says when its next attempt is due, by its policy and counted from
/// when the last one ended. If there is to be none, it has ended with this.
pub(crate) fn go_on(tx: &mut Tx<'_>, id: i64) -> Option<Timestamp> {
    let row = &tx.run.activities.get(&id)?.row;
    let Some(failure) = row.last_failure.clone().filter(|_| row.attempt > 1) else {
        return Some(tx.now);
    };
    let verdict = activity_policy::ask_about(tx, id, &failure, &Ended::before(row))?;
    if let Some(at) = verdict.decision.retry_at() {
        tx.run.activities.get_mut(&id)?.row.counted = verdict.after;
        return Some(at.max(tx.now));
    }
    end_after_pause(tx, id, failure, retry_state(verdict.decision.retry_state()));
    None
}

/// The history tells of the last attempt that there was.
fn end_after_pause(tx: &mut Tx<'_>, id: i64, failure: Failure, retry_state: i32) {
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    let row = &mut activity.row;
    row.attempt -= 1;
    row.started_at = row.last_started_at;
    row.last_failure = None;
    let identity = row.identity.clone();
    if matches!(failure.failure_info, Some(FailureInfo::TimeoutFailureInfo(_))) {
        write_timed_out(tx, id, failure, retry_state);
    } else {
        write_failed(tx, id, failure, retry_state, &identity);
    }
}

/// Logs the attempt and, if there is to be another one, prepares it. Says whether there is.
fn goes_on(
    tx: &mut Tx<'_>,
    id: i64,
    verdict: &Verdict,
    failure: &Failure,
    outcome: fn(Failure) -> AttemptOutcome,
) -> bool {
    let decision = verdict.decision;
    let next = match decision {
        Decision::RetryAt { at, .. } => Some(at),
        Decision::Park { until, .. } => Some(until.unwrap_or(tx.now)),
        Decision::Exhausted { .. } | Decision::Fail { .. } => None,
    };
    if let Some(activity) = tx.run.activities.get(&id) {
        let mut attempt = log(tx, activity, outcome(failure.clone()));
        attempt.why = decision.to_string();
        attempt.next_at = decision.retry_at();
        tx.out.attempts.push(attempt);
    }
    if let Some(at) = next {
        if let Some(activity) = tx.run.activities.get_mut(&id) {
            activity.row.counted_before.clone_from(&verdict.before);
            activity.row.counted.clone_from(&verdict.after);
        }
        prepare_next(tx, id, failure.clone(), at);
    }
    next.is_some()
}

/// The next attempt knows why the one before failed and how far it had come.
fn prepare_next(tx: &mut Tx<'_>, id: i64, failure: Failure, at: Timestamp) {
    let (now, bytes_max) = (tx.now, tx.limits.last_failure_bytes_max);
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    let row = &mut activity.row;
    row.attempt = if row.reset { 2 } else { row.attempt.saturating_add(1) };
    activity::start_over(row);
    row.last_failure = Some(shortened(failure, bytes_max));
    row.last_ended_at = now.0;
    row.last_started_at = row.started_at;
    row.started_at = 0;
    row.nonce = 0;
    row.request_id.clear();
    row.process = 0;
    row.scheduled_at = at.0;
    row.queued = false;
    if at <= now && !activity.is_paused() {
        enqueue(tx, id);
    }
}

/// A timeout that ends the activity: it carries the last heartbeat and the last real failure.
fn timeout(activity: &Activity, kind: enums::TimeoutType, message: &str) -> Failure {
    let failure = of_timeout(kind, message, activity.row.heartbeat_details.clone());
    caused_by(failure, activity.row.last_failure.clone())
}

fn write_failed(tx: &mut Tx<'_>, id: i64, failure: Failure, retry_state: i32, identity: &str) {
    let identity = identity.to_owned();
    close(tx, id, |started_event_id| {
        history::ActivityTaskFailedEventAttributes {
            failure: Some(failure),
            scheduled_event_id: id,
            started_event_id,
            identity,
            retry_state,
            ..history::ActivityTaskFailedEventAttributes::default()
        }
        .into()
    });
}

fn write_timed_out(tx: &mut Tx<'_>, id: i64, failure: Failure, retry_state: i32) {
    close(tx, id, |started_event_id| {
        history::ActivityTaskTimedOutEventAttributes {
            failure: Some(failure),
            scheduled_event_id: id,
            started_event_id,
            retry_state,
        }
        .into()
    });
}
