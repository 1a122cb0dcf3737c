//! How long an outage a policy outlives: the time from the first attempt to the last.

use std::fmt;
use std::time::Duration;

use super::{Setting, walk};
use crate::{policy::Policy, span::Span};

/// How long an outage a policy outlives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Horizon {
    /// Any outage: it does not give up.
    Endless,
    /// Exactly this long; there is no chance in it.
    Exact(Duration),
    /// As jitter will have it.
    Jittered {
        /// In the worst twentieth of cases.
        p5: Duration,
        /// In half of the cases.
        p50: Duration,
        /// In the best twentieth of cases.
        p95: Duration,
    },
}

impl Horizon {
    /// What can be counted on: the worst twentieth; `None` is without end.
    #[must_use]
    pub const fn worst(&self) -> Option<Duration> {
        match self {
            Self::Endless => None,
            Self::Exact(span) => Some(*span),
            Self::Jittered { p5, .. } => Some(*p5),
        }
    }

    /// What may happen: the best twentieth; `None` is without end.
    #[must_use]
    pub const fn best(&self) -> Option<Duration> {
        match self {
            Self::Endless => None,
            Self::Exact(span) => Some(*span),
            Self::Jittered { p95, .. } => Some(*p95),
        }
    }
}

impl fmt::Display for Horizon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endless => f.write_str("any"),
            Self::Exact(span) => write!(f, "{}", Span(*span)),
            Self::Jittered { p5, p50, p95 } => {
                let [p5, p50, p95] = [*p5, *p50, *p95].map(rounded);
                write!(f, "{p50} (worst 5 %: {p5}, best: {p95})")
            }
        }
    }
}

/// One walk when there is no chance in it, a thousand when there is. Each has its own seed, and the
/// seeds are always the same ones.
pub(super) fn horizon(policy: &Policy, setting: &Setting<'_>) -> Horizon {
    let walked =
        |policy: &Policy, number| walk::walk(policy, setting, walk::LIMIT, number).last_start();
    let plain = policy.without_jitter();
    let Some(exact) = walked(&plain, 0) else { return Horizon::Endless };
    if plain == *policy {
        return Horizon::Exact(exact);
    }
    let mut spans: Vec<Duration> = (0..WALKS).filter_map(|number| walked(policy, number)).collect();
    spans.sort_unstable();
    let quantile = |percent: usize| spans.get(spans.len() * percent / 100).copied();
    match (quantile(5), quantile(50), quantile(95)) {
        (Some(p5), Some(p50), Some(p95)) => Horizon::Jittered { p5, p50, p95 },
        _ => Horizon::Endless,
    }
}

/// Nobody reads the microseconds of a quantile: three digits are plenty.
pub(super) fn rounded(span: Duration) -> Span {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Span(Duration::from_millis(match millis {
        10_000.. => millis / 1_000 * 1_000,
        1_000.. => millis / 100 * 100,
        _ => millis,
    }))
}

/// Enough for a twentieth to be some fifty walks.
const WALKS: u64 = 1_001;
