//! Why a run's code cannot go on with its history.

use steadfast_proto::enums::WorkflowTaskFailedCause;

use crate::{
    error::{Failure, PAYLOAD_CODEC},
    workflow::STRANGER,
};

/// The code does not do what history says it did.
///
/// ```text
/// non-determinism at event 5: history has ActivityTaskScheduled "charge", the code asks for a timer of 10s
/// ```
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("non-determinism at event {event_id}: history has {history}, the code {code}")]
pub struct NonDeterminism {
    /// The event that does not fit.
    pub event_id: i64,
    /// What history has there.
    pub history: String,
    /// What the code did.
    pub code: String,
}

/// Why a run's code cannot go on with its history. The run stays as it is until code comes that can.
///
/// ```
/// use steadfast::{Broken, Failure, ReplayError, Replayer, WorkflowContext};
///
/// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
///     Ok(id)
/// }
/// # use steadfast::proto::{enums::EventType, history::{HistoryEvent, history_event::Attributes}};
/// # let mut started = HistoryEvent { event_id: 1, ..HistoryEvent::default() };
/// # started.set_event_type(EventType::WorkflowExecutionStarted);
/// # started.attributes =
/// #     Some(Attributes::WorkflowExecutionStartedEventAttributes(Default::default()));
/// let nobody = Replayer::new().workflow(order).replay(vec![started]).unwrap_err();
/// assert!(matches!(nobody, ReplayError::Broken(Broken::UnknownWorkflow { .. })));
/// ```
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// The code is not the code that wrote the history.
    #[error(transparent)]
    NonDeterminism(#[from] NonDeterminism),
    /// The code panicked.
    #[error("the workflow's code panicked: {0}")]
    Panic(String),
    /// The code waits for something that its context does not know of, and that would be lost with the
    /// process.
    #[error("{STRANGER}")]
    NotDurable,
    /// Nobody has registered such a workflow here.
    #[error("no workflow {name:?} is registered here; there are {known:?}")]
    UnknownWorkflow {
        /// Its name.
        name: String,
        /// Those that are.
        known: Vec<String>,
    },
    /// The history does not begin with its beginning, or has a hole.
    #[error("the history is not whole: {0}")]
    Incomplete(String),
    /// A payload cannot be decoded, or none of what the code says encoded.
    #[error("{0}")]
    Codec(String),
}

impl Broken {
    /// What the engine calls it.
    pub(crate) fn cause(&self) -> WorkflowTaskFailedCause {
        match self {
            Self::NonDeterminism(_) => WorkflowTaskFailedCause::NonDeterministicError,
            Self::Panic(_)
            | Self::NotDurable
            | Self::UnknownWorkflow { .. }
            | Self::Incomplete(_)
            | Self::Codec(_) => WorkflowTaskFailedCause::WorkflowWorkerUnhandledFailure,
        }
    }

    /// As the engine and people are told.
    pub(crate) fn to_failure(&self) -> Failure {
        let error_type = match self {
            Self::NonDeterminism(_) => "NonDeterminismError",
            Self::Panic(_) => "PanicError",
            Self::NotDurable => "NotDurable",
            Self::UnknownWorkflow { .. } => "UnknownWorkflow",
            Self::Incomplete(_) => "IncompleteHistory",
            Self::Codec(_) => PAYLOAD_CODEC,
        };
        Failure::new(self.to_string()).of_type(error_type)
    }
}
