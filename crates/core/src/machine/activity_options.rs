//! What an operator may do to pending activities: pause, let go on, start over, change.
//!
//! ```text
//!               pause                 unpause, reset
//!  Queued ────────────────▶ Paused ──────────────────▶ Queued, or backing off
//!  Backing off                ▲  └── unpause, but its attempts are used up ──▶ failed
//!  Started ──▶ (goes on; if it fails, it waits here)
//! ```
//!
//! Every change makes the tasks that were handed to a queue before it void.

use std::time::Duration;

use steadfast_proto::activity::ActivityOptions;
use steadfast_retry::Timestamp;

use crate::{
    activity::Timeouts,
    input::{PauseActivity, ResetActivity, Selector, UnpauseActivity, UpdateActivityOptions},
    machine::{activity, activity_park, activity_retry, activity_schedule::limits_within},
    policy,
    refused::Refused,
    run::Run,
    span::{checked, to_wire},
    state::{Activity, Pause},
    tx::Tx,
};

/// Holds activities back. One that a worker has goes on, but is not tried again.
pub(crate) fn pause(tx: &mut Tx<'_>, input: &PauseActivity) -> Result<(), Refused> {
    let selected = select(tx.run, &input.selector)?;
    let same = |pause: &Pause| !input.request_id.is_empty() && pause.request_id == input.request_id;
    let by_another = |id: &i64| {
        let pause = tx.run.activities.get(id).and_then(|activity| activity.row.pause.as_ref());
        pause.is_some_and(|pause| !same(pause))
    };
    if matches!(input.selector, Selector::Id(_)) && selected.iter().any(by_another) {
        return Err(Refused::AlreadyPaused);
    }
    for id in selected {
        if tx.run.activities.get(&id).is_some_and(Activity::is_paused) {
            continue;
        }
        let Some(activity) = tx.run.activities.get_mut(&id) else { continue };
        activity.row.stamp += u32::from(!activity.is_started());
        activity.row.pause = Some(Pause {
            at: tx.now.0,
            identity: input.identity.clone(),
            reason: input.reason.clone(),
            request_id: input.request_id.clone(),
        });
    }
    Ok(())
}

/// Lets paused activities go on, at once or spread over a while. A wait for the next attempt that is
/// not over goes on too, and attempts that are used up are not given again, unless they are to be
/// counted anew.
pub(crate) fn unpause(tx: &mut Tx<'_>, input: &UnpauseActivity) -> Result<(), Refused> {
    for id in select(tx.run, &input.selector)? {
        if !tx.run.activities.get(&id).is_some_and(Activity::is_held_back) {
            continue;
        }
        let Some(activity) = tx.run.activities.get_mut(&id) else { continue };
        activity.row.pause = None;
        if input.reset_attempts {
            start_over(activity);
        }
        if input.reset_heartbeat {
            forget_heartbeat(activity);
        }
        if activity.is_parked() {
            // To the public protocol it was paused by a rule.
            let delay = spread(tx, input.jitter);
            activity_park::unpark(tx, id, delay, "unpaused".to_owned());
        } else if !activity.is_started()
            && let Some(earliest) = activity_retry::go_on(tx, id)
        {
            dispatch(tx, id, earliest, input.jitter);
        }
    }
    Ok(())
}

/// Makes activities count their attempts anew. A worker that has one is told by its heartbeat, and
/// what it is at counts as the first. Paused ones that wait go on, unless they are to stay; one that
/// a worker has stays paused either way, so that its worker hears of both.
pub(crate) fn reset(tx: &mut Tx<'_>, input: &ResetActivity) -> Result<(), Refused> {
    for id in select(tx.run, &input.selector)? {
        let Some(activity) = tx.run.activities.get_mut(&id) else { continue };
        if input.restore_options {
            restore(activity);
        }
        if !input.keep_paused && !activity.is_started() {
            activity.row.pause = None;
            activity.row.park = None;
        }
        if input.reset_heartbeat {
            forget_heartbeat(activity);
        }
        start_over(activity);
        if !activity.is_started() && !activity.is_held_back() {
            dispatch(tx, id, tx.now, input.jitter);
        }
    }
    Ok(())
}

/// Changes what the workflow asked for.
pub(crate) fn update(tx: &mut Tx<'_>, input: &UpdateActivityOptions) -> Result<(), Refused> {
    if input.mask.is_empty() != input.restore_original {
        let problem = "either names what to change, or restores what the workflow asked for";
        return Err(invalid("update_mask", problem.to_owned()));
    }
    let selected = select(tx.run, &input.selector)?;
    let run_timeout = tx.run.run_timeout();
    for id in selected {
        let Some(activity) = tx.run.activities.get_mut(&id) else { continue };
        if input.restore_original {
            restore(activity);
        } else {
            activity.row.options =
                Some(merged(activity, &input.options, &input.mask, run_timeout)?);
        }
        activity.row.stamp += 1;
        if activity.is_started() || activity.is_held_back() {
            continue;
        }
        if activity.row.queued {
            activity_retry::enqueue(tx, id);
        } else if let Some(earliest) = activity_retry::go_on(tx, id) {
            // It waits for its next attempt: from now on as the new policy says.
            dispatch(tx, id, earliest, Duration::ZERO);
        }
    }
    Ok(())
}

/// The options of an activity as they hold now.
pub(crate) fn effective(activity: &Activity) -> ActivityOptions {
    if let Some(options) = &activity.row.options {
        return options.clone();
    }
    let event = &activity.scheduled;
    ActivityOptions {
        task_queue: event.task_queue.clone(),
        schedule_to_close_timeout: event.schedule_to_close_timeout,
        schedule_to_start_timeout: event.schedule_to_start_timeout,
        start_to_close_timeout: event.start_to_close_timeout,
        heartbeat_timeout: event.heartbeat_timeout,
        retry_policy: event.retry_policy.clone(),
        priority: event.priority.clone(),
        start_delay: None,
    }
}

/// The pending activities that are meant.
pub(crate) fn select(run: &Run, selector: &Selector) -> Result<Vec<i64>, Refused> {
    let of = |wanted: &dyn Fn(&Activity) -> bool| {
        let all = run.activities.iter().filter(|(_, activity)| wanted(activity));
        all.map(|(id, _)| *id).collect::<Vec<_>>()
    };
    let selected = match selector {
        Selector::Id(name) => run.activities.named(name).copied().into_iter().collect(),
        Selector::Event(id) => run.activities.get(id).map(|_| *id).into_iter().collect(),
        Selector::Type(name) => of(&|activity| activity.type_name() == name),
        Selector::All => return Ok(of(&|_| true)),
    };
    if selected.is_empty() { Err(Refused::NoActivitySelected) } else { Ok(selected) }
}

/// Counts its attempts anew.
pub(crate) fn start_over(activity: &mut Activity) {
    if activity.is_started() {
        activity.row.reset = true;
    } else {
        activity.row.attempt = 1;
        activity::forget_counts(&mut activity.row);
    }
}

pub(crate) fn forget_heartbeat(activity: &mut Activity) {
    if activity.is_started() {
        activity.row.reset_heartbeat = true;
    } else {
        activity.row.heartbeat_details = None;
        activity.row.last_heartbeat_at = 0;
    }
}

/// Back to what the workflow asked for.
fn restore(activity: &mut Activity) {
    activity.row.options = None;
    activity.row.policy.clear();
}

fn spread(tx: &mut Tx<'_>, jitter: Duration) -> Duration {
    match u64::try_from(jitter.as_nanos()).unwrap_or(u64::MAX) {
        0 => Duration::ZERO,
        range => Duration::from_nanos(tx.entropy.nonce() % range),
    }
}

/// Has the next attempt due at `earliest`, or a while after.
pub(crate) fn dispatch(tx: &mut Tx<'_>, id: i64, earliest: Timestamp, jitter: Duration) {
    let delay = spread(tx, jitter);
    let at = earliest.after(delay);
    let Some(activity) = tx.run.activities.get_mut(&id) else { return };
    activity.row.stamp += 1;
    activity.row.scheduled_at = at.0;
    activity.row.queued = false;
    if at <= tx.now {
        activity_retry::enqueue(tx, id);
    }
}

/// The options with those taken from `new` that the mask names. A policy among them takes the place
/// of any other that an operator gave before.
pub(crate) fn merged(
    activity: &mut Activity,
    new: &ActivityOptions,
    mask: &[String],
    run_timeout: Duration,
) -> Result<ActivityOptions, Refused> {
    if mask.iter().any(|path| path.starts_with("retry_policy")) {
        activity.row.policy.clear();
    }
    let mut options = effective(activity);
    let mut retry_policy = options.retry_policy.clone().unwrap_or_default();
    let new_policy = new.retry_policy.clone().unwrap_or_default();
    for path in mask {
        match path.as_str() {
            "task_queue" | "task_queue.name" => options.task_queue.clone_from(&new.task_queue),
            "schedule_to_close_timeout" => {
                options.schedule_to_close_timeout = new.schedule_to_close_timeout;
            }
            "schedule_to_start_timeout" => {
                options.schedule_to_start_timeout = new.schedule_to_start_timeout;
            }
            "start_to_close_timeout" => options.start_to_close_timeout = new.start_to_close_timeout,
            "heartbeat_timeout" => options.heartbeat_timeout = new.heartbeat_timeout,
            "priority" => options.priority.clone_from(&new.priority),
            "retry_policy" => retry_policy = new_policy.clone(),
            "retry_policy.initial_interval" => {
                retry_policy.initial_interval = new_policy.initial_interval;
            }
            "retry_policy.backoff_coefficient" => {
                retry_policy.backoff_coefficient = new_policy.backoff_coefficient;
            }
            "retry_policy.maximum_interval" => {
                retry_policy.maximum_interval = new_policy.maximum_interval;
            }
            "retry_policy.maximum_attempts" => {
                retry_policy.maximum_attempts = new_policy.maximum_attempts;
            }
            other => return Err(invalid("update_mask", format!("unknown path {other:?}"))),
        }
    }
    let checked_policy = policy::checked(&retry_policy)
        .map_err(|fault| invalid("activity_options.retry_policy", fault.to_string()))?;
    options.retry_policy = Some(checked_policy);
    resolved(options, run_timeout)
}

fn resolved(mut options: ActivityOptions, run: Duration) -> Result<ActivityOptions, Refused> {
    let span = |field, wire: &Option<_>| {
        checked(wire.as_ref()).map_err(|fault| invalid(field, fault.to_string()))
    };
    let given = Timeouts {
        schedule_to_close: span("schedule_to_close_timeout", &options.schedule_to_close_timeout)?,
        schedule_to_start: span("schedule_to_start_timeout", &options.schedule_to_start_timeout)?,
        start_to_close: span("start_to_close_timeout", &options.start_to_close_timeout)?,
        heartbeat: span("heartbeat_timeout", &options.heartbeat_timeout)?,
    };
    let limits = limits_within(given, run).ok_or_else(|| {
        let problem = "start_to_close_timeout or schedule_to_close_timeout must be set";
        invalid("activity_options", problem.to_owned())
    })?;
    options.schedule_to_close_timeout = to_wire(limits.schedule_to_close);
    options.schedule_to_start_timeout = to_wire(limits.schedule_to_start);
    options.start_to_close_timeout = to_wire(limits.start_to_close);
    options.heartbeat_timeout = to_wire(limits.heartbeat);
    Ok(options)
}

fn invalid(field: &'static str, problem: String) -> Refused {
    Refused::Invalid { field, problem }
}
