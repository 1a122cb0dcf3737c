//! A parked activity: kept, with its failure, until it is resumed.
//!
//! ```text
//!  no more attempts, a rule, poison            resumed: by a person, or when a policy says
//!  an operator ───────────────────▶ Parked ──────────────────────────────────▶ Queued
//!                                    │  ▲                                         │
//!                  given up, expired │  └──────── failed, and no attempt left ────┘
//!                                    ▼
//!                                 failed
//! ```
//!
//! While it is parked no clock of the activity runs. A resume gives it one more attempt, whatever its
//! policy says, and starts the time that it may take in all anew; what the policy has counted stays.

use std::time::Duration;

use steadfast_proto::enums::RetryState;
use steadfast_retry::Timestamp;

use crate::{
    failure::of_server,
    input::{ClearResume, GiveUpActivity, ParkActivity, ResumeActivity, ScheduleResume, Selector},
    machine::{
        activity_change::{self, record},
        activity_fate, activity_key,
        activity_options::{dispatch, forget_heartbeat, select, start_over},
        activity_retry,
    },
    parked::{NextOnly, Park, ParkedFor, Then, is_repeated, remember},
    refused::Refused,
    size,
    state::Activity,
    tx::Tx,
};

/// Parks activities. Those that are parked stay as they are.
pub(crate) fn park(tx: &mut Tx<'_>, input: &ParkActivity) -> Result<(), Refused> {
    let now = tx.now.0;
    for id in select(tx.run, &input.selector)? {
        if tx.run.activities.get(&id).is_none_or(Activity::is_parked) {
            continue;
        }
        let Some(activity) = tx.run.activities.get_mut(&id) else { continue };
        let row = &mut activity.row;
        row.stamp += u32::from(row.started_at == 0);
        row.park = Some(Park {
            at: now,
            why: ParkedFor::Operator.into(),
            words: input.reason.clone(),
            retry_state: RetryState::NonRetryableFailure.into(),
            ..Park::default()
        });
        record(row, now, (&input.identity, &input.reason), "parked");
    }
    Ok(())
}

/// Resumes parked activities.
pub(crate) fn resume(tx: &mut Tx<'_>, input: &ResumeActivity) -> Result<(), Refused> {
    let bytes: usize = input.header.values().map(|field| size::of(Some(field))).sum();
    if bytes > tx.limits.blob_bytes_max {
        let problem =
            format!("its {bytes} bytes are more than the {} allowed", tx.limits.blob_bytes_max);
        return Err(Refused::Invalid { field: "header", problem });
    }
    let is_repeated =
        |activity: &Activity| is_repeated(&activity.row.resumed_by, &input.request_id);
    let selected = select(tx.run, &input.selector)?;
    if selected.iter().all(|id| tx.run.activities.get(id).is_some_and(is_repeated)) {
        return Ok(());
    }
    for id in parked(tx, &input.selector)? {
        if tx.run.activities.get(&id).is_some_and(is_repeated) {
            continue;
        }
        if !input.rekey {
            activity_key::check(tx, id, input.delay)?;
        }
        let what = activity_change::apply(tx, id, &input.change)?;
        let now = tx.now.0;
        let Some(activity) = tx.run.activities.get_mut(&id) else { continue };
        if input.reset_attempts {
            start_over(activity);
        }
        if input.reset_heartbeat {
            forget_heartbeat(activity);
        }
        let row = &mut activity.row;
        if input.rekey {
            activity_key::renew(row);
        }
        remember(&mut row.resumed_by, &input.request_id);
        let fields = input.header.clone();
        row.next_only = (!fields.is_empty()).then_some(NextOnly { fields });
        let key = if input.rekey { "with a new idempotency key" } else { "" };
        let said: Vec<&str> =
            ["resumed", &what, key].into_iter().filter(|it| !it.is_empty()).collect();
        record(row, now, (&input.identity, &input.reason), &said.join(", "));
        unpark(tx, id, input.delay, format!("resumed by {}", input.identity));
    }
    Ok(())
}

/// A resume policy's time has come. If what is due is looked for now and then only, it waits for that.
pub(crate) fn resume_by_policy(tx: &mut Tx<'_>, id: i64) {
    let (now, sweep) = (tx.now, tx.rules.sweep);
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let policy = activity.row.park.as_ref().map(|park| park.resume_reason.clone());
    if let Err(refused) = activity_key::check(tx, id, Duration::ZERO) {
        return leave_parked(tx, id, &format!("not resumed: {refused}"));
    }
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    if let Some(park) = &mut activity.row.park
        && let Some(until) = sweep.and_then(|it| it.holds(Timestamp(park.resume_at), now))
    {
        park.held_until = until.0;
        return;
    }
    tx.out.resumed_by_policy += 1;
    unpark(tx, id, Duration::ZERO, format!("resumed by {}", policy.unwrap_or_default()));
}

/// What is held until the next search has its turn as soon as that is now.
pub(crate) fn look_again(tx: &mut Tx<'_>) {
    let is_held = |it: &Activity| it.row.park.as_ref().is_some_and(|park| park.held_until != 0);
    let held: Vec<i64> =
        tx.run.activities.iter().filter(|(_, it)| is_held(it)).map(|(id, _)| *id).collect();
    for id in held {
        if let Some(park) = tx.run.activities.get_mut(&id).and_then(|it| it.row.park.as_mut()) {
            park.held_until = 0;
        }
    }
}

/// What was scheduled for it does not happen.
fn leave_parked(tx: &mut Tx<'_>, id: i64, words: &str) {
    set_resume(tx, id, Timestamp(0), "");
    if let Some(park) = tx.run.activities.get_mut(&id).and_then(|it| it.row.park.as_mut()) {
        words.clone_into(&mut park.words);
    }
}

/// Gives a parked activity its next attempt. One that a worker has just goes on.
pub(crate) fn unpark(tx: &mut Tx<'_>, id: i64, delay: Duration, words: String) {
    let at = tx.now.after(delay);
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    let row = &mut activity.row;
    row.park = None;
    row.acknowledged = None;
    row.resumes = row.resumes.saturating_add(1);
    row.words = words;
    if activity.is_started() {
        return;
    }
    activity.row.granted = true;
    activity.row.first_scheduled_at = at.0;
    dispatch(tx, id, at, Duration::ZERO);
}

/// Has parked activities resumed by a policy that did not take them when they failed.
pub(crate) fn schedule_resume(tx: &mut Tx<'_>, input: &ScheduleResume) -> Result<(), Refused> {
    let one = matches!(input.selector, Selector::Id(_) | Selector::Event(_));
    for id in parked(tx, &input.selector)? {
        let Some(activity) = tx.run.activities.get(&id) else { continue };
        if activity.row.acknowledged.is_some() {
            if one {
                return Err(Refused::Acknowledged(name(activity)));
            }
            continue;
        }
        set_resume(tx, id, input.at, &input.reason);
    }
    Ok(())
}

/// Calls off what a policy has scheduled.
pub(crate) fn clear_resume(tx: &mut Tx<'_>, input: &ClearResume) -> Result<(), Refused> {
    let now = tx.now.0;
    for id in parked(tx, &input.selector)? {
        let is_scheduled = |it: &Activity| it.row.park.as_ref().is_some_and(|it| it.resume_at != 0);
        if !tx.run.activities.get(&id).is_some_and(is_scheduled) {
            continue;
        }
        set_resume(tx, id, Timestamp(0), "");
        if let Some(activity) = tx.run.activities.get_mut(&id) {
            let by = (input.identity.as_str(), input.reason.as_str());
            record(&mut activity.row, now, by, "resume called off");
        }
    }
    Ok(())
}

/// Lets parked activities fail.
pub(crate) fn give_up(tx: &mut Tx<'_>, input: &GiveUpActivity) -> Result<(), Refused> {
    for id in parked(tx, &input.selector)? {
        let Some(activity) = tx.run.activities.get(&id) else { continue };
        if activity.is_started() {
            return Err(Refused::AtWork(name(activity)));
        }
        let words = format!("given up by {}: {}", input.identity, input.reason);
        end(tx, id, &words, false);
    }
    Ok(())
}

/// Nobody has resumed it in time.
pub(crate) fn expire(tx: &mut Tx<'_>, id: i64) {
    let Some(park) = tx.run.activities.get(&id).and_then(|it| it.row.park.as_ref()) else { return };
    let dies = park.then() == Then::DeadLetter && tx.run.letters.len() < tx.limits.dead_letters_max;
    end(tx, id, "nobody resumed it in time", dies);
}

/// It fails with what it failed of before it was parked.
fn end(tx: &mut Tx<'_>, id: i64, words: &str, dies: bool) {
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    let park = activity.row.park.take().unwrap_or_default();
    let failure = activity.row.last_failure.clone().unwrap_or_else(|| of_server(words, true));
    if dies {
        activity_fate::bury(tx, id, &failure, format!("dead_letter: {words}: {}", park.words));
    }
    activity_retry::end_while_waiting(tx, id, failure, park.retry_state);
}

/// Those of the selected activities that are parked; a single one that is not is told apart.
fn parked(tx: &Tx<'_>, selector: &Selector) -> Result<Vec<i64>, Refused> {
    let mut selected = select(tx.run, selector)?;
    let first = selected.first().copied();
    let is_parked = |id: &i64| tx.run.activities.get(id).is_some_and(Activity::is_parked);
    selected.retain(is_parked);
    match first.and_then(|id| tx.run.activities.get(&id)) {
        Some(activity) if selected.is_empty() => Err(Refused::NotParked(name(activity))),
        _ => Ok(selected),
    }
}

fn set_resume(tx: &mut Tx<'_>, id: i64, at: Timestamp, reason: &str) {
    if let Some(park) = tx.run.activities.get_mut(&id).and_then(|it| it.row.park.as_mut()) {
        park.resume_at = at.0;
        park.held_until = 0;
        reason.clone_into(&mut park.resume_reason);
    }
}

fn name(activity: &Activity) -> String {
    activity.scheduled.activity_id.clone()
}
