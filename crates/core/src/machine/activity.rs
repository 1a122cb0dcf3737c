//! An activity: work that a worker does outside the workflow's code.
//!
//! ```text
//!             scheduled                  a worker takes it            completed, cancelled
//!  (absent) ────────────▶ Queued ─────────────────────────▶ Started ────────────────────▶ (absent)
//!                           ▲ │ ▲       the poll has gone       │ failed, too slow, gone quiet
//!                      due  │ │ └─────────────────────────────┤
//!                           │ │                               ▼
//!                         Backing off ◀──────────────── decide: again? ──▶ failed ──▶ (absent)
//!                             │                               │
//!                             └──────────── paused ───────────┘
//! ```
//!
//! Attempts are not in the history: it gets the scheduled event at once, and the started event
//! together with the end, however many attempts there were. A start is named by a nonce; an answer
//! that names another one comes from a worker that the run no longer waits for, and is refused.

use steadfast_proto::{history, history::history_event::Attributes};
use steadfast_retry::Timestamp;

use crate::{
    input::{ActivityToken, CancelActivity, CompleteActivity, Heartbeat, StartActivity},
    machine::{activity_retry, workflow_task},
    refused::Refused,
    run::Run,
    size,
    span::nanos,
    state::{Activity, ActivityRow},
    transition::{Attempt, AttemptOutcome, Effect, EndedActivity},
    tx::{Note, Tx},
};

/// A worker takes the activity. From here on this attempt may have been seen.
pub(crate) fn start(tx: &mut Tx<'_>, input: StartActivity) -> Result<(), Refused> {
    let nonce = tx.entropy.nonce();
    let id = input.scheduled_event_id;
    let activity = tx.run.activities.get(&id).ok_or(Refused::ActivityNotFound)?;
    let row = &activity.row;
    let is_meant = row.attempt == input.attempt && row.stamp == input.stamp;
    let is_repeated =
        activity.is_started() && !input.request_id.is_empty() && row.request_id == input.request_id;
    if is_meant && is_repeated {
        return Ok(());
    }
    if !is_meant || !activity.is_offered() {
        return Err(Refused::ActivityNotFound);
    }
    let Some(activity) = tx.run.activities.get_mut(&id) else {
        return Err(Refused::ActivityNotFound);
    };
    activity.row.started_at = tx.now.0;
    activity.row.nonce = nonce;
    activity.row.identity = input.identity;
    activity.row.request_id = input.request_id;
    activity.row.process = input.process;
    activity.row.company = input.company;
    activity.row.silence_max = nanos(input.silence_max);
    activity.row.deliveries += 1;
    if activity.row.first_delivered_at == 0 {
        activity.row.first_delivered_at = tx.now.0;
    }
    Ok(())
}

/// The worker went away before it saw the attempt: another one may have it.
pub(crate) fn give_back(tx: &mut Tx<'_>, token: &ActivityToken) -> Result<(), Refused> {
    let id = under_way(tx.run, token)?;
    let Some(activity) = tx.run.activities.get_mut(&id) else {
        return Err(Refused::ActivityNotFound);
    };
    if activity.row.first_delivered_at == activity.row.started_at {
        activity.row.first_delivered_at = 0;
    }
    activity.row.started_at = 0;
    activity.row.nonce = 0;
    activity.row.request_id.clear();
    activity.row.process = 0;
    activity.row.silence_max = 0;
    if activity.row.reset {
        activity.row.attempt = 1;
    }
    start_over(&mut activity.row);
    activity.row.deliveries = activity.row.deliveries.saturating_sub(1);
    tx.effect(Effect::ActivityReady { scheduled_event_id: id, eager: false });
    Ok(())
}

/// A worker is done with it. Somebody who knows its id may say so before any worker took it.
pub(crate) fn complete(tx: &mut Tx<'_>, input: CompleteActivity) -> Result<(), Refused> {
    let id = match &input.token {
        ActivityToken::Id(name) => known(tx.run, name)?,
        ActivityToken::Attempt { .. } => under_way(tx.run, &input.token)?,
    };
    let is_waiting = tx.run.activities.get(&id).is_some_and(|activity| !activity.is_started());
    if is_waiting && let Some(activity) = tx.run.activities.get_mut(&id) {
        activity.row.started_at = tx.now.0;
        activity.row.identity.clone_from(&input.identity);
    }
    if size::payloads(input.result.as_ref()) > tx.limits.blob_bytes_max {
        activity_retry::too_large(tx, id, "Complete result exceeds size limit.", &input.identity);
        return Ok(());
    }
    if let Some(activity) = tx.run.activities.get(&id).filter(|it| it.row.attempt > 1) {
        let attempt = log(tx, activity, AttemptOutcome::Completed);
        tx.out.attempts.push(attempt);
    }
    close(tx, id, |started_event_id| {
        history::ActivityTaskCompletedEventAttributes {
            result: input.result,
            scheduled_event_id: id,
            started_event_id,
            identity: input.identity,
            ..history::ActivityTaskCompletedEventAttributes::default()
        }
        .into()
    });
    Ok(())
}

/// A worker gave it up, as it was asked to.
pub(crate) fn cancel(tx: &mut Tx<'_>, input: CancelActivity) -> Result<(), Refused> {
    let id = under_way(tx.run, &input.token)?;
    let Some(activity) = tx.run.activities.get(&id) else { return Err(Refused::ActivityNotFound) };
    if !activity.is_cancel_requested() {
        return Err(Refused::CancelNotRequested);
    }
    if size::payloads(input.details.as_ref()) > tx.limits.blob_bytes_max {
        activity_retry::too_large(tx, id, "Cancel details exceed size limit.", &input.identity);
        return Ok(());
    }
    let latest_cancel_requested_event_id = activity.row.cancel_requested_event_id;
    if activity.row.attempt > 1 {
        let attempt = log(tx, activity, AttemptOutcome::Cancelled);
        tx.out.attempts.push(attempt);
    }
    close(tx, id, |started_event_id| {
        history::ActivityTaskCanceledEventAttributes {
            details: input.details,
            latest_cancel_requested_event_id,
            scheduled_event_id: id,
            started_event_id,
            identity: input.identity,
            ..history::ActivityTaskCanceledEventAttributes::default()
        }
        .into()
    });
    Ok(())
}

/// A worker is still at it. What it says takes the place of what it said before; when it leaves without
/// a word, that stays.
pub(crate) fn heartbeat(tx: &mut Tx<'_>, input: Heartbeat) -> Result<(), Refused> {
    let id = under_way(tx.run, &input.token)?;
    if size::payloads(input.details.as_ref()) > tx.limits.blob_bytes_max {
        let identity = tx.run.activities.get(&id).map(|it| it.row.identity.clone());
        let what = "Heartbeat details exceed size limit.";
        activity_retry::too_large(tx, id, what, &identity.unwrap_or_default());
        return Ok(());
    }
    let Some(activity) = tx.run.activities.get_mut(&id) else { return Ok(()) };
    activity.row.last_heartbeat_at = tx.now.0;
    if input.leaves {
        activity.row.process = 0;
        activity.row.silence_max = 0;
    }
    if !input.leaves || input.details.is_some() {
        activity.row.heartbeat_details = input.details;
    }
    Ok(())
}

/// Does what an operator asked for while a worker had it, now that none has it any more.
pub(crate) fn start_over(row: &mut ActivityRow) {
    if row.reset_heartbeat {
        row.heartbeat_details = None;
        row.last_heartbeat_at = 0;
    }
    if row.reset {
        forget_counts(row);
    }
    row.reset = false;
    row.reset_heartbeat = false;
}

/// What its policy has counted does not count any more.
pub(crate) fn forget_counts(row: &mut ActivityRow) {
    row.counted = None;
    row.counted_before = None;
    row.suspicion = None;
}

/// Writes the started event and the end.
pub(crate) fn close(tx: &mut Tx<'_>, id: i64, end: impl FnOnce(i64) -> Attributes) {
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let mut ended = EndedActivity {
        activity_type: activity.type_name().to_owned(),
        attempts: activity.row.deliveries,
        completed: false,
        took: tx.now.since(Timestamp(activity.row.first_scheduled_at)),
    };
    let buffered = tx.run.task_is_started();
    let started_event_id = match activity.is_started().then(|| started(activity)) {
        None => 0,
        Some((at, event)) if buffered => {
            tx.happen_at(at, event, Note::default());
            0
        }
        Some((at, event)) => tx.append_at(at, event, Note::default()),
    };
    let end = end(started_event_id);
    ended.completed = matches!(end, Attributes::ActivityTaskCompletedEventAttributes(_));
    tx.out.ended.push(ended);
    tx.happen(end);
    workflow_task::want(tx);
}

/// The activity that `token` names, if that attempt is the one under way.
pub(crate) fn under_way(run: &Run, token: &ActivityToken) -> Result<i64, Refused> {
    let id = match token {
        ActivityToken::Id(name) => known(run, name)?,
        ActivityToken::Attempt { scheduled_event_id, .. } => *scheduled_event_id,
    };
    let activity = run.activities.get(&id).ok_or(Refused::ActivityNotFound)?;
    let same = match token {
        ActivityToken::Id(_) => true,
        ActivityToken::Attempt { attempt, nonce, .. } => {
            activity.row.attempt == *attempt && activity.row.nonce == *nonce
        }
    };
    (activity.is_started() && same).then_some(id).ok_or(Refused::ActivityNotFound)
}

/// The attempt that now ends, for the log of attempts.
pub(crate) fn log(tx: &Tx<'_>, activity: &Activity, outcome: AttemptOutcome) -> Attempt {
    let row = &activity.row;
    Attempt {
        scheduled_event_id: row.scheduled_event_id,
        activity_id: activity.scheduled.activity_id.clone(),
        activity_type: activity.type_name().to_owned(),
        attempt: row.attempt,
        identity: row.identity.clone(),
        scheduled_at: Timestamp(row.scheduled_at),
        started_at: activity.is_started().then_some(Timestamp(row.started_at)),
        outcome,
        ..Attempt::ended(tx.now)
    }
}

fn known(run: &Run, name: &str) -> Result<i64, Refused> {
    run.activities.named(name).copied().ok_or_else(|| Refused::UnknownActivityId(name.to_owned()))
}

fn started(activity: &Activity) -> (Timestamp, history::ActivityTaskStartedEventAttributes) {
    let row = &activity.row;
    let event = history::ActivityTaskStartedEventAttributes {
        scheduled_event_id: row.scheduled_event_id,
        identity: row.identity.clone(),
        request_id: row.request_id.clone(),
        attempt: i32::try_from(row.attempt).unwrap_or(i32::MAX),
        last_failure: row.last_failure.clone(),
        ..history::ActivityTaskStartedEventAttributes::default()
    };
    (Timestamp(row.started_at), event)
}
