//! Asks an activity's policy whether there is to be another attempt.
//!
//! The policy is the one that an operator gave it; or else the one in the activity's header, if the
//! workflow gave one and no operator has put another in its place; otherwise it is that of the public
//! protocol. Around it are the rules of the namespace. Whichever it is, [`decide`] decides, and
//! nothing else does.

use std::time::Duration;

use steadfast_proto::failure::Failure;
use steadfast_retry::{
    self as retry, Decision, Layer, Place, Policy, Seed, Signals, State, Timestamp, decide,
};

use crate::{
    counted::Counted,
    failure::{causes_of, for_decision},
    policy,
    state::{Activity, ActivityRow},
    tx::Tx,
};

/// What was decided, and what the policy has counted before and after, if it counts.
pub(crate) struct Verdict {
    pub(crate) decision: Decision,
    pub(crate) before: Option<Counted>,
    pub(crate) after: Option<Counted>,
    pub(crate) asked: Asked,
}

/// Who decided, for the log of attempts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) rule: String,
    pub(crate) layer: &'static str,
    pub(crate) policy: String,
    pub(crate) class: &'static str,
}

/// The attempt that a decision is about.
pub(crate) struct Ended {
    attempt: u32,
    at: Timestamp,
    took: Duration,
    counted: Option<Counted>,
}

impl Ended {
    /// The attempt under way, which ends now.
    fn now(row: &ActivityRow, now: Timestamp) -> Self {
        let took = now.since(Timestamp(row.started_at));
        Self { attempt: row.attempt, at: now, took, counted: row.counted.clone() }
    }

    /// The attempt before the one that waits.
    pub(crate) fn before(row: &ActivityRow) -> Self {
        let at = Timestamp(row.last_ended_at);
        Self {
            attempt: row.attempt.saturating_sub(1),
            at,
            took: at.since(Timestamp(row.last_started_at)),
            counted: row.counted_before.clone(),
        }
    }
}

/// Asks whether there is to be another attempt, now that this one has ended.
pub(crate) fn ask(tx: &Tx<'_>, id: i64, failure: &Failure) -> Option<Verdict> {
    let ended = Ended::now(&tx.run.activities.get(&id)?.row, tx.now);
    ask_about(tx, id, failure, &ended)
}

/// Asks whether there is to be another attempt after that one.
pub(crate) fn ask_about(tx: &Tx<'_>, id: i64, failure: &Failure, ended: &Ended) -> Option<Verdict> {
    let activity = tx.run.activities.get(&id)?;
    let public = || activity.retry_policy().map(|wire| policy::known(wire).for_activity());
    Some(match declared(tx, activity) {
        Some(policy) => by_counters(tx, activity, &policy, failure, ended),
        // Rules of the namespace have counters of their own.
        None if !tx.rules.overlay().is_empty() => match public() {
            Some(policy) => by_counters(tx, activity, &policy, failure, ended),
            None => by_attempts(tx, activity, None, failure, ended),
        },
        None => by_attempts(tx, activity, public().as_ref(), failure, ended),
    })
}

/// How long whoever it calls remembers its idempotency key, if anybody says so.
pub(crate) fn key_ttl(tx: &Tx<'_>, activity: &Activity) -> Option<Duration> {
    let author = declared(tx, activity).and_then(|policy| policy.idempotency_ttl());
    let kind = policy::kind_of_header(activity.scheduled.header.as_ref());
    tx.rules.key_ttl(place(tx, activity, &kind), author)
}

/// The number that `random` waits of resume policies are drawn by.
pub(crate) fn unit(tx: &Tx<'_>, activity: &Activity) -> retry::Unit {
    let parts = seed_parts(tx, activity);
    Seed::new(&parts).unit(u64::from(activity.row.deliveries), RESUME_STREAM)
}

/// The policy that an operator gave it, or the one of its header. They were checked when they came
/// in.
fn declared(tx: &Tx<'_>, activity: &Activity) -> Option<Policy> {
    let bytes_max = tx.limits.retry_policy_bytes_max;
    if !activity.row.policy.is_empty() {
        return policy::of_text(&activity.row.policy, bytes_max).ok();
    }
    if activity.has_other_policy() {
        return None;
    }
    policy::of_header(activity.scheduled.header.as_ref(), bytes_max).ok().flatten()
}

/// As the public protocol has it: the number of the attempt says all that was counted.
fn by_attempts(
    tx: &Tx<'_>,
    activity: &Activity,
    policy: Option<&Policy>,
    failure: &Failure,
    ended: &Ended,
) -> Verdict {
    let row = &activity.row;
    // It starts over: the attempt under way counts as the first.
    let attempt = if row.reset { 1 } else { ended.attempt };
    let state = State::at_attempt(attempt, Timestamp(row.first_scheduled_at));
    let (decision, asked) = decided(tx, activity, policy, &state, (failure, ended.at));
    Verdict { decision, before: None, after: None, asked }
}

/// As a policy with rules has it: each kind of failure is counted on its own.
fn by_counters(
    tx: &Tx<'_>,
    activity: &Activity,
    policy: &Policy,
    failure: &Failure,
    ended: &Ended,
) -> Verdict {
    let row = &activity.row;
    let first_attempt_at = Timestamp(row.first_scheduled_at);
    let before = match &ended.counted {
        _ if row.reset => State::started(first_attempt_at),
        Some(counted) => counted.state(row.deliveries, first_attempt_at),
        None => State::at_attempt(ended.attempt, first_attempt_at),
    };
    let mut state = before.clone();
    state.executed = state.executed.saturating_add(ended.took);
    let (decision, asked) = decided(tx, activity, Some(policy), &state, (failure, ended.at));
    state.record(&decision);
    let (before, after) = (Some(Counted::of(&before)), Some(Counted::of(&state)));
    Verdict { decision, before, after, asked }
}

fn decided(
    tx: &Tx<'_>,
    activity: &Activity,
    followed: Option<&Policy>,
    state: &State,
    (failure, ended_at): (&Failure, Timestamp),
) -> (Decision, Asked) {
    let kind = policy::kind_of_header(activity.scheduled.header.as_ref());
    let signals = Signals {
        cancel_requested: activity.is_cancel_requested(),
        paused: activity.is_paused(),
        deadline: activity.expires_at(),
        place: place(tx, activity, &kind),
        overlay: tx.rules.overlay(),
        ..Signals::default()
    };
    let parts = seed_parts(tx, activity);
    let seed = Seed::new(&parts);
    let causes = causes_of(failure);
    let failure = retry::Failure { causes: &causes, ..for_decision(failure) };
    let decision = decide(followed, state, &failure, &signals, ended_at, seed);
    let asked =
        Asked { class: failure.class().name(), ..asked(activity, followed, &signals, &decision) };
    (decision, asked)
}

fn place<'a>(tx: &'a Tx<'_>, activity: &'a Activity, kind: &'a str) -> Place<'a> {
    Place {
        activity: activity.type_name(),
        activity_kind: kind,
        task_queue: activity.task_queue(),
        workflow_type: tx.run.workflow_type(),
    }
}

fn asked(
    activity: &Activity,
    followed: Option<&Policy>,
    signals: &Signals<'_>,
    decision: &Decision,
) -> Asked {
    let Some(policy) = followed else { return Asked::default() };
    let index = decision.why().rule.map(|rule| rule.index);
    let rule = index.and_then(|index| signals.overlay.around(policy.rules()).nth(index));
    if let Some(rule) = rule.filter(|rule| !rule.source.is_empty()) {
        return Asked {
            rule: rule.rule.when.to_string(),
            layer: rule.layer.name(),
            policy: rule.source.as_ref().to_owned(),
            ..Asked::default()
        };
    }
    let is_changed = !activity.row.policy.is_empty() || activity.has_other_policy();
    let layer = rule.map_or_else(|| policy.default_layer(), |rule| rule.layer);
    Asked {
        rule: rule.map(|rule| rule.rule.when.to_string()).unwrap_or_default(),
        layer: if is_changed { Layer::Operator.name() } else { layer.name() },
        policy: policy.name().to_owned(),
        ..Asked::default()
    }
}

fn seed_parts<'a>(tx: &'a Tx<'_>, activity: &'a Activity) -> [&'a str; 4] {
    let identity = &tx.run.identity;
    [
        identity.namespace_id.as_str(),
        &identity.workflow_id,
        &identity.run_id,
        &activity.scheduled.activity_id,
    ]
}

/// Apart from the numbers that the waits of retries draw.
const RESUME_STREAM: u64 = 3;
