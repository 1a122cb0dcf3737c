//! Resume policies, as `DeltaFi` has them, as rules, so that they can stand among the others in one list.
//!
//! The [`resume`] module is the exact thing: it works on errors that are parked. As
//! rules the same policies act while the work is still being retried; each rule's wait grows with the
//! failures that the rule itself has handled.

use std::time::Duration;

use crate::{
    backoff::{Backoff, Curve},
    jitter::Jitter,
    matcher::Matcher,
    number,
    pattern::{NamePattern, TextPattern},
    range::Attempts,
    resume::{self, BackOff},
    rule::{Behaviour, Rule},
};

/// One rule a policy, in the order in which the policies are asked.
#[must_use]
pub fn rules(policies: &resume::Policies) -> Vec<Rule> {
    policies.in_order().map(rule).collect()
}

fn rule(policy: &resume::Policy) -> Rule {
    Rule { when: matcher(policy), then: behaviour(policy), force: false }
}

fn matcher(policy: &resume::Policy) -> Matcher {
    let exact = |name: &str| NamePattern::Exact(name.to_owned());
    let (action_flow, action) = match policy.action.as_deref() {
        None => (None, None),
        Some(full) => match full.split_once('.') {
            Some((flow, action)) => (Some(flow), Some(action)),
            None => (None, Some(full)),
        },
    };
    Matcher {
        message: policy.error_substring.clone().map(TextPattern::Substring),
        workflow_type: policy.flow.as_deref().or(action_flow).map(exact),
        activity: action.map(exact),
        activity_kind: policy.action_type.as_deref().map(exact),
        attempts: Some(Attempts { first: 1, last: Some(policy.max_attempts.saturating_sub(1)) }),
        ..Matcher::default()
    }
}

fn behaviour(policy: &resume::Policy) -> Behaviour {
    let reason = Some(policy.name.clone());
    Behaviour { reason, ..Behaviour::retrying(backoff(&policy.back_off).exact()) }
}

fn backoff(back_off: &BackOff) -> Backoff {
    let delay = Duration::from_secs(back_off.delay);
    match (back_off.random, back_off.max_delay, back_off.multiplier) {
        (true, Some(max), _) => uniform(delay, Duration::from_secs(max)),
        (_, max, Some(multiplier)) => {
            let first = number::duration(delay.as_nanos().saturating_mul(u128::from(multiplier)));
            let linear = Backoff::new(Curve::Linear { initial: first, step: first });
            Backoff { max: max.map(Duration::from_secs), ..linear }
        }
        (_, _, None) => Backoff::constant(delay),
    }
}

/// Uniform between two waits: their middle, give or take half of what lies between.
fn uniform(low: Duration, high: Duration) -> Backoff {
    let sum = low.saturating_add(high);
    let between = high.saturating_sub(low).as_secs_f64();
    let share = if sum.is_zero() { 0.0 } else { between / sum.as_secs_f64() };
    Backoff::constant(sum / 2).jittered(Jitter::Proportional(share))
}
