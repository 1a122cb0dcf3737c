//! Why a client does not get what it asked for.

use steadfast_engine::{Code, Detail, Error};

use crate::{error::Failure, payload::CodecError};

/// Why a call was not carried out.
///
/// ```no_run
/// # use steadfast::{Client, ClientError, Failure, WorkflowContext, WorkflowHandle};
/// # async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> { Ok(id) }
/// # async fn f(client: Client) -> Result<WorkflowHandle<String>, ClientError> {
/// match client.start(order, "17").id("order-17").await {
///     // Somebody was faster: that one will do.
///     Err(ClientError::AlreadyStarted { workflow_id, .. }) => Ok(client.workflow(workflow_id)),
///     started => started,
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A workflow of this id is there already.
    #[error("workflow {workflow_id} is there already, as run {run_id}")]
    AlreadyStarted {
        /// The id.
        workflow_id: String,
        /// The run that has it.
        run_id: String,
    },
    /// A schedule of this id is there already.
    #[error("schedule {schedule_id} is there already")]
    ScheduleExists {
        /// The id.
        schedule_id: String,
    },
    /// There is no such workflow, or no such schedule.
    #[error("{0}")]
    NotFound(String),
    /// The code refused a query or an update.
    #[error("{0}")]
    Refused(Failure),
    /// A value cannot be written, or is not of the type that was expected.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Anything else that the engine said, or [`Code::Unavailable`] if a server was away for longer than
    /// it was asked again.
    #[error(transparent)]
    Service(Error),
}

/// Why a workflow has no result.
///
/// ```no_run
/// # async fn f(order: steadfast::WorkflowHandle<String>) {
/// use steadfast::WorkflowError;
///
/// match order.result().await {
///     Ok(receipt) => println!("{receipt}"),
///     Err(WorkflowError::Failed(failure)) => println!("{}", failure.root_cause()),
///     Err(other) => println!("{other}"),
/// }
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowError {
    /// It failed.
    #[error("{0}")]
    Failed(Failure),
    /// It was cancelled.
    #[error("the workflow was cancelled")]
    Cancelled,
    /// Somebody terminated it.
    #[error("the workflow was terminated: {reason}")]
    Terminated {
        /// Why.
        reason: String,
    },
    /// It took too long.
    #[error("the workflow timed out")]
    TimedOut,
    /// Its result could not be asked for.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl From<Error> for ClientError {
    fn from(error: Error) -> Self {
        match error.detail.as_deref() {
            Some(Detail::QueryFailed(detail)) => {
                let failure = detail.failure.clone().map(Failure::from_wire);
                Self::Refused(failure.unwrap_or_else(|| Failure::new(error.message.clone())))
            }
            Some(Detail::NotFound) => Self::NotFound(error.message),
            _ if error.code == Code::NotFound => Self::NotFound(error.message),
            _ => Self::Service(error),
        }
    }
}

impl From<Error> for WorkflowError {
    fn from(error: Error) -> Self {
        Self::Client(error.into())
    }
}

impl From<CodecError> for WorkflowError {
    fn from(error: CodecError) -> Self {
        Self::Client(error.into())
    }
}

impl WorkflowError {
    /// What the workflow failed with, if it failed.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Cancelled | Self::Terminated { .. } | Self::TimedOut | Self::Client(_) => None,
        }
    }
}
