//! Why an activity has no result.

use steadfast_proto::{
    enums::{RetryState, TimeoutType},
    failure::{Failure as Wire, failure::FailureInfo},
};

use super::Failure;
use super::{Cancelled, TerminalError, TimeoutKind};
use crate::payload::CodecError;

/// Why an activity has no result.
///
/// ```no_run
/// # use steadfast::{ActivityError, Failure, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn invoice(order: String) -> Result<String, Failure> { Ok(order) }
/// async fn pay(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
///     match ctx.activity(charge, &order).await {
///         Err(ActivityError::RetryExhausted(error)) => {
///             // the bank has been asleep for too long
///             assert_eq!(error.cause().error_type(), "BankAsleep");
///             Ok(ctx.activity(invoice, &order).await?)
///         }
///         done => Ok(done?),
///     }
/// }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ActivityError {
    /// It failed with an error that says of itself that trying again cannot help.
    #[error(transparent)]
    Terminal(TerminalError),
    /// It was tried as often, or for as long, as its policy allows.
    #[error(transparent)]
    RetryExhausted(RetryExhausted),
    /// It took too long, and is not tried again.
    #[error(transparent)]
    Timeout(TimeoutError),
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled(Cancelled),
    /// It failed with an error that its policy does not retry.
    #[error("Activity {activity} failed: {failure}")]
    Failed {
        /// Which activity.
        activity: String,
        /// Why.
        failure: Failure,
    },
    /// Its input cannot be written, or its result is not of the type that was expected.
    #[error("activity {activity}: {error}")]
    Codec {
        /// Which activity.
        activity: String,
        /// What is wrong, in words.
        error: String,
    },
}

/// An activity was tried as often, or for as long, as its policy allows.
///
/// ```no_run
/// # use steadfast::{ActivityError, Failure, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn pay(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// match ctx.activity(charge, &order).await {
///     Err(ActivityError::RetryExhausted(error)) => {
///         Ok(format!("{} attempts, then {}", error.attempts(), error.cause()))
///     }
///     done => Ok(done?),
/// }
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("Activity {activity} failed after {attempts} attempts: {}", self.reason())]
pub struct RetryExhausted {
    activity: String,
    attempts: u32,
    by_time: bool,
    cause: Failure,
}

/// An activity took too long.
///
/// ```no_run
/// # use steadfast::{ActivityError, Failure, TimeoutKind, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn pay(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// match ctx.activity(charge, &order).await {
///     Err(ActivityError::Timeout(late)) if late.kind() == TimeoutKind::ScheduleToStart => {
///         Ok("no worker has come".to_owned())
///     }
///     done => Ok(done?),
/// }
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[error("Activity {activity} timed out: {}", self.failure.message())]
pub struct TimeoutError {
    activity: String,
    kind: TimeoutKind,
    failure: Failure,
}

impl ActivityError {
    /// Reads what history says. `attempt` is that of the last attempt that was started.
    pub(crate) fn read(wire: &Wire, activity: &str, attempt: u32) -> Self {
        let retry_state = match &wire.failure_info {
            Some(FailureInfo::ActivityFailureInfo(info)) => info.retry_state(),
            _ => RetryState::Unspecified,
        };
        let cause = wire.cause.as_deref().unwrap_or(wire);
        let failure = Failure::from_wire(cause.clone());
        let activity = activity.to_owned();
        let exhausted = |by_time| {
            let (activity, cause) = (activity.clone(), failure.clone());
            Self::RetryExhausted(RetryExhausted { activity, attempts: attempt, by_time, cause })
        };
        match (&cause.failure_info, retry_state) {
            (Some(FailureInfo::CanceledFailureInfo(_)), _) | (_, RetryState::CancelRequested) => {
                Self::Cancelled(Cancelled)
            }
            (Some(FailureInfo::ApplicationFailureInfo(info)), _) if info.non_retryable => {
                Self::Terminal(TerminalError::of(failure))
            }
            (_, RetryState::MaximumAttemptsReached | RetryState::RetryPolicyNotSet) => {
                exhausted(false)
            }
            (Some(FailureInfo::TimeoutFailureInfo(info)), _) => {
                let kind = timeout_kind(info.timeout_type());
                Self::Timeout(TimeoutError { activity, kind, failure })
            }
            (_, RetryState::Timeout) => exhausted(true),
            _ => Self::Failed { activity, failure },
        }
    }

    pub(crate) fn codec(activity: &str, error: &CodecError) -> Self {
        Self::Codec { activity: activity.to_owned(), error: error.to_string() }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    /// What the activity itself failed with, if it said something.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Terminal(error) => Some(error.failure()),
            Self::RetryExhausted(error) => Some(error.cause()),
            Self::Timeout(error) => Some(&error.failure),
            Self::Failed { failure, .. } => Some(failure),
            Self::Cancelled(_) | Self::Codec { .. } => None,
        }
    }

    pub(crate) fn to_failure(&self) -> Failure {
        match self {
            Self::Terminal(error) => error.to_failure(),
            Self::RetryExhausted(error) => error.to_failure(),
            Self::Timeout(error) => Failure::new(self.to_string())
                .of_type("TimeoutError")
                .caused_by(error.failure.clone()),
            Self::Cancelled(_) => Failure::cancelled(None),
            Self::Failed { failure, .. } => {
                Failure::new(self.to_string()).of_type("ActivityError").caused_by(failure.clone())
            }
            Self::Codec { .. } => {
                Failure::new(self.to_string()).of_type("CodecError").non_retryable()
            }
        }
    }
}

impl RetryExhausted {
    /// Which activity.
    pub fn activity(&self) -> &str {
        &self.activity
    }

    /// How often it was tried.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// What the last attempt failed with.
    pub fn cause(&self) -> &Failure {
        &self.cause
    }

    /// Which limit was reached.
    pub fn reason(&self) -> String {
        if self.by_time {
            return "Max duration reached".to_owned();
        }
        format!("Max attempts ({}) reached", self.attempts)
    }

    fn to_failure(&self) -> Failure {
        Failure::new(self.to_string()).of_type("RetryExhaustedError").caused_by(self.cause.clone())
    }
}

impl TimeoutError {
    /// Which activity.
    pub fn activity(&self) -> &str {
        &self.activity
    }

    /// Which of its times was up.
    pub fn kind(&self) -> TimeoutKind {
        self.kind
    }
}

fn timeout_kind(kind: TimeoutType) -> TimeoutKind {
    match kind {
        TimeoutType::ScheduleToStart => TimeoutKind::ScheduleToStart,
        TimeoutType::ScheduleToClose => TimeoutKind::ScheduleToClose,
        TimeoutType::Heartbeat => TimeoutKind::Heartbeat,
        TimeoutType::StartToClose | TimeoutType::Unspecified => TimeoutKind::StartToClose,
    }
}
