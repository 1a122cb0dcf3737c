//! What each event means for the state of a run.
//!
//! Every event passes through here when it is written, and again when a run is rebuilt from its
//! history: nothing that can be read from the history is changed anywhere else. An event that
//! waits for a workflow task to end has no id yet (0) but already counts; [`placed`] tells the
//! state its id once it has one.

mod activity;
mod child;
mod external;
mod lifecycle;
mod properties;
mod task;
mod timer;
mod update;

use steadfast_proto::{
    enums::WorkflowExecutionStatus as Status,
    history::{HistoryEvent, history_event::Attributes},
};

pub(crate) use self::update::{begin as begin_update, end as end_update, restore_in_flight};
use crate::run::Run;

/// Takes `event` into the state.
#[expect(clippy::too_many_lines, reason = "one arm an event")]
pub(crate) fn event(run: &mut Run, event: &HistoryEvent) {
    let id = event.event_id;
    let at = event.event_time.as_ref().map_or(0, |time| crate::span::instant_from_wire(time).0);
    let Some(attributes) = &event.attributes else { return };
    match attributes {
        Attributes::WorkflowExecutionStartedEventAttributes(started) => {
            lifecycle::started(run, started, event.user_metadata.as_ref(), at);
        }
        Attributes::WorkflowExecutionSignaledEventAttributes(signal) => {
            lifecycle::signaled(run, &signal.request_id);
        }
        Attributes::WorkflowExecutionCancelRequestedEventAttributes(_) => {
            run.state.cancel_requested = true;
        }
        Attributes::WorkflowExecutionCompletedEventAttributes(close) => {
            lifecycle::closed(run, Status::Completed, &close.new_execution_run_id, at);
        }
        Attributes::WorkflowExecutionFailedEventAttributes(close) => {
            lifecycle::closed(run, Status::Failed, &close.new_execution_run_id, at);
        }
        Attributes::WorkflowExecutionTimedOutEventAttributes(close) => {
            lifecycle::closed(run, Status::TimedOut, &close.new_execution_run_id, at);
        }
        Attributes::WorkflowExecutionCanceledEventAttributes(_) => {
            lifecycle::closed(run, Status::Canceled, "", at);
        }
        Attributes::WorkflowExecutionTerminatedEventAttributes(_) => {
            lifecycle::closed(run, Status::Terminated, "", at);
        }
        Attributes::WorkflowExecutionContinuedAsNewEventAttributes(close) => {
            lifecycle::closed(run, Status::ContinuedAsNew, &close.new_execution_run_id, at);
        }
        Attributes::WorkflowTaskScheduledEventAttributes(task) => {
            task::scheduled(run, id, task, at);
        }
        Attributes::WorkflowTaskStartedEventAttributes(task) => task::started(run, id, task, at),
        Attributes::WorkflowTaskCompletedEventAttributes(task) => task::completed(run, task),
        Attributes::WorkflowTaskFailedEventAttributes(task) => task::failed(run, task),
        Attributes::WorkflowTaskTimedOutEventAttributes(_) => run.state.task = None,
        Attributes::ActivityTaskScheduledEventAttributes(activity) => {
            activity::scheduled(run, id, activity, at);
        }
        Attributes::ActivityTaskStartedEventAttributes(activity) => {
            activity::started(run, id, activity);
        }
        Attributes::ActivityTaskCompletedEventAttributes(activity) => {
            activity::closed(run, activity.scheduled_event_id);
        }
        Attributes::ActivityTaskFailedEventAttributes(activity) => {
            activity::closed(run, activity.scheduled_event_id);
        }
        Attributes::ActivityTaskTimedOutEventAttributes(activity) => {
            activity::closed(run, activity.scheduled_event_id);
        }
        Attributes::ActivityTaskCanceledEventAttributes(activity) => {
            activity::closed(run, activity.scheduled_event_id);
        }
        Attributes::ActivityTaskCancelRequestedEventAttributes(activity) => {
            activity::cancel_requested(run, activity.scheduled_event_id, id);
        }
        Attributes::TimerStartedEventAttributes(timer) => timer::started(run, id, timer, at),
        Attributes::TimerFiredEventAttributes(timer) => timer::ended(run, timer.started_event_id),
        Attributes::TimerCanceledEventAttributes(timer) => {
            timer::ended(run, timer.started_event_id);
        }
        Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(child) => {
            child::initiated(run, id, child, event.user_metadata.as_ref());
        }
        Attributes::StartChildWorkflowExecutionFailedEventAttributes(child) => {
            child::ended(run, child.initiated_event_id);
        }
        Attributes::ChildWorkflowExecutionStartedEventAttributes(child) => {
            child::started(run, id, child);
        }
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(child) => {
            child::ended(run, child.initiated_event_id);
        }
        Attributes::ChildWorkflowExecutionFailedEventAttributes(child) => {
            child::ended(run, child.initiated_event_id);
        }
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(child) => {
            child::ended(run, child.initiated_event_id);
        }
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(child) => {
            child::ended(run, child.initiated_event_id);
        }
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(child) => {
            child::ended(run, child.initiated_event_id);
        }
        Attributes::SignalExternalWorkflowExecutionInitiatedEventAttributes(signal) => {
            external::signal_initiated(run, id, signal);
        }
        Attributes::SignalExternalWorkflowExecutionFailedEventAttributes(signal) => {
            external::ended(run, signal.initiated_event_id);
        }
        Attributes::ExternalWorkflowExecutionSignaledEventAttributes(signal) => {
            external::ended(run, signal.initiated_event_id);
        }
        Attributes::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(cancel) => {
            external::cancel_initiated(run, id, cancel);
        }
        Attributes::RequestCancelExternalWorkflowExecutionFailedEventAttributes(cancel) => {
            external::ended(run, cancel.initiated_event_id);
        }
        Attributes::ExternalWorkflowExecutionCancelRequestedEventAttributes(cancel) => {
            external::ended(run, cancel.initiated_event_id);
        }
        Attributes::UpsertWorkflowSearchAttributesEventAttributes(upsert) => {
            properties::search_attributes(run, upsert.search_attributes.as_ref());
        }
        Attributes::WorkflowPropertiesModifiedEventAttributes(modified) => {
            properties::memo(run, modified.upserted_memo.as_ref());
        }
        Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(admitted) => {
            update::admitted(run, id, admitted);
        }
        Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
            update::accepted(run, id, accepted);
        }
        Attributes::WorkflowExecutionUpdateCompletedEventAttributes(completed) => {
            update::completed(run, id, completed);
        }
        Attributes::WorkflowExecutionOptionsUpdatedEventAttributes(updated) => {
            lifecycle::attached(run, id, updated, at);
        }
        // Markers are the worker's own business, and the rest is not written by this engine.
        Attributes::MarkerRecordedEventAttributes(_)
        | Attributes::WorkflowExecutionUpdateRejectedEventAttributes(_)
        | Attributes::WorkflowPropertiesModifiedExternallyEventAttributes(_)
        | Attributes::ActivityPropertiesModifiedExternallyEventAttributes(_)
        | Attributes::NexusOperationScheduledEventAttributes(_)
        | Attributes::NexusOperationStartedEventAttributes(_)
        | Attributes::NexusOperationCompletedEventAttributes(_)
        | Attributes::NexusOperationFailedEventAttributes(_)
        | Attributes::NexusOperationCanceledEventAttributes(_)
        | Attributes::NexusOperationTimedOutEventAttributes(_)
        | Attributes::NexusOperationCancelRequestedEventAttributes(_)
        | Attributes::NexusOperationCancelRequestCompletedEventAttributes(_)
        | Attributes::NexusOperationCancelRequestFailedEventAttributes(_)
        | Attributes::WorkflowExecutionPausedEventAttributes(_)
        | Attributes::WorkflowExecutionUnpausedEventAttributes(_)
        | Attributes::WorkflowExecutionTimeSkippingTransitionedEventAttributes(_) => {}
    }
}

/// Tells the state the id that an event got which had to wait for one.
pub(crate) fn placed(run: &mut Run, event: &HistoryEvent) {
    match &event.attributes {
        Some(Attributes::ChildWorkflowExecutionStartedEventAttributes(child)) => {
            child::started(run, event.event_id, child);
        }
        Some(Attributes::WorkflowExecutionOptionsUpdatedEventAttributes(updated)) => {
            lifecycle::placed(run, event.event_id, &updated.attached_request_id);
        }
        _ => {}
    }
}

/// By which others know a request that they have had before. It is made of what the history holds,
/// so that a repetition has the same one.
fn request_id(run_id: &str, initiated_event_id: i64) -> String {
    format!("{run_id}/{initiated_event_id}")
}
