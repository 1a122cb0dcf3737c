//! Failures, with what caused them.

use crate::{
    generated::temporal::api::{
        enums::v1::TimeoutType,
        failure::v1::{Failure, failure::FailureInfo},
    },
    names,
};

/// A failure and its causes, one a line, the outermost first.
pub fn chain(failure: &Failure) -> String {
    links(failure).collect::<Vec<_>>().join("\ncaused by: ")
}

/// A failure and its causes on one line.
pub fn one_line(failure: &Failure) -> String {
    links(failure).collect::<Vec<_>>().join(": ")
}

fn links(failure: &Failure) -> impl Iterator<Item = String> {
    std::iter::successors(Some(failure), |it| it.cause.as_deref()).map(link)
}

fn link(failure: &Failure) -> String {
    let kind = failure.failure_info.as_ref().map(kind).unwrap_or_default();
    match (kind.is_empty(), failure.message.is_empty()) {
        (true, true) => "a failure without a message".to_owned(),
        (true, false) => failure.message.clone(),
        (false, true) => kind,
        (false, false) => format!("{kind}: {}", failure.message),
    }
}

/// What kind of failure it is, where its message does not say so.
fn kind(info: &FailureInfo) -> String {
    match info {
        FailureInfo::ApplicationFailureInfo(info) => info.r#type.clone(),
        FailureInfo::TimeoutFailureInfo(info) => {
            let kind = TimeoutType::try_from(info.timeout_type).unwrap_or_default();
            names::shown(kind.as_str_name(), "TIMEOUT_TYPE_") + " timeout"
        }
        FailureInfo::CanceledFailureInfo(_) => "cancelled".to_owned(),
        FailureInfo::TerminatedFailureInfo(_) => "terminated".to_owned(),
        FailureInfo::ActivityFailureInfo(info) => {
            let name = info.activity_type.as_ref().map_or("", |it| &it.name);
            format!("activity {name} {}", info.activity_id)
        }
        FailureInfo::ChildWorkflowExecutionFailureInfo(info) => {
            let id = info.workflow_execution.as_ref().map_or("", |it| &it.workflow_id);
            format!("child workflow {id}")
        }
        FailureInfo::NexusOperationExecutionFailureInfo(info) => {
            format!("nexus operation {}", info.operation)
        }
        FailureInfo::NexusHandlerFailureInfo(info) => info.r#type.clone(),
        FailureInfo::ServerFailureInfo(_) | FailureInfo::ResetWorkflowFailureInfo(_) => {
            String::new()
        }
    }
}
