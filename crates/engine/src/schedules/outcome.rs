//! How a run closed, as its schedule is told.

use steadfast_core::{failure::of_timeout, schedule::Closed};
use steadfast_proto::{
    common,
    enums::{TimeoutType, WorkflowExecutionStatus as Status},
    history::history_event::Attributes,
};

/// How a run closed, from its last event.
pub(crate) fn closed(
    request_id: String,
    execution: common::WorkflowExecution,
    last: Option<&Attributes>,
) -> Closed {
    let mut closed = Closed { request_id, execution, ..Closed::default() };
    match last {
        Some(Attributes::WorkflowExecutionCompletedEventAttributes(event)) => {
            closed.status = Status::Completed;
            closed.result.clone_from(&event.result);
        }
        Some(Attributes::WorkflowExecutionFailedEventAttributes(event)) => {
            closed.status = Status::Failed;
            closed.failure.clone_from(&event.failure);
        }
        Some(Attributes::WorkflowExecutionTimedOutEventAttributes(_)) => {
            closed.status = Status::TimedOut;
            let failure = of_timeout(TimeoutType::StartToClose, "workflow timeout", None);
            closed.failure = Some(failure);
        }
        Some(Attributes::WorkflowExecutionCanceledEventAttributes(_)) => {
            closed.status = Status::Canceled;
        }
        Some(Attributes::WorkflowExecutionTerminatedEventAttributes(_)) => {
            closed.status = Status::Terminated;
        }
        _ => {}
    }
    closed
}
