//! Errors as they go over the wire: a code, a text, and the detail that SDKs look at.

use steadfast_engine::{Code, Detail, Error};
use steadfast_proto::{
    errordetails::{
        MultiOperationExecutionFailure, NamespaceAlreadyExistsFailure, NotFoundFailure,
        PermissionDeniedFailure, WorkflowNotReadyFailure,
        multi_operation_execution_failure::OperationStatus,
    },
    failure::MultiOperationExecutionAborted,
    prost::{Message, Name},
    prost_types::Any,
    rpc,
};
use tonic::Status;

use crate::keys::Denied;

/// The engine's error as a status.
pub(crate) fn status(error: Error) -> Status {
    let code = code(error.code);
    match error.detail.and_then(|detail| any(*detail)) {
        None => Status::new(code, error.message),
        Some(detail) => with_detail(code, error.message, detail),
    }
}

/// Why somebody is not let in, as a status.
pub(crate) fn denied(denied: &Denied) -> Status {
    let message = denied.to_string();
    match denied {
        Denied::NoKey | Denied::UnknownKey => Status::unauthenticated(message),
        Denied::NotEnough { .. } => {
            let code = tonic::Code::PermissionDenied;
            let detail = pack(&PermissionDeniedFailure { reason: message.clone() });
            with_detail(code, message, detail)
        }
    }
}

fn with_detail(code: tonic::Code, message: String, detail: Any) -> Status {
    let wire =
        rpc::Status { code: i32::from(code), message: message.clone(), details: vec![detail] };
    Status::with_details(code, message, wire.encode_to_vec().into())
}

fn code(code: Code) -> tonic::Code {
    match code {
        Code::InvalidArgument => tonic::Code::InvalidArgument,
        Code::NotFound => tonic::Code::NotFound,
        Code::AlreadyExists => tonic::Code::AlreadyExists,
        Code::FailedPrecondition => tonic::Code::FailedPrecondition,
        Code::ResourceExhausted => tonic::Code::ResourceExhausted,
        Code::Unavailable => tonic::Code::Unavailable,
        Code::DeadlineExceeded => tonic::Code::DeadlineExceeded,
        Code::PermissionDenied => tonic::Code::PermissionDenied,
        Code::Unimplemented => tonic::Code::Unimplemented,
        Code::Aborted => tonic::Code::Aborted,
        Code::Internal => tonic::Code::Internal,
    }
}

/// A detail that the public protocol knows.
fn any(detail: Detail) -> Option<Any> {
    Some(match detail {
        Detail::NotFound => pack(&NotFoundFailure::default()),
        Detail::NamespaceNotFound(detail) => pack(&detail),
        Detail::NamespaceAlreadyExists => pack(&NamespaceAlreadyExistsFailure::default()),
        Detail::AlreadyStarted(detail) => pack(&detail),
        Detail::QueryFailed(detail) => pack(&*detail),
        Detail::WorkflowNotReady => pack(&WorkflowNotReadyFailure::default()),
        Detail::ResourceExhausted(detail) => pack(&detail),
        Detail::MultiOperation(errors) => {
            let statuses = errors.into_iter().map(operation).collect();
            pack(&MultiOperationExecutionFailure { statuses })
        }
        Detail::MultiOperationAborted => pack(&MultiOperationExecutionAborted::default()),
        Detail::Faults(_) => return None,
    })
}

/// What became of one operation of several.
fn operation(error: Error) -> OperationStatus {
    OperationStatus {
        code: i32::from(code(error.code)),
        message: error.message,
        details: error.detail.and_then(|detail| any(*detail)).into_iter().collect(),
    }
}

fn pack<M: Message + Name>(message: &M) -> Any {
    Any {
        type_url: format!("type.googleapis.com/{}", M::full_name()),
        value: message.encode_to_vec(),
    }
}
