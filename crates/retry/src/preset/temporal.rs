//! Temporal's retry policy: filled, checked in Temporal's own words, and made ours.
//!
//! `interval = min(initial * coefficient^(attempt-1), maximum)`, no jitter, unlimited attempts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    backoff::Backoff,
    failure::TimeoutKind,
    hint::{Beyond, Hints},
    matcher::Matcher,
    number,
    policy::Policy,
    rule::{Action, Behaviour, Limits, Rule},
    span,
};

/// Temporal's policy as it comes over the wire. Zero means "not set".
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::preset::temporal::RetryPolicy;
/// let policy = RetryPolicy { initial_interval: Duration::from_secs(2), ..RetryPolicy::unset() };
/// policy.validate()?;
/// assert_eq!(policy.normalised().maximum_interval, Duration::from_secs(200));
/// # Ok::<(), steadfast_retry::preset::temporal::Invalid>(())
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct RetryPolicy {
    /// The wait before the first retry.
    #[serde(with = "span::text")]
    pub initial_interval: Duration,
    /// What each retry multiplies the wait by.
    pub backoff_coefficient: f64,
    /// No wait is longer.
    #[serde(with = "span::text")]
    pub maximum_interval: Duration,
    /// Attempts, the first one included; 0 is no limit.
    pub maximum_attempts: i32,
    /// Failures of these types, or `TemporalTimeout:<kind>`, are not retried.
    pub non_retryable_error_types: Vec<String>,
}

/// What is wrong with a policy, in the words that the official clients know.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Negative, or not a duration.
    #[error("invalid InitialInterval set on retry policy: {reason}")]
    InitialInterval {
        /// What is wrong with it.
        reason: InvalidDuration,
    },
    /// Shrinking waits.
    #[error("BackoffCoefficient cannot be less than 1 on retry policy.")]
    BackoffCoefficient,
    /// Negative, or not a duration.
    #[error("invalid MaximumInterval set on retry policy: {reason}")]
    MaximumInterval {
        /// What is wrong with it.
        reason: InvalidDuration,
    },
    /// A cap below the first wait.
    #[error("MaximumInterval cannot be less than InitialInterval on retry policy.")]
    MaximumBelowInitial,
    /// Negative.
    #[error("MaximumAttempts cannot be negative on retry policy.")]
    MaximumAttempts,
    /// `TemporalTimeout:` and a word that is no timeout.
    #[error("Invalid timeout type value: {name}.")]
    TimeoutType {
        /// The word.
        name: String,
    },
}

/// What is wrong with a duration from the wire.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidDuration {
    /// Below zero.
    #[error("negative duration: {seconds}s {nanos}ns")]
    Negative {
        /// The seconds given.
        seconds: i64,
        /// The nanoseconds given.
        nanos: i32,
    },
    /// Seconds and nanoseconds disagree about the sign, or there are too many nanoseconds.
    #[error("mismatched duration: {seconds}s {nanos}ns")]
    Mismatched {
        /// The seconds given.
        seconds: i64,
        /// The nanoseconds given.
        nanos: i32,
    },
}

/// A duration as the wire has it; longer than a hundred years is a hundred years.
pub fn wire_duration(seconds: i64, nanos: i32) -> Result<Duration, InvalidDuration> {
    let mixed = seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0;
    if mixed || nanos.unsigned_abs() > 999_999_999 {
        return Err(InvalidDuration::Mismatched { seconds, nanos });
    }
    match (u64::try_from(seconds), u32::try_from(nanos)) {
        (Ok(seconds), Ok(nanos)) => Ok(Duration::new(seconds, nanos).min(LONGEST)),
        _ => Err(InvalidDuration::Negative { seconds, nanos }),
    }
}

/// The interval as the wire has it, or the error that names the initial interval.
pub fn initial_interval(seconds: i64, nanos: i32) -> Result<Duration, Invalid> {
    wire_duration(seconds, nanos).map_err(|reason| Invalid::InitialInterval { reason })
}

/// The interval as the wire has it, or the error that names the maximum interval.
pub fn maximum_interval(seconds: i64, nanos: i32) -> Result<Duration, Invalid> {
    wire_duration(seconds, nanos).map_err(|reason| Invalid::MaximumInterval { reason })
}

impl RetryPolicy {
    /// Nothing set; [`normalised`](Self::normalised) fills it with the defaults.
    #[must_use]
    pub const fn unset() -> Self {
        Self {
            initial_interval: Duration::ZERO,
            backoff_coefficient: 0.0,
            maximum_interval: Duration::ZERO,
            maximum_attempts: 0,
            non_retryable_error_types: Vec::new(),
        }
    }

    /// Checks the policy as it was given, before any filling. One attempt needs no checks.
    pub fn validate(&self) -> Result<(), Invalid> {
        if self.maximum_attempts == 1 {
            return Ok(());
        }
        let coefficient = self.backoff_coefficient;
        if coefficient != 0.0 && (coefficient.is_nan() || coefficient < 1.0) {
            return Err(Invalid::BackoffCoefficient);
        }
        let has_maximum = !self.maximum_interval.is_zero();
        if has_maximum && self.maximum_interval < self.filled_initial() {
            return Err(Invalid::MaximumBelowInitial);
        }
        if self.maximum_attempts < 0 {
            return Err(Invalid::MaximumAttempts);
        }
        self.non_retryable_error_types.iter().try_for_each(|entry| {
            match entry.strip_prefix(TIMEOUT) {
                Some(name) if timeout_kind(name).is_none() => {
                    Err(Invalid::TimeoutType { name: name.to_owned() })
                }
                _ => Ok(()),
            }
        })
    }

    /// The policy with every unset field filled; what history and descriptions show.
    #[must_use]
    pub fn normalised(self) -> Self {
        let initial_interval = self.filled_initial();
        let or = |value: Duration, default| if value.is_zero() { default } else { value };
        let coefficient = self.backoff_coefficient;
        Self {
            initial_interval,
            backoff_coefficient: if coefficient == 0.0 { 2.0 } else { coefficient },
            maximum_interval: or(self.maximum_interval, initial_interval.saturating_mul(100)),
            ..self
        }
    }

    /// Ours, for an activity: a next delay is followed to the letter, beyond the maximum too.
    #[must_use]
    pub fn for_activity(&self) -> Policy {
        self.compile(Hints::exact())
    }

    /// Ours, for a workflow: a next delay is followed up to the maximum interval.
    #[must_use]
    pub fn for_workflow(&self) -> Policy {
        let max = self.clone().normalised().maximum_interval;
        self.compile(Hints { max: Some(max), beyond: Beyond::Clamp, ..Hints::exact() })
    }

    fn compile(&self, hints: Hints) -> Policy {
        let policy = self.clone().normalised();
        let backoff = Backoff::exponential(policy.initial_interval, policy.backoff_coefficient)
            .capped(policy.maximum_interval)
            .exact();
        let rules = policy.non_retryable_error_types.iter().flat_map(|entry| fail_rules(entry));
        let limits = Limits::attempts(u32::try_from(policy.maximum_attempts).unwrap_or(1));
        let default = Behaviour { hints, ..Behaviour::retrying(backoff) };
        Policy::from_parts("temporal", rules.collect(), default, limits)
    }

    fn filled_initial(&self) -> Duration {
        match self.initial_interval {
            Duration::ZERO => Duration::from_secs(1),
            interval => interval,
        }
    }
}

impl Default for RetryPolicy {
    /// 1 s, doubling to 100 s, for ever.
    fn default() -> Self {
        Self::unset().normalised()
    }
}

/// The wait after attempt number `attempt` failed, as Temporal computes it.
#[must_use]
pub fn interval(policy: &RetryPolicy, attempt: u32) -> Duration {
    let policy = policy.clone().normalised();
    let exponent = attempt.saturating_sub(1);
    let factor = number::power(policy.backoff_coefficient, exponent);
    number::scale(policy.initial_interval, factor).min(policy.maximum_interval)
}

/// An entry names an application error; with the prefix it names a timeout as well. The timeouts
/// that span the attempts are never retried anyway, and are not for want of a policy's word.
fn fail_rules(entry: &str) -> impl Iterator<Item = Rule> + use<> {
    let kind = entry.strip_prefix(TIMEOUT).and_then(timeout_kind);
    let timeout = kind.filter(|kind| kind.is_of_one_attempt()).map(Matcher::of_timeout);
    let matchers = timeout.into_iter().chain([Matcher::exactly(entry)]);
    matchers.map(|when| Rule::ending(when, Action::Fail))
}

/// How a policy's list names a timeout.
#[must_use]
pub fn timeout_type(kind: TimeoutKind) -> String {
    let name = match kind {
        TimeoutKind::StartToClose => "StartToClose",
        TimeoutKind::Heartbeat => "Heartbeat",
        TimeoutKind::ScheduleToStart => "ScheduleToStart",
        TimeoutKind::ScheduleToClose => "ScheduleToClose",
    };
    format!("{TIMEOUT}{name}")
}

fn timeout_kind(name: &str) -> Option<TimeoutKind> {
    match name {
        "StartToClose" => Some(TimeoutKind::StartToClose),
        "Heartbeat" => Some(TimeoutKind::Heartbeat),
        "ScheduleToStart" => Some(TimeoutKind::ScheduleToStart),
        "ScheduleToClose" => Some(TimeoutKind::ScheduleToClose),
        _ => None,
    }
}

const TIMEOUT: &str = "TemporalTimeout:";
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
