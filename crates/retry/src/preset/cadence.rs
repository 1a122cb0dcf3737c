//! Cadence's retry policy: whole seconds, an end that must be given, and failures known by reason.
//!
//! `interval = min(initial * coefficient^(n-1), maximum)`, until the attempts or the expiration are
//! used up, whichever is first.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    backoff::Backoff,
    failure::{Failure, TimeoutKind},
    hint::Hints,
    matcher::Matcher,
    policy::{Draft, Policy},
    rule::{Action, Behaviour, Ending, Limits, Rule},
};

/// Cadence's policy. Zero means "not set", except where it is required.
///
/// ```
/// # use steadfast_retry::preset::cadence::RetryPolicy;
/// let policy = RetryPolicy { initial_interval: 1, maximum_attempts: 5, ..RetryPolicy::default() };
/// assert!(policy.compile().is_ok());
/// let endless = RetryPolicy { maximum_attempts: 0, ..policy };
/// assert_eq!(
///     endless.compile().unwrap_err().to_string(),
///     "retry policy: MaximumAttempts or ExpirationInterval is required",
/// );
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct RetryPolicy {
    /// Seconds before the first retry. Required.
    pub initial_interval: i32,
    /// What each retry multiplies the wait by; 2 when not set.
    pub backoff_coefficient: f64,
    /// The longest wait in seconds; 100 times the initial interval when not set.
    pub maximum_interval: i32,
    /// Seconds after which no attempt starts.
    pub expiration_interval: i32,
    /// Attempts, the first one included; 0 relies on the expiration.
    pub maximum_attempts: i32,
    /// Failures with these reasons are not retried.
    pub non_retriable_error_reasons: Vec<String>,
}

/// What is wrong with a policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Required, and there is no waiting backwards.
    #[error("retry policy: InitialInterval must be greater than 0, not {seconds}")]
    InitialInterval {
        /// What was given.
        seconds: i32,
    },
    /// Shrinking waits.
    #[error("retry policy: BackoffCoefficient must be at least 1, not {coefficient}")]
    BackoffCoefficient {
        /// What was given.
        coefficient: f64,
    },
    /// Negative.
    #[error("retry policy: MaximumInterval cannot be negative, not {seconds}")]
    MaximumInterval {
        /// What was given.
        seconds: i32,
    },
    /// A cap below the first wait.
    #[error("retry policy: MaximumInterval {maximum} is less than InitialInterval {initial}")]
    MaximumBelowInitial {
        /// The cap given.
        maximum: i32,
        /// The first wait given.
        initial: i32,
    },
    /// Negative.
    #[error("retry policy: MaximumAttempts cannot be negative, not {attempts}")]
    MaximumAttempts {
        /// What was given.
        attempts: i32,
    },
    /// Negative.
    #[error("retry policy: ExpirationInterval cannot be negative, not {seconds}")]
    ExpirationInterval {
        /// What was given.
        seconds: i32,
    },
    /// A policy without an end.
    #[error("retry policy: MaximumAttempts or ExpirationInterval is required")]
    NoEnd,
}

/// The reason of a panic.
pub const PANIC: &str = "cadenceInternal:Panic";
/// The type that our workers give the failure of code that panicked.
pub const PANIC_TYPE: &str = "PanicError";
/// The reason of an error that has no reason of its own.
pub const GENERIC: &str = "cadenceInternal:Generic";

/// The reason of a timeout.
#[must_use]
pub const fn timeout_reason(kind: TimeoutKind) -> &'static str {
    match kind {
        TimeoutKind::StartToClose => "cadenceInternal:Timeout START_TO_CLOSE",
        TimeoutKind::Heartbeat => "cadenceInternal:Timeout HEARTBEAT",
        TimeoutKind::ScheduleToStart => "cadenceInternal:Timeout SCHEDULE_TO_START",
        TimeoutKind::ScheduleToClose => "cadenceInternal:Timeout SCHEDULE_TO_CLOSE",
    }
}

/// The reason by which Cadence knows a failure: the author's, the timeout's, or the generic one.
#[must_use]
pub fn reason<'a>(failure: &Failure<'a>) -> &'a str {
    match (failure.timeout, failure.error_type) {
        (Some(kind), _) => timeout_reason(kind),
        (None, Some(reason)) => reason,
        (None, None) => GENERIC,
    }
}

/// The failure with its reason as its type, which is how the policy's list finds it.
#[must_use]
pub fn with_reason<'a>(failure: &Failure<'a>) -> Failure<'a> {
    Failure { error_type: Some(reason(failure)), ..*failure }
}

impl RetryPolicy {
    /// Checks the policy as Cadence does; the error names the field.
    pub fn validate(&self) -> Result<(), Invalid> {
        let coefficient = self.backoff_coefficient;
        let (initial, maximum) = (self.initial_interval, self.maximum_interval);
        if initial <= 0 {
            return Err(Invalid::InitialInterval { seconds: initial });
        }
        if coefficient != 0.0 && (coefficient.is_nan() || coefficient < 1.0) {
            return Err(Invalid::BackoffCoefficient { coefficient });
        }
        if maximum < 0 {
            return Err(Invalid::MaximumInterval { seconds: maximum });
        }
        if maximum > 0 && maximum < initial {
            return Err(Invalid::MaximumBelowInitial { maximum, initial });
        }
        self.validate_end()
    }

    /// Ours, if it is valid.
    pub fn compile(&self) -> Result<Policy, Invalid> {
        self.draft().map(Policy::known)
    }

    /// Ours as somebody would write it, if it is valid: what an activity's header can carry.
    pub fn draft(&self) -> Result<Draft, Invalid> {
        self.validate()?;
        let initial = seconds(self.initial_interval);
        let coefficient =
            if self.backoff_coefficient == 0.0 { 2.0 } else { self.backoff_coefficient };
        let maximum = match self.maximum_interval {
            0 => initial * 100,
            maximum => seconds(maximum),
        };
        let backoff = Backoff::exponential(initial, coefficient).capped(maximum).exact();
        let default = Behaviour { hints: Hints::exact(), ..Behaviour::retrying(backoff) };
        let rules = self.non_retriable_error_reasons.iter().flat_map(|reason| fail_rules(reason));
        Ok(Draft {
            name: "cadence".to_owned(),
            rules: rules.collect(),
            default: Some(default),
            limits: self.limits(),
            on_exhausted: Some(Ending::Fail),
            idempotency: None,
        })
    }

    fn validate_end(&self) -> Result<(), Invalid> {
        match (self.maximum_attempts, self.expiration_interval) {
            (attempts, _) if attempts < 0 => Err(Invalid::MaximumAttempts { attempts }),
            (_, seconds) if seconds < 0 => Err(Invalid::ExpirationInterval { seconds }),
            (0, 0) => Err(Invalid::NoEnd),
            _ => Ok(()),
        }
    }

    fn limits(&self) -> Limits {
        let expiration = self.expiration_interval;
        Limits {
            max_attempts: u32::try_from(self.maximum_attempts).ok(),
            max_elapsed: (expiration > 0).then(|| seconds(expiration)),
            max_execution: None,
        }
    }
}

/// A timeout is found by its kind too, a panic by the type that our workers give it, and an error
/// without a reason of its own by having no type: a failure need not spell Cadence's reason out.
fn fail_rules(reason: &str) -> impl Iterator<Item = Rule> + use<> {
    let kind = TimeoutKind::ALL.into_iter().find(|kind| timeout_reason(*kind) == reason);
    let ours = match reason {
        PANIC => Some(Matcher::exactly(PANIC_TYPE)),
        GENERIC => Some(Matcher::exactly("")),
        _ => kind.map(Matcher::of_timeout),
    };
    let matchers = ours.into_iter().chain([Matcher::exactly(reason)]);
    matchers.map(|when| Rule::ending(when, Action::Fail))
}

fn seconds(seconds: i32) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}
