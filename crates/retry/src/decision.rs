//! What was decided, and why.

use std::fmt;
use std::time::Duration;

use crate::{
    rule::{Ending, RuleId},
    span::Span,
    time::Timestamp,
};

/// What happens next. Nothing else in the engine may start a retry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// Try again at `at`.
    RetryAt {
        /// When the next attempt is due.
        at: Timestamp,
        /// `at`, counted from the failure.
        delay: Duration,
        /// Why.
        why: Why,
    },
    /// Keep the work without a timer of its own.
    Park {
        /// When it may go on by itself, if that is known.
        until: Option<Timestamp>,
        /// Why.
        why: Why,
    },
    /// The policy has nothing left to offer.
    Exhausted {
        /// How the work ends.
        action: Ending,
        /// Why.
        why: Why,
    },
    /// Trying again is not allowed or cannot help.
    Fail {
        /// Why.
        why: Why,
    },
}

/// Why, and what the decision adds to the counters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Why {
    /// The reason.
    pub reason: Reason,
    /// The rule that decided; `None` is the default behaviour, or no rule was asked.
    pub rule: Option<RuleRef>,
    /// Which counter the failure goes to.
    pub counted: Counted,
    /// Whether the rule's own count, and with it the wait, grows.
    pub grows: bool,
}

/// A rule that was asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RuleRef {
    /// Its place among all rules that were asked: in `Overlay::around`.
    pub index: usize,
    /// Its identity.
    pub id: RuleId,
}

/// Which counter a failure goes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Counted {
    /// It counts against the limits.
    Failure,
    /// It does not.
    Deferral,
    /// The worker died; counts against the limits too.
    Crash,
    /// It was no failure.
    Nothing,
}

/// The reasons there are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Retry: the policy's own wait.
    Backoff,
    /// Retry: the failure says when.
    NextDelay,
    /// Retry: the downstream says when.
    RetryAfter,
    /// Park: the asked-for wait is longer than the policy waits for.
    HintTooFar,
    /// Park: someone paused the work.
    Paused,
    /// Park: the downstream's breaker is open.
    BreakerOpen,
    /// Park: the downstream's retry budget is spent.
    BudgetSpent,
    /// The rule's own action: fail, park, dead letter, compensate.
    RuleSaysSo,
    /// Fail: the author called it non-retryable.
    NonRetryable,
    /// Fail: cancelled or terminated, which is no failure.
    Cancelled,
    /// Fail: cancellation was asked for while the attempt ran or waited.
    CancelRequested,
    /// Fail: a clock ran out that spans the attempts.
    TimeoutIsFinal,
    /// Fail: the downstream asked not to be called again.
    ToldNever,
    /// Fail: there is no policy.
    NoPolicy,
    /// Exhausted: all attempts are used.
    MaxAttempts {
        /// The limit.
        limit: u32,
    },
    /// Exhausted: the list of waits is used up.
    ScheduleSpent,
    /// Exhausted: the next attempt would start after the policy's time is over.
    MaxElapsed {
        /// The limit.
        limit: Duration,
    },
    /// Exhausted: the attempts together ran for too long.
    MaxExecution {
        /// The limit.
        limit: Duration,
    },
    /// Exhausted: the next attempt would start after the deadline of the work.
    Deadline {
        /// The deadline.
        at: Timestamp,
    },
}

/// The state of a retry in Temporal's words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RetryState {
    /// It goes on.
    InProgress,
    /// The failure is not to be retried.
    NonRetryableFailure,
    /// No time is left.
    Timeout,
    /// No attempts are left.
    MaximumAttemptsReached,
    /// There is no policy.
    RetryPolicyNotSet,
    /// Cancellation was asked for.
    CancelRequested,
}

impl Decision {
    /// Why it was decided.
    #[must_use]
    pub const fn why(&self) -> &Why {
        match self {
            Self::RetryAt { why, .. }
            | Self::Park { why, .. }
            | Self::Exhausted { why, .. }
            | Self::Fail { why } => why,
        }
    }

    /// When the next attempt is due, if there is one.
    #[must_use]
    pub const fn retry_at(&self) -> Option<Timestamp> {
        match self {
            Self::RetryAt { at, .. } => Some(*at),
            Self::Park { .. } | Self::Exhausted { .. } | Self::Fail { .. } => None,
        }
    }

    /// The state of the retry in Temporal's words. Parked work is still in progress.
    #[must_use]
    pub const fn retry_state(&self) -> RetryState {
        match self {
            Self::RetryAt { .. } | Self::Park { .. } => RetryState::InProgress,
            Self::Exhausted { why, .. } | Self::Fail { why } => why.retry_state(),
        }
    }
}

impl Why {
    /// The state of the retry in Temporal's words.
    #[must_use]
    pub const fn retry_state(&self) -> RetryState {
        match self.reason {
            Reason::Backoff
            | Reason::NextDelay
            | Reason::RetryAfter
            | Reason::HintTooFar
            | Reason::Paused
            | Reason::BreakerOpen
            | Reason::BudgetSpent => RetryState::InProgress,
            Reason::RuleSaysSo | Reason::NonRetryable | Reason::Cancelled | Reason::ToldNever => {
                RetryState::NonRetryableFailure
            }
            Reason::CancelRequested => RetryState::CancelRequested,
            Reason::NoPolicy => RetryState::RetryPolicyNotSet,
            Reason::MaxAttempts { .. } | Reason::ScheduleSpent => {
                RetryState::MaximumAttemptsReached
            }
            Reason::TimeoutIsFinal
            | Reason::MaxElapsed { .. }
            | Reason::MaxExecution { .. }
            | Reason::Deadline { .. } => RetryState::Timeout,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RetryAt { delay, why, .. } => write!(f, "retry in {}: {why}", Span(*delay)),
            Self::Park { until: Some(until), why } => write!(f, "park until {until}: {why}"),
            Self::Park { until: None, why } => write!(f, "park: {why}"),
            Self::Exhausted { action, why } => write!(f, "exhausted, {action}: {why}"),
            Self::Fail { why } => write!(f, "fail: {why}"),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Some(rule) => write!(f, "{} (rule {})", self.reason, rule.index + 1),
            None => write!(f, "{}", self.reason),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Backoff => "backoff",
            Self::NextDelay => "the failure says when",
            Self::RetryAfter => "the downstream says when",
            Self::HintTooFar => "the asked-for wait is too long",
            Self::Paused => "paused",
            Self::BreakerOpen => "the breaker is open",
            Self::BudgetSpent => "the retry budget is spent",
            Self::RuleSaysSo => "the rule says so",
            Self::NonRetryable => "non-retryable",
            Self::Cancelled => "cancelled",
            Self::CancelRequested => "cancel requested",
            Self::TimeoutIsFinal => "the timeout spans all attempts",
            Self::ToldNever => "the downstream asks not to be called again",
            Self::NoPolicy => "no retry policy",
            Self::ScheduleSpent => "the list of waits is used up",
            Self::MaxAttempts { limit } => return write!(f, "max attempts ({limit}) reached"),
            Self::MaxElapsed { limit } => {
                return write!(f, "max duration ({}) would be passed", Span(*limit));
            }
            Self::MaxExecution { limit } => {
                return write!(f, "max execution time ({}) is used up", Span(*limit));
            }
            Self::Deadline { at } => return write!(f, "the deadline ({at}) would be passed"),
        };
        f.write_str(text)
    }
}
