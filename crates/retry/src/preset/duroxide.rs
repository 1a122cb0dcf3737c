//! duroxide's retry policy: a number of attempts, a backoff, and a timeout for each attempt.
//!
//! A timeout is an answer, not a failure to try again: it ends the loop at once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    backoff::{Backoff, Curve},
    failure::TimeoutKind,
    hint::Hints,
    matcher::Matcher,
    policy::Policy,
    rule::{Action, Behaviour, Limits, Rule},
    span,
};

/// The policy of an orchestration's retry loop.
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::preset::duroxide::{BackoffStrategy, RetryPolicy};
/// let policy = RetryPolicy::new(5)
///     .with_timeout(Duration::from_secs(30))
///     .with_backoff(BackoffStrategy::Fixed { delay: Duration::from_secs(1) });
/// assert_eq!(policy.delay_for_attempt(1), Duration::from_secs(1));
/// assert_eq!(
///     RetryPolicy::new(0).compile().unwrap_err().to_string(),
///     "max_attempts must be at least 1, not 0",
/// );
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct RetryPolicy {
    /// Attempts, the first one included.
    pub max_attempts: u32,
    /// The waits between them.
    pub backoff: BackoffStrategy,
    /// How long each attempt may take.
    #[serde(with = "span::optional")]
    pub timeout: Option<Duration>,
}

/// The waits between attempts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackoffStrategy {
    /// No wait.
    None,
    /// Always the same.
    Fixed {
        /// Every wait.
        #[serde(with = "span::text")]
        delay: Duration,
    },
    /// `base * attempt`.
    Linear {
        /// The first wait.
        #[serde(with = "span::text")]
        base: Duration,
        /// The longest wait.
        #[serde(with = "span::text")]
        max: Duration,
    },
    /// `base * multiplier^(attempt-1)`.
    Exponential {
        /// The first wait.
        #[serde(with = "span::text")]
        base: Duration,
        /// What each attempt multiplies the wait by.
        multiplier: f64,
        /// The longest wait.
        #[serde(with = "span::text")]
        max: Duration,
    },
}

/// What is wrong with a policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Not a single attempt.
    #[error("max_attempts must be at least 1, not {attempts}")]
    MaxAttempts {
        /// What was given.
        attempts: u32,
    },
    /// Not a factor.
    #[error("multiplier must be a number of 0 or more, not {multiplier}")]
    Multiplier {
        /// What was given.
        multiplier: f64,
    },
}

impl RetryPolicy {
    /// So many attempts, with the default backoff and no timeout.
    #[must_use]
    pub fn new(max_attempts: u32) -> Self {
        Self { max_attempts, ..Self::default() }
    }

    /// With a timeout for each attempt.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// With another backoff.
    #[must_use]
    pub fn with_backoff(self, backoff: BackoffStrategy) -> Self {
        Self { backoff, ..self }
    }

    /// The wait after attempt number `attempt` (from 1) failed.
    #[must_use]
    pub fn delay_for_attempt(&self, attempt: u32) -> Duration {
        self.backoff.delay_for_attempt(attempt)
    }

    /// Checks the policy; the error names the field.
    pub fn validate(&self) -> Result<(), Invalid> {
        if self.max_attempts == 0 {
            return Err(Invalid::MaxAttempts { attempts: 0 });
        }
        match self.backoff {
            BackoffStrategy::Exponential { multiplier, .. }
                if !(multiplier.is_finite() && multiplier >= 0.0) =>
            {
                Err(Invalid::Multiplier { multiplier })
            }
            BackoffStrategy::None
            | BackoffStrategy::Fixed { .. }
            | BackoffStrategy::Linear { .. }
            | BackoffStrategy::Exponential { .. } => Ok(()),
        }
    }

    /// Ours, if it is valid.
    pub fn compile(&self) -> Result<Policy, Invalid> {
        self.validate()?;
        let rules =
            TimeoutKind::ALL.map(|kind| Rule::ending(Matcher::of_timeout(kind), Action::Fail));
        let backoff = Behaviour::retrying(self.backoff.curve());
        let default = Behaviour { hints: Hints::exact(), ..backoff };
        let limits = Limits::attempts(self.max_attempts);
        Ok(Policy::from_parts("duroxide", rules.into(), default, limits))
    }
}

impl BackoffStrategy {
    /// The wait after attempt number `attempt` (from 1) failed.
    #[must_use]
    pub fn delay_for_attempt(&self, attempt: u32) -> Duration {
        self.curve().base(attempt).unwrap_or_default()
    }

    fn curve(&self) -> Backoff {
        match *self {
            Self::None => Backoff::constant(Duration::ZERO),
            Self::Fixed { delay } => Backoff::constant(delay),
            Self::Linear { base, max } => {
                Backoff::new(Curve::Linear { initial: base, step: base }).capped(max)
            }
            Self::Exponential { base, multiplier, max } => {
                Backoff::exponential(base, multiplier).capped(max)
            }
        }
        .exact()
    }
}

impl Default for RetryPolicy {
    /// Three attempts.
    fn default() -> Self {
        Self { max_attempts: 3, backoff: BackoffStrategy::default(), timeout: None }
    }
}

impl Default for BackoffStrategy {
    /// 100 ms, doubling to 30 s.
    fn default() -> Self {
        Self::Exponential {
            base: Duration::from_millis(100),
            multiplier: 2.0,
            max: Duration::from_secs(30),
        }
    }
}
