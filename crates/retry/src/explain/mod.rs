//! What a policy means, said before it matters: when each attempt comes, how long an outage it
//! outlives, how many calls that makes, and what looks wrong with it.

mod horizon;
mod lint;
mod show;
mod walk;

pub use horizon::Horizon;
pub use lint::{Lint, unreachable_rules};
pub use walk::Row;

use std::time::Duration;

use crate::{failure::Failure, matcher::Place, policy::Policy};

/// What the policy is asked about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Setting<'a> {
    /// The failure that keeps happening.
    pub failure: Failure<'a>,
    /// Where it happens.
    pub place: Place<'a>,
    /// How long one attempt may take.
    pub start_to_close: Option<Duration>,
    /// How long all attempts may take together.
    pub schedule_to_close: Option<Duration>,
    /// How long the downstream remembers an idempotency key.
    pub idempotency_ttl: Option<Duration>,
    /// Whether many retry against the same downstream.
    pub is_shared: bool,
    /// Attempts that the layers around and below make of each of ours: an SDK, a parent workflow.
    pub nested_attempts: &'a [u32],
}

/// What a policy means for one kind of failure.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The policy's name.
    pub name: String,
    /// Its rules and its limits, a line each.
    pub rules: Vec<String>,
    /// The first attempts and their waits.
    pub schedule: Vec<Row>,
    /// How long an outage it outlives.
    pub horizon: Horizon,
    /// Calls until it gives up; `None` is without end.
    pub calls: Option<u32>,
    /// Calls that reach the downstream for one piece of work, nested layers multiplied in.
    pub amplification: Option<u64>,
    /// What looks wrong.
    pub lints: Vec<Lint>,
}

/// Explains a policy.
///
/// ```
/// # use steadfast_retry::{explain::{Setting, explain}, preset::temporal};
/// let policy = temporal::RetryPolicy { maximum_attempts: 10, ..Default::default() };
/// let explanation = explain(&policy.for_activity(), &Setting::default());
/// assert_eq!(explanation.horizon.to_string(), "5m27s");
/// assert_eq!(explanation.calls, Some(10));
/// ```
#[must_use]
pub fn explain(policy: &Policy, setting: &Setting<'_>) -> Explanation {
    let plain = walk::walk(&policy.without_jitter(), setting, walk::LIMIT, 0);
    let horizon = horizon::horizon(policy, setting);
    let calls = plain.calls();
    let nested = setting
        .nested_attempts
        .iter()
        .fold(1_u64, |product, attempts| product.saturating_mul(u64::from(*attempts).max(1)));
    let amplification = calls.map(|calls| nested.saturating_mul(calls.into()));
    Explanation {
        name: policy.name().to_owned(),
        rules: show::rules(policy),
        schedule: plain.rows(policy),
        lints: lint::lints(policy, setting, horizon, calls),
        horizon,
        calls,
        amplification,
    }
}
