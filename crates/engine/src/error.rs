//! What a caller is told when it does not get what it asked for.
//!
//! The code says what the caller must do; the detail is what the official SDKs look at.

use std::fmt;

use steadfast_core::Refused;
use steadfast_proto::{
    enums::{ResourceExhaustedCause, ResourceExhaustedScope},
    errordetails::{
        NamespaceNotFoundFailure, QueryFailedFailure, ResourceExhaustedFailure,
        WorkflowExecutionAlreadyStartedFailure,
    },
};

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of trouble.
    pub code: Code,
    /// What happened, for people. Some SDKs compare it.
    pub message: String,
    /// What happened, for programs.
    pub detail: Option<Box<Detail>>,
}

/// What kind of trouble, and with it what the caller can do. The names are those of gRPC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Code {
    /// Change the request.
    InvalidArgument,
    /// There is no such thing.
    NotFound,
    /// There is such a thing already.
    AlreadyExists,
    /// Not in this state.
    FailedPrecondition,
    /// Not so much at once: wait and try again.
    ResourceExhausted,
    /// Try again.
    Unavailable,
    /// It took too long.
    DeadlineExceeded,
    /// You may not.
    PermissionDenied,
    /// Nobody can.
    Unimplemented,
    /// Another part of the same request failed.
    Aborted,
    /// A fault of ours.
    Internal,
}

/// What happened, for programs.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// Something is not there.
    NotFound,
    /// The namespace is not there.
    NamespaceNotFound(NamespaceNotFoundFailure),
    /// The namespace is there already.
    NamespaceAlreadyExists,
    /// The workflow id is taken.
    AlreadyStarted(WorkflowExecutionAlreadyStartedFailure),
    /// The workflow's code refused the query.
    QueryFailed(Box<QueryFailedFailure>),
    /// The workflow's code cannot answer now.
    WorkflowNotReady,
    /// Too much at once.
    ResourceExhausted(ResourceExhaustedFailure),
    /// Of several operations that belong together one failed, and with it all. What is to be said
    /// of each, in their order.
    MultiOperation(Vec<Error>),
    /// This operation failed because another one of the same request did.
    MultiOperationAborted,
    /// All that is wrong with what was given, each for itself.
    Faults(Vec<String>),
}

impl Error {
    /// An error without a detail.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None }
    }

    /// The request is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// Something is not there.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message).with(Detail::NotFound)
    }

    /// The engine stops, or could not write: the same request may be sent again.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::Unavailable, message)
    }

    /// The workflow's code cannot answer now.
    pub(crate) fn not_ready(message: impl Into<String>) -> Self {
        Self::new(Code::FailedPrecondition, message).with(Detail::WorkflowNotReady)
    }

    /// The run is about to close: try again, and meet its successor.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::exhausted(message, ResourceExhaustedCause::BusyWorkflow)
    }

    /// The engine cannot keep up: wait and try again.
    pub(crate) fn overloaded(message: impl Into<String>) -> Self {
        Self::exhausted(message, ResourceExhaustedCause::SystemOverloaded)
    }

    pub(crate) fn exhausted(message: impl Into<String>, cause: ResourceExhaustedCause) -> Self {
        let scope = ResourceExhaustedScope::Namespace;
        let detail = ResourceExhaustedFailure { cause: cause.into(), scope: scope.into() };
        Self::new(Code::ResourceExhausted, message).with(Detail::ResourceExhausted(detail))
    }

    /// Of an operation that fails because another one of the same request did.
    pub(crate) fn operation_aborted() -> Self {
        Self::new(Code::Aborted, "Operation was aborted.").with(Detail::MultiOperationAborted)
    }

    /// Of what there is too much, if it says so.
    pub fn exhausted_by(&self) -> Option<ResourceExhaustedCause> {
        match self.detail.as_deref() {
            Some(Detail::ResourceExhausted(why)) => Some(why.cause()),
            _ => None,
        }
    }

    pub(crate) fn with(self, detail: Detail) -> Self {
        Self { detail: Some(Box::new(detail)), ..self }
    }
}

impl Code {
    /// Whether the same request may go through later.
    pub(crate) const fn is_passing(self) -> bool {
        matches!(self, Self::Unavailable | Self::ResourceExhausted | Self::DeadlineExceeded)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::InvalidArgument => "invalid argument",
            Self::NotFound => "not found",
            Self::AlreadyExists => "already exists",
            Self::FailedPrecondition => "failed precondition",
            Self::ResourceExhausted => "resource exhausted",
            Self::Unavailable => "unavailable",
            Self::DeadlineExceeded => "deadline exceeded",
            Self::PermissionDenied => "permission denied",
            Self::Unimplemented => "unimplemented",
            Self::Aborted => "aborted",
            Self::Internal => "internal",
        };
        f.write_str(name)
    }
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        let message = refused.to_string();
        match refused {
            Refused::Closed
            | Refused::WrongRun
            | Refused::TaskNotFound
            | Refused::TaskHeartbeatTimeout
            | Refused::ActivityNotFound
            | Refused::UnknownActivityId(_)
            | Refused::NoActivitySelected
            | Refused::NoError => Self::not_found(message),
            Refused::Closing => Self::busy(message),
            Refused::AlreadyPaused
            | Refused::UpdateLimit { .. }
            | Refused::NotParked(_)
            | Refused::TaskNotParked
            | Refused::KeyForgotten { .. }
            | Refused::NotWaiting(..)
            | Refused::AtWork(_)
            | Refused::Acknowledged(_) => Self::new(Code::FailedPrecondition, message),
            Refused::UpdatesInFlight { .. } => {
                Self::exhausted(message, ResourceExhaustedCause::ConcurrentLimit)
            }
            Refused::TaskFailing => Self::not_ready(message),
            Refused::UnhandledCommand
            | Refused::BadCommand(_)
            | Refused::CancelNotRequested
            | Refused::SignalLimit
            | Refused::Invalid { .. }
            | _ => Self::invalid(message),
        }
    }
}

impl From<steadfast_store::Error> for Error {
    fn from(error: steadfast_store::Error) -> Self {
        let code = if error.may_pass() { Code::Unavailable } else { Code::Internal };
        Self::new(code, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use steadfast_store::Error as Store;

    use super::*;

    #[test]
    fn who_asks_a_store_that_is_gone_may_ask_again() {
        let fenced = Store::Fenced { shard: 1, held: 2, found: 3 };
        for error in [Store::Closed, fenced, Store::Io("unplugged".to_owned())] {
            assert_eq!(Error::from(error).code, Code::Unavailable);
        }
        assert_eq!(Error::from(Store::Rejected("a rule".to_owned())).code, Code::Internal);
    }
}
