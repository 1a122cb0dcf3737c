//! What looks wrong with a policy.

use std::fmt;
use std::time::Duration;

use super::{Horizon, Setting, horizon::rounded};
use crate::{
    backoff::Curve,
    jitter::Jitter,
    pattern::TextPattern,
    policy::Policy,
    rule::{Action, Behaviour, PlacedRule},
    span::Span,
};

/// One thing that looks wrong. Rules count from 1.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Lint {
    /// One attempt: nothing is retried.
    NoRetries,
    /// Neither attempts nor time are limited.
    NoEnd,
    /// The waits grow without a cap.
    NoCap,
    /// Attempts follow each other without a pause.
    NoDelay,
    /// It gives up in an outage that is nothing special.
    ShortHorizon {
        /// What it outlives, in the worst twentieth of cases.
        horizon: Duration,
    },
    /// It may retry after the downstream has forgotten the key, and do the work twice.
    OutlivesIdempotencyKey {
        /// How long the key is remembered.
        ttl: Duration,
    },
    /// The attempts cannot all take the time they are allowed.
    AttemptsOutlastDeadline {
        /// All attempts at their longest.
        attempts: Duration,
        /// The time for all together.
        deadline: Duration,
    },
    /// Everyone comes back at the same moment.
    NoJitterOnSharedKey,
    /// A rule that takes everything stands before others.
    CatchAllFirst {
        /// The rule.
        rule: usize,
    },
    /// A rule reads the message where there is a type to go by.
    MessagePattern {
        /// The rule.
        rule: usize,
    },
    /// Retries of retries: one piece of work makes a great many calls.
    Amplification {
        /// How many.
        calls: u64,
    },
    /// A rule that never decides.
    Unreachable {
        /// The rule.
        rule: usize,
        /// The earlier rule that takes everything it would; `None` when it is used up from the start.
        by: Option<usize>,
    },
}

/// Looks a policy over.
pub(super) fn lints(
    policy: &Policy,
    setting: &Setting<'_>,
    horizon: Horizon,
    calls: Option<u32>,
) -> Vec<Lint> {
    let mut found: Vec<Lint> = rule_lints(policy, setting);
    found.extend(wait_lints(policy, setting));
    found.extend(limit_lints(policy, setting, horizon, calls));
    found
}

/// Rules that never decide: an earlier one takes all they would, and never runs out.
#[must_use]
pub fn unreachable_rules(policy: &Policy) -> Vec<Lint> {
    let rules = policy.rules();
    let mut found = Vec::new();
    for (index, placed) in rules.iter().enumerate() {
        let covers = |earlier: &PlacedRule| {
            !earlier.rule.then.can_be_spent() && earlier.rule.when.covers(&placed.rule.when)
        };
        let by = rules[..index].iter().position(covers);
        if by.is_some() || is_spent_from_the_start(&placed.rule.then) {
            found.push(Lint::Unreachable { rule: index + 1, by: by.map(|by| by + 1) });
        }
    }
    found
}

fn is_spent_from_the_start(behaviour: &Behaviour) -> bool {
    behaviour.action == Action::Retry && behaviour.limits.attempt_limit() == Some(1)
}

fn rule_lints(policy: &Policy, setting: &Setting<'_>) -> Vec<Lint> {
    let rules = policy.rules();
    let mut found = unreachable_rules(policy);
    for (index, placed) in rules.iter().enumerate() {
        let when = &placed.rule.when;
        let is_last = index + 1 == rules.len();
        if when.is_catch_all() && !is_last {
            found.push(Lint::CatchAllFirst { rule: index + 1 });
        }
        let reads_message = matches!(when.message, Some(TextPattern::Regex(_)));
        let goes_by_name = when.error_type.is_some() || when.code.is_some();
        if reads_message && !goes_by_name && setting.failure.error_type.is_some() {
            found.push(Lint::MessagePattern { rule: index + 1 });
        }
    }
    found
}

fn wait_lints(policy: &Policy, setting: &Setting<'_>) -> Vec<Lint> {
    let behaviours: Vec<&Behaviour> = policy
        .rules()
        .iter()
        .map(|placed| &placed.rule.then)
        .chain([policy.default_behaviour()])
        .filter(|behaviour| behaviour.action == Action::Retry)
        .collect();
    let any = |is_so: fn(&Behaviour) -> bool| behaviours.iter().any(|behaviour| is_so(behaviour));
    let no_jitter = setting.is_shared && any(|behaviour| behaviour.backoff.jitter == Jitter::None);
    [
        any(grows_without_cap).then_some(Lint::NoCap),
        any(has_no_delay).then_some(Lint::NoDelay),
        no_jitter.then_some(Lint::NoJitterOnSharedKey),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn grows_without_cap(behaviour: &Behaviour) -> bool {
    let grows = match behaviour.backoff.curve {
        Curve::Constant { .. } | Curve::Schedule { .. } => false,
        Curve::Exponential { coef, .. } => coef > 1.0,
        Curve::Linear { .. } | Curve::Polynomial { .. } | Curve::Fibonacci { .. } => true,
    };
    grows && behaviour.backoff.max.is_none()
}

/// The floor keeps it from spinning; it is still no pause.
fn has_no_delay(behaviour: &Behaviour) -> bool {
    let wait = |n| behaviour.backoff.base(n);
    wait(1).is_some_and(|wait| wait.is_zero()) && wait(100).is_none_or(|wait| wait.is_zero())
}

fn limit_lints(
    policy: &Policy,
    setting: &Setting<'_>,
    horizon: Horizon,
    calls: Option<u32>,
) -> Vec<Lint> {
    let once = policy.limits().attempt_limit() == Some(1);
    let short = horizon.worst().filter(|worst| !once && *worst < SHORT && calls != Some(1));
    let ttl = setting.idempotency_ttl.or_else(|| policy.idempotency_ttl());
    let outlives = |ttl: &Duration| horizon.best().is_none_or(|best| best > *ttl);
    let attempts = policy.limits().attempt_limit();
    let longest = setting.start_to_close.zip(attempts).map(|(one, n)| one.saturating_mul(n));
    let outlast = longest.zip(setting.schedule_to_close).filter(|(all, limit)| all > limit);
    let nested = setting.nested_attempts.iter().map(|attempts| u64::from(*attempts).max(1));
    let amplification = calls.map(|calls| nested.product::<u64>().saturating_mul(calls.into()));
    [
        once.then_some(Lint::NoRetries),
        (calls.is_none() && setting.schedule_to_close.is_none()).then_some(Lint::NoEnd),
        short.map(|horizon| Lint::ShortHorizon { horizon }),
        ttl.filter(outlives).map(|ttl| Lint::OutlivesIdempotencyKey { ttl }),
        outlast.map(|(attempts, deadline)| Lint::AttemptsOutlastDeadline { attempts, deadline }),
        amplification
            .filter(|calls| !setting.nested_attempts.is_empty() && *calls > MANY_CALLS)
            .map(|calls| Lint::Amplification { calls }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRetries => f.write_str("max_attempts is 1: nothing is retried"),
            Self::NoEnd => f.write_str("neither attempts nor time are limited"),
            Self::NoCap => f.write_str("the waits grow without a cap: set max"),
            Self::NoDelay => f.write_str("attempts follow each other without a pause"),
            Self::ShortHorizon { horizon } => {
                write!(f, "gives up in an outage longer than {}", rounded(*horizon))
            }
            Self::OutlivesIdempotencyKey { ttl } => write!(
                f,
                "may retry after the idempotency key is forgotten ({}): set max_elapsed",
                Span(*ttl)
            ),
            Self::AttemptsOutlastDeadline { attempts, deadline } => write!(
                f,
                "attempts may take {} together, more than schedule_to_close ({})",
                Span(*attempts),
                Span(*deadline)
            ),
            Self::NoJitterOnSharedKey => {
                f.write_str("no jitter on a shared downstream: everyone comes back at once")
            }
            Self::CatchAllFirst { rule } => {
                write!(f, "rule {rule} takes every failure and stands before others")
            }
            Self::MessagePattern { rule } => {
                write!(f, "rule {rule} reads the message where the type would do")
            }
            Self::Amplification { calls } => {
                write!(f, "one piece of work may make {calls} calls")
            }
            Self::Unreachable { rule, by: Some(by) } => {
                write!(f, "rule {rule} is never reached: rule {by} takes all that it would")
            }
            Self::Unreachable { rule, by: None } => {
                write!(f, "rule {rule} is never reached: its own max_attempts is 1")
            }
        }
    }
}

/// Ten minutes: a failover, a bad deploy rolled back.
const SHORT: Duration = Duration::from_secs(600);
/// What one piece of work may ask of a downstream before somebody should know.
const MANY_CALLS: u64 = 20;
