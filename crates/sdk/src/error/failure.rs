//! A failure: what activities and workflows return when they do not succeed.
//!
//! It is the public failure message itself, so what one worker wrote another one reads, whatever
//! its language; this file gives it a Rust face. Any error turns into one with `?`.

use std::{any::Any, fmt, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    command::ContinueAsNewWorkflowExecutionCommandAttributes as ContinueAsNew,
    common::Payloads,
    failure::{ApplicationFailureInfo, CanceledFailureInfo, Failure as Wire, failure::FailureInfo},
};

use super::{ActivityError, Cancelled, ChildError, HeartbeatError, TerminalError};
use crate::{
    codec::Unchanged,
    name,
    payload::{self, CodecError},
    span,
};

/// Why something failed.
///
/// ```
/// use std::time::Duration;
/// use steadfast::Failure;
///
/// let failure = Failure::new("the bank is asleep")
///     .of_type("BankAsleep")
///     .next_delay(Duration::from_secs(30));
/// assert_eq!(failure.error_type(), "BankAsleep");
///
/// // Any error will do; its type and its causes are kept.
/// fn read() -> Result<String, Failure> {
///     Ok(std::fs::read_to_string("/no/such/file")?)
/// }
/// assert_eq!(read().unwrap_err().error_type(), "Error");
/// ```
#[derive(Clone)]
pub struct Failure {
    wire: Box<Wire>,
    /// Not a failure at all, but something else that ends the code.
    instead: Option<Instead>,
}

/// What ends code without being a failure.
#[derive(Clone)]
enum Instead {
    /// The workflow goes on as a new run.
    GoOn(Box<ContinueAsNew>),
    /// The end of the activity comes from elsewhere.
    Later,
}

impl Failure {
    /// A failure that says this.
    pub fn new(message: impl Into<String>) -> Self {
        Self::application(message.into(), ApplicationFailureInfo::default())
    }

    /// A failure that is never retried: trying again cannot help.
    pub fn terminal(message: impl Into<String>) -> Self {
        TerminalError::new(message).into()
    }

    /// With a type, by which policies and people know it.
    #[must_use]
    pub fn of_type(self, error_type: impl Into<String>) -> Self {
        self.with_info(|info| info.r#type = error_type.into())
    }

    /// Never retried, whatever the policy says.
    #[must_use]
    pub fn non_retryable(self) -> Self {
        self.with_info(|info| info.non_retryable = true)
    }

    /// Says when the next attempt is to come, instead of the policy.
    #[must_use]
    pub fn next_delay(self, delay: Duration) -> Self {
        self.with_info(|info| info.next_retry_delay = Some(span::to_wire(delay)))
    }

    /// With something for programs to read.
    pub fn with_details<T: Serialize + ?Sized>(self, details: &T) -> Result<Self, CodecError> {
        let details = payload::encode_one(details)?;
        Ok(self.with_info(|info| info.details = details))
    }

    /// With a cause.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Self>) -> Self {
        self.wire.cause = Some(cause.into().wire);
        self
    }

    /// What happened, for people.
    pub fn message(&self) -> &str {
        &self.wire.message
    }

    /// The type of an application's failure; otherwise what kind of failure it is: `Timeout`,
    /// `Cancelled`, `Terminated`.
    pub fn error_type(&self) -> &str {
        match &self.wire.failure_info {
            Some(FailureInfo::ApplicationFailureInfo(info)) => &info.r#type,
            Some(FailureInfo::TimeoutFailureInfo(_)) => "Timeout",
            Some(FailureInfo::CanceledFailureInfo(_)) => "Cancelled",
            Some(FailureInfo::TerminatedFailureInfo(_)) => "Terminated",
            Some(FailureInfo::ActivityFailureInfo(_)) => "ActivityFailure",
            Some(FailureInfo::ChildWorkflowExecutionFailureInfo(_)) => "ChildWorkflowFailure",
            Some(
                FailureInfo::ServerFailureInfo(_)
                | FailureInfo::ResetWorkflowFailureInfo(_)
                | FailureInfo::NexusOperationExecutionFailureInfo(_)
                | FailureInfo::NexusHandlerFailureInfo(_),
            )
            | None => "",
        }
    }

    /// What was put into it for programs to read, if it is of this type.
    pub fn details<T: DeserializeOwned>(&self) -> Result<T, CodecError> {
        let details = match &self.wire.failure_info {
            Some(FailureInfo::ApplicationFailureInfo(info)) => info.details.as_ref(),
            Some(FailureInfo::CanceledFailureInfo(info)) => info.details.as_ref(),
            _ => None,
        };
        payload::decode_one(details)
    }

    /// Whether it says of itself that it is never to be retried.
    pub fn is_non_retryable(&self) -> bool {
        self.info().is_some_and(|info| info.non_retryable)
    }

    /// Whether it is a cancellation, or was caused by one.
    pub fn is_cancelled(&self) -> bool {
        let here = matches!(self.wire.failure_info, Some(FailureInfo::CanceledFailureInfo(_)));
        here || self.cause().is_some_and(|cause| cause.is_cancelled())
    }

    /// What caused it.
    pub fn cause(&self) -> Option<Self> {
        self.wire.cause.as_ref().map(|cause| Self::from_wire((**cause).clone()))
    }

    /// The innermost cause, or the failure itself.
    #[must_use]
    pub fn root_cause(&self) -> Self {
        let mut failure = self.clone();
        while let Some(cause) = failure.cause() {
            failure = cause;
        }
        failure
    }

    /// The public message.
    pub fn as_wire(&self) -> &Wire {
        &self.wire
    }

    /// From the public message.
    pub fn from_wire(wire: Wire) -> Self {
        Self { wire: Box::new(wire), instead: None }
    }

    pub(crate) fn into_wire(self) -> Wire {
        *self.wire
    }

    pub(crate) fn cancelled(details: Option<Payloads>) -> Self {
        let info = CanceledFailureInfo { details, ..CanceledFailureInfo::default() };
        Self::from_wire(Wire {
            message: "cancelled".to_owned(),
            failure_info: Some(FailureInfo::CanceledFailureInfo(info)),
            ..Wire::default()
        })
    }

    /// The workflow does not fail, it goes on as a new run.
    pub(crate) fn going_on(next: ContinueAsNew) -> Self {
        let failure = Self::new("the workflow goes on as a new run").of_type("ContinueAsNew");
        Self { instead: Some(Instead::GoOn(Box::new(next))), ..failure }
    }

    pub(crate) fn take_next(&mut self) -> Option<Box<ContinueAsNew>> {
        match self.instead.take() {
            Some(Instead::GoOn(next)) => Some(next),
            Some(Instead::Later) | None => None,
        }
    }

    /// The attempt does not fail, its end comes from elsewhere.
    pub(crate) fn later() -> Self {
        let failure = Self::new("the end of this activity comes from elsewhere");
        Self { instead: Some(Instead::Later), ..failure }
    }

    pub(crate) fn is_later(&self) -> bool {
        matches!(self.instead, Some(Instead::Later))
    }

    fn application(message: String, info: ApplicationFailureInfo) -> Self {
        Self::from_wire(Wire {
            message,
            source: SOURCE.to_owned(),
            failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
            ..Wire::default()
        })
    }

    fn info(&self) -> Option<&ApplicationFailureInfo> {
        match &self.wire.failure_info {
            Some(FailureInfo::ApplicationFailureInfo(info)) => Some(info),
            _ => None,
        }
    }

    fn with_info(mut self, change: impl FnOnce(&mut ApplicationFailureInfo)) -> Self {
        if let Some(FailureInfo::ApplicationFailureInfo(info)) = &mut self.wire.failure_info {
            change(info);
        }
        self
    }

    /// An error of whatever type, with its causes.
    fn of_error(error: &(dyn std::error::Error + 'static), error_type: &str) -> Self {
        let failure = Self::new(error.to_string()).of_type(error_type);
        match error.source() {
            // The type of a cause is not known; its words are.
            Some(cause) => failure.caused_by(Self::of_error(cause, "")),
            None => failure,
        }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let known: &dyn Any = &error;
        if let Some(error) = known.downcast_ref::<TerminalError>() {
            return error.to_failure();
        }
        if let Some(error) = known.downcast_ref::<ActivityError>() {
            return error.to_failure();
        }
        if let Some(error) = known.downcast_ref::<ChildError>() {
            return error.to_failure();
        }
        let heartbeat = known.downcast_ref::<HeartbeatError>();
        if known.is::<Cancelled>() || matches!(heartbeat, Some(HeartbeatError::Cancelled(_))) {
            return Self::cancelled(None);
        }
        Self::of_error(&error, name::of_type::<E>())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wire.message)
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error_type(), self.wire.message)?;
        match self.cause() {
            Some(cause) => write!(f, "; caused by {cause:?}"),
            None => Ok(()),
        }
    }
}

/// Another worker of the queue may have another codec: it may be tried again.
impl From<Unchanged> for Failure {
    fn from(unchanged: Unchanged) -> Self {
        Self::new(unchanged.message).of_type(PAYLOAD_CODEC)
    }
}

/// The type of the failure of code that panicked.
pub(crate) const PANIC: &str = "PanicError";
/// The type of a failure whose cause is a payload that cannot be encoded or decoded.
pub(crate) const PAYLOAD_CODEC: &str = "PayloadCodecError";
/// The type of the failure of an attempt whose worker does not know the activity.
pub(crate) const UNKNOWN_ACTIVITY: &str = "UnknownActivity";
/// Who wrote the failure.
const SOURCE: &str = "steadfast";
