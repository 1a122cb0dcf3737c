//! What becomes of an activity whose attempt failed or took too long.
//!
//! Whether it is tried again is said by [`activity_policy`], what becomes of it by
//! [`activity_fate`]; this file carries it out.

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
        activity_fate::{self, Fate, OUT_OF_TIME},
        activity_park,
        activity_policy::{self, Asked, Ended, Verdict},
    },
    parked::Park,
    refused::Refused,
    size,
    state::{Activity, ActivityRow},
    transition::{Attempt, AttemptOutcome, Effect},
    tx::Tx,
};

/// The message when there is no time left for another attempt.
const NO_SIGN_OF_LIFE: &str = "activity Heartbeat timeout: no sign of life from its worker";
const NO_TIME: &str = "Not enough time to schedule next retry before activity ScheduleToClose \
                       timeout, giving up retrying";

/// A worker reports that it could not do it.
pub(crate) fn report_failure(tx: &mut Tx<'_>, input: FailActivity) -> Result<(), Refused> {
    let id = activity::under_way(tx.run, &input.token)?;
    if input.last_heartbeat_details.is_some() {
        let details = input.last_heartbeat_details;
        let beat = Heartbeat { token: input.token, details, leaves: false };
        activity::heartbeat(tx, beat)?;
    }
    let failure = input.failure.unwrap_or_else(|| of_server("activity failed", false));
    if let Some(activity) = tx.run.activities.get_mut(&id) {
        activity.row.suspicion = None;
    }
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
            suspect(tx, id);
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
    let state = retry_state(verdict.decision.retry_state());
    if !goes_on(tx, id, verdict, &failure, AttemptOutcome::Failed) {
        write_failed(tx, id, failure, state, identity);
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
        ActivityDeadline::Heartbeat if activity.silent_since() < tx.company.listened_to_since() => {
            listen_again(tx, id);
            due(tx, id);
        }
        ActivityDeadline::Heartbeat => attempt_timed_out(tx, id, enums::TimeoutType::Heartbeat),
        ActivityDeadline::ScheduleToStart => {
            let kind = enums::TimeoutType::ScheduleToStart;
            let failure = timeout(activity, kind, "activity ScheduleToStart timeout");
            ran_out_of_time(tx, id, failure);
        }
        ActivityDeadline::ScheduleToClose => {
            let failure = timeout(activity, enums::TimeoutType::ScheduleToClose, NO_TIME);
            ran_out_of_time(tx, id, failure);
        }
        ActivityDeadline::Resume => {
            activity_park::resume_by_policy(tx, id);
            due(tx, id);
        }
        ActivityDeadline::Expire => activity_park::expire(tx, id),
    }
}

/// Its heartbeat was due when nobody listened. The worker may be well and at it: it has as long as
/// ever to be heard.
fn listen_again(tx: &mut Tx<'_>, id: i64) {
    let since = tx.company.listened_to_since().0;
    if let Some(activity) = tx.run.activities.get_mut(&id) {
        activity.row.listened_to_since = since;
    }
}

/// A clock ran out that spans the attempts: no policy is asked.
fn ran_out_of_time(tx: &mut Tx<'_>, id: i64, failure: Failure) {
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let fate = activity_fate::of(tx, activity, &OUT_OF_TIME, &failure);
    let words = fate.words(&OUT_OF_TIME);
    if activity.is_started() {
        let mut attempt = log(tx, activity, AttemptOutcome::TimedOut(failure.clone()));
        attempt.why.clone_from(&words);
        tell(tx, &mut attempt, &fate, &OUT_OF_TIME);
        tx.out.attempts.push(attempt);
    }
    match fate {
        Fate::Parks(park) => return set_aside(tx, id, failure, park, words),
        Fate::Dies => activity_fate::bury(tx, id, &failure, words),
        Fate::Fails | Fate::Again(_) => {}
    }
    write_timed_out(tx, id, failure, enums::RetryState::Timeout.into());
}

/// Keeps for a resume what no worker has, or what a worker is too late with.
fn set_aside(tx: &mut Tx<'_>, id: i64, failure: Failure, park: Park, words: String) {
    let is_started = tx.run.activities.get(&id).is_some_and(Activity::is_started);
    if is_started {
        return prepare_next(tx, id, failure, Next { at: tx.now, park: Some(park), words });
    }
    let (now, bytes_max) = (tx.now.0, tx.limits.last_failure_bytes_max);
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    let row = &mut activity.row;
    row.last_failure = Some(shortened(failure, bytes_max));
    row.last_ended_at = now;
    row.queued = false;
    row.stamp += 1;
    remember_failure(row, now, words);
    row.acknowledged = None;
    row.park = Some(park);
}

/// Puts the next attempt on its queue.
pub(crate) fn enqueue(tx: &mut Tx<'_>, id: i64) {
    if let Some(activity) = tx.run.activities.get_mut(&id) {
        activity.row.queued = true;
        tx.effect(Effect::ActivityReady { scheduled_event_id: id, eager: false });
    }
}

fn attempt_timed_out(tx: &mut Tx<'_>, id: i64, kind: enums::TimeoutType) {
    let is_spoken_for = tx.run.activities.get(&id).is_some_and(Activity::is_spoken_for);
    let message = if kind != enums::TimeoutType::Heartbeat {
        "activity StartToClose timeout"
    } else if is_spoken_for {
        NO_SIGN_OF_LIFE
    } else {
        "activity Heartbeat timeout"
    };
    // What the attempt said last goes to the next one; the workflow hears it if there is none.
    let failure = of_timeout(kind, message, None);
    if is_lost(tx, id, kind) {
        suspect(tx, id);
    }
    let Some(verdict) = activity_policy::ask(tx, id, &failure) else { return };
    let decision = verdict.decision;
    if goes_on(tx, id, verdict, &failure, AttemptOutcome::TimedOut) {
        return;
    }
    let state = retry_state(decision.retry_state());
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let last = if matches!(decision.why().reason, Reason::Deadline { .. }) {
        timeout(activity, enums::TimeoutType::ScheduleToClose, NO_TIME)
    } else {
        timeout(activity, kind, message)
    };
    write_timed_out(tx, id, last, state);
}

/// Whether an attempt that took too long has lost its worker. One that sends heartbeats is lost when
/// they stop; without them it counts what else is known of the worker. If that is well, so far is the
/// activity: it is slow, and ends nobody.
fn is_lost(tx: &mut Tx<'_>, id: i64, kind: enums::TimeoutType) -> bool {
    if kind == enums::TimeoutType::Heartbeat {
        return true;
    }
    let Some(activity) = tx.run.activities.get_mut(&id) else { return false };
    let beats = !activity.heard_within().is_zero();
    let is_well = if beats { Some(true) } else { tx.company.is_well(id) };
    if is_well == Some(true) {
        activity.row.suspicion = None;
    }
    is_well == Some(false)
}

/// A worker was never heard of again: all that it had in hand may have been the cause.
fn suspect(tx: &mut Tx<'_>, id: i64) {
    let known = tx.company.tenants(id);
    if let Some(activity) = tx.run.activities.get_mut(&id) {
        let tenants = known.unwrap_or(activity.row.company);
        let worker = activity.row.identity.clone();
        activity.row.suspicion.get_or_insert_default().count(&worker, tenants);
    }
}

/// A paused activity may go on: says when its next attempt is due, by its policy and counted from
/// when the last one ended. If there is to be none, it has ended with this, or is parked.
pub(crate) fn go_on(tx: &mut Tx<'_>, id: i64) -> Option<Timestamp> {
    let row = &tx.run.activities.get(&id)?.row;
    if row.granted {
        return Some(Timestamp(row.scheduled_at).max(tx.now));
    }
    let Some(failure) = row.last_failure.clone().filter(|_| row.attempt > 1) else {
        return Some(tx.now);
    };
    let verdict = activity_policy::ask_about(tx, id, &failure, &Ended::before(row))?;
    let activity = tx.run.activities.get(&id)?;
    let fate = activity_fate::of(tx, activity, &verdict.decision, &failure);
    let words = fate.words(&verdict.decision);
    let row = &mut tx.run.activities.get_mut(&id)?.row;
    match fate {
        Fate::Again(at) => {
            row.counted = verdict.after;
            return Some(at.max(tx.now));
        }
        Fate::Parks(park) => {
            row.counted = verdict.after;
            row.stamp += 1;
            row.queued = false;
            row.words = words;
            row.park = Some(park);
            return None;
        }
        Fate::Dies => activity_fate::bury(tx, id, &failure, words),
        Fate::Fails => {}
    }
    end_while_waiting(tx, id, failure, retry_state(verdict.decision.retry_state()));
    None
}

/// Ends an activity that no worker has. The history tells of the last attempt that there was.
pub(crate) fn end_while_waiting(tx: &mut Tx<'_>, id: i64, failure: Failure, retry_state: i32) {
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    let row = &mut activity.row;
    if row.attempt > 1 && row.last_started_at != 0 {
        row.attempt -= 1;
        row.started_at = row.last_started_at;
    }
    row.last_failure = None;
    let identity = row.identity.clone();
    if matches!(failure.failure_info, Some(FailureInfo::TimeoutFailureInfo(_))) {
        write_timed_out(tx, id, failure, retry_state);
    } else {
        write_failed(tx, id, failure, retry_state, &identity);
    }
}

/// Logs the attempt and does with the activity what is to become of it, unless it fails. Says
/// whether it is still there.
fn goes_on(
    tx: &mut Tx<'_>,
    id: i64,
    verdict: Verdict,
    failure: &Failure,
    outcome: fn(Failure) -> AttemptOutcome,
) -> bool {
    let Some(activity) = tx.run.activities.get(&id) else { return false };
    let decision = verdict.decision;
    let fate = activity_fate::of(tx, activity, &decision, failure);
    let words = fate.words(&decision);
    let mut attempt = log(tx, activity, outcome(failure.clone()));
    attempt.why.clone_from(&words);
    let Asked { rule, layer, policy, class } = verdict.asked;
    attempt = Attempt { rule, layer, policy, class, ..attempt };
    tell(tx, &mut attempt, &fate, &decision);
    tx.out.attempts.push(attempt);
    let (at, park) = match fate {
        Fate::Again(at) => (at, None),
        Fate::Parks(park) => (tx.now, Some(park)),
        Fate::Dies => {
            activity_fate::bury(tx, id, failure, words);
            return false;
        }
        Fate::Fails => return false,
    };
    if let Some(activity) = tx.run.activities.get_mut(&id) {
        activity.row.counted_before = verdict.before;
        activity.row.counted = verdict.after;
    }
    prepare_next(tx, id, failure.clone(), Next { at, park, words });
    true
}

/// Completes the log of an attempt with what comes next, and who says so.
fn tell(tx: &Tx<'_>, attempt: &mut Attempt, fate: &Fate, decision: &Decision) {
    attempt.next_at = fate.next_at();
    attempt.delay = attempt.next_at.map(|at| at.since(tx.now));
    attempt.parked = matches!(fate, Fate::Parks(_));
    attempt.source = match (fate, decision.why().reason) {
        (Fate::Dies | Fate::Fails, _) => "",
        (_, Reason::Paused) => "operator",
        (_, Reason::NextDelay) => "next_delay",
        (_, Reason::RetryAfter | Reason::HintTooFar) => "retry_after",
        (_, Reason::BreakerOpen) => "breaker",
        (_, Reason::BudgetSpent) => "budget",
        (Fate::Again(_), _) => "backoff",
        (Fate::Parks(park), _) if park.resume_at != 0 => "resume",
        (Fate::Parks(_), _) => "park",
    };
}

/// What comes after an attempt that has ended badly.
struct Next {
    at: Timestamp,
    park: Option<Park>,
    words: String,
}

/// The next attempt knows why the one before failed and how far it had come.
fn prepare_next(tx: &mut Tx<'_>, id: i64, failure: Failure, next: Next) {
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
    row.silence_max = 0;
    row.scheduled_at = next.at.0;
    row.queued = false;
    remember_failure(row, now.0, next.words);
    if next.park.is_some() {
        // Whoever has taken note of it knew nothing of this.
        row.acknowledged = None;
        row.park = next.park;
    }
    if next.at <= now && !activity.is_held_back() {
        enqueue(tx, id);
    }
}

/// What is told of a failure, and what was meant for one attempt only, is over with it.
fn remember_failure(row: &mut ActivityRow, now: i64, words: String) {
    if row.first_failed_at == 0 {
        row.first_failed_at = now;
    }
    row.words = words;
    row.granted = false;
    row.next_only = None;
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
