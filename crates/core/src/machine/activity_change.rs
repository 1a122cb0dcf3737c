//! An operator changes what an activity is tried by: policy, time limits, input; or does not want to
//! wait.
//!
//! A change holds from the next failure on. If it is to hold now, a wait that is under way is
//! reckoned anew: from when the last attempt failed, by the new policy, but not into the past. So it is
//! if nothing is changed here, but the rules of the namespace have been.

use std::time::Duration;

use crate::{
    input::{ActivityChange, ChangeActivity, RetryNow, Selector},
    machine::{
        activity_options::{dispatch, merged, select},
        activity_retry,
    },
    parked::Change,
    policy,
    refused::Refused,
    size,
    state::{Activity, ActivityRow},
    tx::Tx,
};

/// Changes activities.
pub(crate) fn change(tx: &mut Tx<'_>, input: &ChangeActivity) -> Result<(), Refused> {
    for id in select(tx.run, &input.selector)? {
        let what = apply(tx, id, &input.change)?;
        let is_changed = !what.is_empty();
        if !is_changed && !input.now {
            continue;
        }
        let what = if is_changed { what } else { "reckoned anew".to_owned() };
        let now = tx.now.0;
        let Some(activity) = tx.run.activities.get_mut(&id) else { continue };
        record(&mut activity.row, now, (&input.identity, &input.reason), &what);
        activity.row.stamp += u32::from(!activity.is_started());
        if activity.is_started() || activity.is_held_back() {
            continue;
        }
        if activity.row.queued {
            activity_retry::enqueue(tx, id);
        } else if input.now
            && let Some(at) = activity_retry::go_on(tx, id)
        {
            dispatch(tx, id, at, Duration::ZERO);
            let what = if is_changed { "policy changed" } else { "reckoned anew" };
            say(tx, id, format!("{what} by {}", input.identity));
        }
    }
    Ok(())
}

/// What lists give as the reason for the wait.
fn say(tx: &mut Tx<'_>, id: i64, words: String) {
    if let Some(activity) = tx.run.activities.get_mut(&id) {
        activity.row.words = words;
    }
}

/// Tries activities at once that wait for their next attempt.
pub(crate) fn retry_now(tx: &mut Tx<'_>, input: &RetryNow) -> Result<(), Refused> {
    let one = matches!(input.selector, Selector::Id(_) | Selector::Event(_));
    for id in select(tx.run, &input.selector)? {
        let now = tx.now;
        let Some(activity) = tx.run.activities.get(&id) else { continue };
        if !activity.is_backing_off() {
            if one {
                let name = activity.scheduled.activity_id.clone();
                return Err(Refused::NotWaiting(name, standing(activity)));
            }
            continue;
        }
        if let Some(activity) = tx.run.activities.get_mut(&id) {
            let by = (input.identity.as_str(), input.reason.as_str());
            record(&mut activity.row, now.0, by, "tried at once");
        }
        dispatch(tx, id, now, Duration::ZERO);
        say(tx, id, format!("tried at once, asked for by {}", input.identity));
    }
    Ok(())
}

/// Changes one activity. Says what was changed, in words.
pub(crate) fn apply(tx: &mut Tx<'_>, id: i64, change: &ActivityChange) -> Result<String, Refused> {
    let run_timeout = tx.run.run_timeout();
    let limits = tx.limits;
    if let Some(text) = change.policy.as_ref().filter(|text| !text.is_empty()) {
        policy::of_text(text, limits.retry_policy_bytes_max)
            .map_err(|fault| invalid("policy", fault.to_string()))?;
    }
    let bytes = size::payloads(change.input.as_ref());
    if bytes > limits.blob_bytes_max {
        let problem =
            format!("its {bytes} bytes are more than the {} allowed", limits.blob_bytes_max);
        return Err(invalid("input", problem));
    }
    if change.mask.is_empty() && change.policy.is_none() && change.input.is_none() {
        return Ok(String::new());
    }
    let Some(activity) = tx.run.activities.get_mut(&id) else { return Ok(String::new()) };
    let mut what = Vec::new();
    if !change.mask.is_empty() {
        activity.row.options = Some(merged(activity, &change.options, &change.mask, run_timeout)?);
        what.push(change.mask.join(", "));
    }
    if let Some(text) = &change.policy {
        activity.row.policy.clone_from(text);
        what.push("policy".to_owned());
    }
    if change.input.is_some() {
        activity.row.input.clone_from(&change.input);
        what.push("input".to_owned());
    }
    Ok(format!("changed {}", what.join(", ")))
}

/// Keeps who did what and why; the last few are enough.
pub(crate) fn record(row: &mut ActivityRow, at: i64, by: (&str, &str), what: &str) {
    let (identity, reason) = by;
    if row.changes.len() >= CHANGES_MAX {
        row.changes.remove(0);
    }
    row.changes.push(Change {
        at,
        identity: identity.to_owned(),
        reason: reason.to_owned(),
        what: what.to_owned(),
    });
}

fn standing(activity: &Activity) -> &'static str {
    if activity.is_parked() {
        "it is parked; resume it"
    } else if activity.is_paused() {
        "it is paused; unpause it"
    } else if activity.is_started() {
        "a worker is at it"
    } else {
        "it waits for a worker"
    }
}

fn invalid(field: &'static str, problem: String) -> Refused {
    Refused::Invalid { field, problem }
}

/// Changes that are remembered of one activity.
const CHANGES_MAX: usize = 20;
