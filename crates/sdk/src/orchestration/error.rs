//! Why an activity or an orchestration failed: by its own word, by how the program is put together,
//! or by the machinery.

use std::fmt;

use steadfast_proto::failure::failure::FailureInfo;

use crate::error::{ActivityError, Failure, PANIC, UNKNOWN_ACTIVITY};

/// The type of what an activity said.
pub(super) const ACTIVITY_FAILED: &str = "ActivityFailed";
/// The type of what an orchestration said.
pub(super) const ORCHESTRATION_FAILED: &str = "OrchestrationFailed";
/// The type of a program that lacks something.
const CONFIGURATION: &str = "ConfigurationError";
/// The type of trouble with the machinery.
const INFRASTRUCTURE: &str = "InfrastructureError";

/// Why something failed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ErrorDetails {
    /// By its own word. Only this is seen by the code of orchestrations.
    Application {
        /// Whose word.
        kind: AppErrorKind,
        /// What it said.
        message: String,
    },
    /// The program lacks something: an activity that nobody registered.
    Configuration {
        /// What, and what there is.
        message: String,
    },
    /// The machinery: workers that died again and again.
    Infrastructure {
        /// What happened last.
        message: String,
    },
}

/// Whose word a failure is.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AppErrorKind {
    /// An activity's.
    ActivityFailed,
    /// An orchestration's.
    OrchestrationFailed,
    /// Nobody's: the code panicked.
    Panicked,
    /// Somebody's who cancelled it.
    Cancelled {
        /// Why.
        reason: String,
    },
}

impl ErrorDetails {
    /// `application`, `configuration` or `infrastructure`.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Application { .. } => "application",
            Self::Configuration { .. } => "configuration",
            Self::Infrastructure { .. } => "infrastructure",
        }
    }

    /// In words.
    pub fn display_message(&self) -> String {
        self.to_string()
    }

    /// Somebody cancelled it.
    pub(super) fn cancelled(reason: String) -> Self {
        let message = format!("canceled: {reason}");
        Self::Application { kind: AppErrorKind::Cancelled { reason }, message }
    }

    /// What an activity failed with.
    pub(super) fn of_activity(failure: &Failure) -> Self {
        Self::read(failure, AppErrorKind::ActivityFailed)
    }

    /// What an orchestration failed with.
    pub(super) fn of_orchestration(failure: &Failure) -> Self {
        Self::read(failure, AppErrorKind::OrchestrationFailed)
    }

    fn read(failure: &Failure, kind: AppErrorKind) -> Self {
        let message = failure.message().to_owned();
        match (&failure.as_wire().failure_info, failure.error_type()) {
            (Some(FailureInfo::CanceledFailureInfo(_)), _) => Self::cancelled(message),
            (_, CONFIGURATION | UNKNOWN_ACTIVITY) => Self::Configuration { message },
            (_, PANIC) => Self::Application { kind: AppErrorKind::Panicked, message },
            (_, ORCHESTRATION_FAILED) => Self::Application { kind, message },
            // An activity's own word is final for the engine; trouble is not.
            _ if failure.is_non_retryable() => Self::Application { kind, message },
            _ => Self::Infrastructure { message },
        }
    }
}

impl fmt::Display for ErrorDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Application { message, .. } => f.write_str(message),
            Self::Configuration { message } => write!(f, "configuration: {message}"),
            Self::Infrastructure { message } => write!(f, "infrastructure: {message}"),
        }
    }
}

/// What an orchestration's code is told of an activity that failed: what the activity said, or else,
/// as the error, what the whole orchestration fails with.
pub(super) fn told(error: &ActivityError) -> Result<String, Failure> {
    let Some(failure) = error.failure() else { return Ok(error.to_string()) };
    match ErrorDetails::of_activity(failure) {
        ErrorDetails::Application { message, .. } => Ok(message),
        ErrorDetails::Configuration { message } => Err(configuration(message)),
        ErrorDetails::Infrastructure { message } => {
            Err(Failure::new(message).of_type(INFRASTRUCTURE))
        }
    }
}

/// The program lacks something.
pub(super) fn configuration(message: String) -> Failure {
    Failure::new(message).of_type(CONFIGURATION)
}
