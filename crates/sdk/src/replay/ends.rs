//! Events that end what the code waits for.

use steadfast_proto::{
    common::Payloads,
    failure::{
        ActivityFailureInfo, Failure as Wire, TerminatedFailureInfo, TimeoutFailureInfo,
        failure::FailureInfo,
    },
    history::history_event::Attributes as E,
};

use crate::{error::Failure, workflow::Outcome};

/// The end of an activity, a timer, or a call of another workflow: of which command, and how.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are no ends")]
pub(super) fn end(attributes: &E) -> Option<(i64, Outcome)> {
    let failed = |failure: &Option<Wire>| Err(Box::new(failure.clone().unwrap_or_default()));
    Some(match attributes {
        E::ActivityTaskCompletedEventAttributes(it) => {
            (it.scheduled_event_id, Ok(it.result.clone()))
        }
        E::ActivityTaskFailedEventAttributes(it) => {
            let failure = of_activity(it.failure.as_ref(), it.retry_state);
            (it.scheduled_event_id, Err(failure))
        }
        E::ActivityTaskTimedOutEventAttributes(it) => {
            let failure = of_activity(it.failure.as_ref(), it.retry_state);
            (it.scheduled_event_id, Err(failure))
        }
        E::ActivityTaskCanceledEventAttributes(it) => {
            (it.scheduled_event_id, Err(cancelled(it.details.clone())))
        }
        E::TimerFiredEventAttributes(it) => (it.started_event_id, Ok(None)),
        E::ExternalWorkflowExecutionSignaledEventAttributes(it) => {
            (it.initiated_event_id, Ok(None))
        }
        E::ExternalWorkflowExecutionCancelRequestedEventAttributes(it) => {
            (it.initiated_event_id, Ok(None))
        }
        E::SignalExternalWorkflowExecutionFailedEventAttributes(it) => {
            (it.initiated_event_id, failed(&Some(no_such_workflow())))
        }
        E::RequestCancelExternalWorkflowExecutionFailedEventAttributes(it) => {
            (it.initiated_event_id, failed(&Some(no_such_workflow())))
        }
        _ => return None,
    })
}

/// The end of a child workflow.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are no ends")]
pub(super) fn child_end(attributes: &E) -> Option<(i64, Outcome)> {
    let of_kind = |message: &str, info| {
        let failure_info = Some(info);
        Box::new(Wire { message: message.to_owned(), failure_info, ..Wire::default() })
    };
    Some(match attributes {
        E::ChildWorkflowExecutionCompletedEventAttributes(it) => {
            (it.initiated_event_id, Ok(it.result.clone()))
        }
        E::ChildWorkflowExecutionFailedEventAttributes(it) => {
            (it.initiated_event_id, Err(Box::new(it.failure.clone().unwrap_or_default())))
        }
        E::ChildWorkflowExecutionCanceledEventAttributes(it) => {
            (it.initiated_event_id, Err(cancelled(it.details.clone())))
        }
        E::ChildWorkflowExecutionTimedOutEventAttributes(it) => {
            let info = FailureInfo::TimeoutFailureInfo(TimeoutFailureInfo::default());
            (it.initiated_event_id, Err(of_kind("the child timed out", info)))
        }
        E::ChildWorkflowExecutionTerminatedEventAttributes(it) => {
            let info = FailureInfo::TerminatedFailureInfo(TerminatedFailureInfo::default());
            (it.initiated_event_id, Err(of_kind("the child was terminated", info)))
        }
        _ => return None,
    })
}

/// An activity's failure, with why it was not tried again.
fn of_activity(failure: Option<&Wire>, retry_state: i32) -> Box<Wire> {
    let info = ActivityFailureInfo { retry_state, ..ActivityFailureInfo::default() };
    Box::new(Wire {
        message: "activity failed".to_owned(),
        cause: failure.cloned().map(Box::new),
        failure_info: Some(FailureInfo::ActivityFailureInfo(info)),
        ..Wire::default()
    })
}

fn cancelled(details: Option<Payloads>) -> Box<Wire> {
    Box::new(Failure::cancelled(details).into_wire())
}

fn no_such_workflow() -> Wire {
    Failure::new("there is no such workflow").of_type("WorkflowNotFound").into_wire()
}
