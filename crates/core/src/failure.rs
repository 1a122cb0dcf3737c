//! Failures: those that the engine itself reports, and how a retry decision sees one.

use prost::Message as _;
use steadfast_proto::{
    common, enums,
    failure::{
        ApplicationFailureInfo, Failure, ResetWorkflowFailureInfo, ServerFailureInfo,
        TimeoutFailureInfo, failure::FailureInfo,
    },
};
use steadfast_retry::{self as retry, Class, Hint, TimeoutKind};

use crate::span::checked;

/// Who failed, when it was none of the workers.
const SOURCE: &str = "Server";
const FAILURE_TYPE: &str = "temporal.api.failure.v1.Failure";

/// The metadata of a detail that names the failure's class for the rules of a policy. Details are
/// where a worker may say more than the public message has fields for; others pass it over.
pub const CLASS: &str = "steadfast-class";
/// The metadata of a detail that names the failure's code: `429`, `grpc:UNAVAILABLE`, `ECONNRESET`.
pub const CODE: &str = "steadfast-code";

/// A failure that the engine reports about itself.
pub fn of_server(message: &str, non_retryable: bool) -> Failure {
    of_engine(message, FailureInfo::ServerFailureInfo(ServerFailureInfo { non_retryable }))
}

/// The type of the failure of an attempt whose worker was inside the engine's process, and ended
/// with it.
pub const WORKER_LOST: &str = "WorkerLost";

/// The process ended in which a worker was at it.
pub(crate) fn of_lost_worker() -> Failure {
    let info = ApplicationFailureInfo {
        r#type: WORKER_LOST.to_owned(),
        ..ApplicationFailureInfo::default()
    };
    of_engine("the process that ran this attempt ended", FailureInfo::ApplicationFailureInfo(info))
}

/// A failure in the application's terms that the engine reports; never retried.
pub(crate) fn of_application(kind: &str, message: &str) -> Failure {
    let info = ApplicationFailureInfo {
        r#type: kind.to_owned(),
        non_retryable: true,
        ..ApplicationFailureInfo::default()
    };
    of_engine(message, FailureInfo::ApplicationFailureInfo(info))
}

/// A time limit was passed.
pub fn of_timeout(
    kind: enums::TimeoutType,
    message: &str,
    last_heartbeat_details: Option<common::Payloads>,
) -> Failure {
    let info = TimeoutFailureInfo { timeout_type: kind.into(), last_heartbeat_details };
    of_engine(message, FailureInfo::TimeoutFailureInfo(info))
}

/// A run was reset.
pub(crate) fn of_reset(message: &str, last_heartbeat_details: Option<common::Payloads>) -> Failure {
    let info = ResetWorkflowFailureInfo { last_heartbeat_details };
    of_engine(message, FailureInfo::ResetWorkflowFailureInfo(info))
}

/// `failure` with what came before it as its innermost cause.
pub(crate) fn caused_by(mut failure: Failure, cause: Option<Failure>) -> Failure {
    failure.cause = cause.map(Box::new);
    failure
}

/// A whole failure, as the details of an event that has no place for one.
pub(crate) fn details_of(failure: &Failure) -> common::Payloads {
    let metadata = [("encoding", "binary/protobuf"), ("messageType", FAILURE_TYPE)];
    let metadata = metadata.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    let payload = common::Payload {
        metadata: metadata.into_iter().collect(),
        data: failure.encode_to_vec(),
        ..common::Payload::default()
    };
    common::Payloads { payloads: vec![payload] }
}

/// `failure` if it has at most `bytes_max` bytes, else a short one in its place.
pub(crate) fn shortened(failure: Failure, bytes_max: usize) -> Failure {
    if failure.encoded_len() <= bytes_max {
        return failure;
    }
    let mut cut = Failure {
        message: failure.message,
        source: failure.source,
        failure_info: failure.failure_info.and_then(without_details),
        ..Failure::default()
    };
    truncate(&mut cut.message, bytes_max / 2);
    caused_by(of_server("Failure exceeds size limit.", false), Some(cut))
}

/// The type of a failure: its author's name for it, or which clock ran out.
pub fn type_of(failure: &Failure) -> String {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => info.r#type.clone(),
        Some(FailureInfo::TimeoutFailureInfo(info)) => timeout_kind(info.timeout_type())
            .map_or_else(|| "Timeout:UNSPECIFIED".to_owned(), type_of_timeout),
        Some(FailureInfo::ServerFailureInfo(_)) => "Server".to_owned(),
        // It only hands on what happened elsewhere.
        _ => failure.cause.as_deref().map(type_of).unwrap_or_default(),
    }
}

/// The type of a failure that is a clock which ran out.
pub fn type_of_timeout(kind: TimeoutKind) -> String {
    format!("Timeout:{}", kind.name().to_uppercase())
}

/// What a failure says: its message, and behind it that of its innermost cause.
pub fn cause_of(failure: &Failure) -> String {
    let causes = std::iter::successors(failure.cause.as_deref(), |it| it.cause.as_deref());
    match causes.last().filter(|last| !failure.message.contains(&last.message)) {
        Some(last) => format!("{}: {}", failure.message, last.message),
        None => failure.message.clone(),
    }
}

/// A failure as a retry decision sees it, but for its causes.
pub fn for_decision(failure: &Failure) -> retry::Failure<'_> {
    let mut view = retry::Failure { message: &failure.message, ..retry::Failure::default() };
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => {
            view.error_type = Some(&info.r#type);
            view.non_retryable = info.non_retryable;
            let is_lost = info.r#type == WORKER_LOST && failure.source == SOURCE;
            let class = said(info, CLASS).and_then(Class::named);
            view.class = if is_lost { Some(Class::Crash) } else { class };
            view.code = said(info, CODE);
            let delay = info.next_retry_delay.as_ref();
            view.next_delay = delay.and_then(|delay| checked(Some(delay)).ok()).map(Hint::After);
        }
        Some(FailureInfo::TimeoutFailureInfo(info)) => {
            view.timeout = timeout_kind(info.timeout_type());
        }
        Some(FailureInfo::ServerFailureInfo(info)) => view.non_retryable = info.non_retryable,
        Some(FailureInfo::CanceledFailureInfo(_) | FailureInfo::TerminatedFailureInfo(_)) => {
            view.cancelled = true;
        }
        Some(
            FailureInfo::ResetWorkflowFailureInfo(_)
            | FailureInfo::ActivityFailureInfo(_)
            | FailureInfo::ChildWorkflowExecutionFailureInfo(_)
            | FailureInfo::NexusOperationExecutionFailureInfo(_)
            | FailureInfo::NexusHandlerFailureInfo(_),
        )
        | None => {}
    }
    view
}

/// What caused a failure, outermost first.
pub fn causes_of(failure: &Failure) -> Vec<retry::Cause<'_>> {
    let causes = std::iter::successors(failure.cause.as_deref(), |it| it.cause.as_deref());
    let link = |cause| {
        let retry::Failure { error_type, message, code, .. } = for_decision(cause);
        retry::Cause { error_type, message, code }
    };
    causes.map(link).collect()
}

/// The retry state on the wire.
pub fn retry_state(state: retry::RetryState) -> i32 {
    let state = match state {
        retry::RetryState::InProgress => enums::RetryState::InProgress,
        retry::RetryState::NonRetryableFailure => enums::RetryState::NonRetryableFailure,
        retry::RetryState::Timeout => enums::RetryState::Timeout,
        retry::RetryState::MaximumAttemptsReached => enums::RetryState::MaximumAttemptsReached,
        retry::RetryState::RetryPolicyNotSet => enums::RetryState::RetryPolicyNotSet,
        retry::RetryState::CancelRequested => enums::RetryState::CancelRequested,
    };
    state.into()
}

/// What the details of a failure say under this name.
fn said<'a>(info: &'a ApplicationFailureInfo, name: &str) -> Option<&'a str> {
    let mut details = info.details.iter().flat_map(|details| &details.payloads);
    let said = details.find_map(|detail| detail.metadata.get(name));
    said.and_then(|said| std::str::from_utf8(said).ok())
}

fn timeout_kind(wire: enums::TimeoutType) -> Option<TimeoutKind> {
    match wire {
        enums::TimeoutType::StartToClose => Some(TimeoutKind::StartToClose),
        enums::TimeoutType::ScheduleToStart => Some(TimeoutKind::ScheduleToStart),
        enums::TimeoutType::ScheduleToClose => Some(TimeoutKind::ScheduleToClose),
        enums::TimeoutType::Heartbeat => Some(TimeoutKind::Heartbeat),
        enums::TimeoutType::Unspecified => None,
    }
}

fn of_engine(message: &str, info: FailureInfo) -> Failure {
    Failure {
        message: message.to_owned(),
        source: SOURCE.to_owned(),
        failure_info: Some(info),
        ..Failure::default()
    }
}

fn without_details(info: FailureInfo) -> Option<FailureInfo> {
    match info {
        FailureInfo::ApplicationFailureInfo(info) => {
            Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
                details: None,
                ..info
            }))
        }
        FailureInfo::ServerFailureInfo(_) => Some(info),
        FailureInfo::TimeoutFailureInfo(_)
        | FailureInfo::CanceledFailureInfo(_)
        | FailureInfo::TerminatedFailureInfo(_)
        | FailureInfo::ResetWorkflowFailureInfo(_)
        | FailureInfo::ActivityFailureInfo(_)
        | FailureInfo::ChildWorkflowExecutionFailureInfo(_)
        | FailureInfo::NexusOperationExecutionFailureInfo(_)
        | FailureInfo::NexusHandlerFailureInfo(_) => None,
    }
}

/// Cuts a text at a character boundary.
pub(crate) fn truncate(text: &mut String, bytes_max: usize) {
    let end = (0..=bytes_max.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.truncate(end.unwrap_or_default());
}
