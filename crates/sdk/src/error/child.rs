//! Why a child workflow, or another workflow that was called, gave no result.

use steadfast_proto::failure::{Failure as Wire, failure::FailureInfo};

use super::Cancelled;
use super::Failure;
use crate::payload::CodecError;

/// Why a child workflow gave no result.
///
/// ```no_run
/// # use steadfast::{ChildError, Failure, WorkflowContext};
/// # async fn ship(ctx: WorkflowContext, order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn sell(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// match ctx.child(ship, &order).id("parcel").await {
///     Ok(parcel) => Ok(parcel),
///     Err(error @ ChildError::Cancelled(_)) => Err(error.into()),
///     Err(error) => Ok(format!("not shipped: {error}")),
/// }
/// # }
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// There is a workflow of this id already.
    #[error("workflow {workflow_id} is there already")]
    AlreadyStarted {
        /// The id.
        workflow_id: String,
    },
    /// It failed.
    #[error("child workflow {workflow_id} failed: {failure}")]
    Failed {
        /// Its id.
        workflow_id: String,
        /// Why.
        failure: Failure,
    },
    /// It took too long.
    #[error("child workflow {workflow_id} timed out")]
    TimedOut {
        /// Its id.
        workflow_id: String,
    },
    /// Somebody terminated it.
    #[error("child workflow {workflow_id} was terminated")]
    Terminated {
        /// Its id.
        workflow_id: String,
    },
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled(Cancelled),
    /// Its input cannot be written, or its result is not of the type that was expected.
    #[error("child workflow {workflow_id}: {error}")]
    Codec {
        /// Its id.
        workflow_id: String,
        /// What is wrong, in words.
        error: String,
    },
}

impl ChildError {
    /// Reads what history says.
    pub(crate) fn read(wire: &Wire, workflow_id: &str) -> Self {
        let workflow_id = workflow_id.to_owned();
        let cause = wire.cause.as_deref().unwrap_or(wire);
        match &cause.failure_info {
            Some(FailureInfo::CanceledFailureInfo(_)) => Self::Cancelled(Cancelled),
            Some(FailureInfo::TimeoutFailureInfo(_)) => Self::TimedOut { workflow_id },
            Some(FailureInfo::TerminatedFailureInfo(_)) => Self::Terminated { workflow_id },
            Some(FailureInfo::ApplicationFailureInfo(info)) if info.r#type == ALREADY_STARTED => {
                Self::AlreadyStarted { workflow_id }
            }
            _ => Self::Failed { workflow_id, failure: Failure::from_wire(cause.clone()) },
        }
    }

    pub(crate) fn codec(workflow_id: &str, error: &CodecError) -> Self {
        Self::Codec { workflow_id: workflow_id.to_owned(), error: error.to_string() }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled(_))
    }

    pub(crate) fn to_failure(&self) -> Failure {
        match self {
            Self::Cancelled(_) => Failure::cancelled(None),
            Self::Failed { failure, .. } => {
                Failure::new(self.to_string()).of_type("ChildError").caused_by(failure.clone())
            }
            Self::AlreadyStarted { .. } => Failure::new(self.to_string()).of_type(ALREADY_STARTED),
            Self::TimedOut { .. } | Self::Terminated { .. } | Self::Codec { .. } => {
                Failure::new(self.to_string()).of_type("ChildError")
            }
        }
    }
}

/// The type of the failure that stands for a child whose id was taken.
pub(crate) const ALREADY_STARTED: &str = "WorkflowExecutionAlreadyStarted";
