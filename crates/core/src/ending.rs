//! Which events end something, and which say that it was started.
//!
//! Ends of activities and children that waited in the buffer go behind everything else, so that a
//! signal that came while an activity ran is seen before the activity's end. An end names the event
//! that told of the start, which may have got its id only now.

use steadfast_proto::history::{HistoryEvent, history_event::Attributes};

/// The event that asked for the activity or child that `event` is the end of.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are no ends")]
pub(crate) fn subject(event: &HistoryEvent) -> Option<i64> {
    Some(match event.attributes.as_ref()? {
        Attributes::ActivityTaskCompletedEventAttributes(end) => end.scheduled_event_id,
        Attributes::ActivityTaskFailedEventAttributes(end) => end.scheduled_event_id,
        Attributes::ActivityTaskTimedOutEventAttributes(end) => end.scheduled_event_id,
        Attributes::ActivityTaskCanceledEventAttributes(end) => end.scheduled_event_id,
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(end) => end.initiated_event_id,
        Attributes::ChildWorkflowExecutionFailedEventAttributes(end) => end.initiated_event_id,
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(end) => end.initiated_event_id,
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(end) => end.initiated_event_id,
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(end) => end.initiated_event_id,
        _ => return None,
    })
}

/// The event that asked for the activity or child whose start `event` tells of.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are no starts")]
pub(crate) fn subject_of_start(event: &HistoryEvent) -> Option<i64> {
    match event.attributes.as_ref()? {
        Attributes::ActivityTaskStartedEventAttributes(start) => Some(start.scheduled_event_id),
        Attributes::ChildWorkflowExecutionStartedEventAttributes(start) => {
            Some(start.initiated_event_id)
        }
        _ => None,
    }
}

/// Tells an end which event told of the start.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are no ends")]
pub(crate) fn set_started(event: &mut HistoryEvent, id: i64) {
    let Some(attributes) = &mut event.attributes else { return };
    match attributes {
        Attributes::ActivityTaskCompletedEventAttributes(end) => end.started_event_id = id,
        Attributes::ActivityTaskFailedEventAttributes(end) => end.started_event_id = id,
        Attributes::ActivityTaskTimedOutEventAttributes(end) => end.started_event_id = id,
        Attributes::ActivityTaskCanceledEventAttributes(end) => end.started_event_id = id,
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(end) => {
            end.started_event_id = id;
        }
        Attributes::ChildWorkflowExecutionFailedEventAttributes(end) => end.started_event_id = id,
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(end) => end.started_event_id = id,
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(end) => end.started_event_id = id,
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(end) => {
            end.started_event_id = id;
        }
        _ => {}
    }
}
