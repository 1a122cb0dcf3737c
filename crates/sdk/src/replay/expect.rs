//! Commands of the code, held against the events of history.

use steadfast_proto::{
    command::{Command, command::Attributes as C},
    common::Payloads,
    enums::CommandType,
    history::{HistoryEvent, history_event::Attributes as E},
    prost_types,
};

use super::broken::NonDeterminism;
use crate::{fields::Fields, span, workflow::Issued};

/// Whether an event is the trace of this command; if not, what is wrong.
pub(crate) fn check(issued: Option<&Issued>, event: &HistoryEvent) -> Result<(), NonDeterminism> {
    let Some(issued) = issued else {
        return Err(differs(event, "has nothing more to do there".to_owned()));
    };
    if fits(issued, event) { Ok(()) } else { Err(differs(event, asks(&issued.command))) }
}

/// What is kept of a command that goes to the engine, to be held against its event: not its input, which
/// may be large, unless that has to be the same too.
pub(crate) fn outline(issued: &mut Issued) -> Command {
    let command = &mut issued.command;
    let taken = bulk(command).filter(|_| !issued.exact).map(std::mem::take);
    let outline = command.clone();
    if let (Some(place), Some(taken)) = (bulk(command), taken) {
        *place = taken;
    }
    outline
}

fn bulk(command: &mut Command) -> Option<&mut Option<Payloads>> {
    let attributes = command.attributes.as_mut()?;
    if let C::ScheduleActivityTaskCommandAttributes(it) = attributes {
        Some(&mut it.input)
    } else if let C::StartChildWorkflowExecutionCommandAttributes(it) = attributes {
        Some(&mut it.input)
    } else if let C::SignalExternalWorkflowExecutionCommandAttributes(it) = attributes {
        Some(&mut it.input)
    } else if let C::ContinueAsNewWorkflowExecutionCommandAttributes(it) = attributes {
        Some(&mut it.input)
    } else if let C::CompleteWorkflowExecutionCommandAttributes(it) = attributes {
        Some(&mut it.result)
    } else {
        None
    }
}

/// The code asked for something that history does not have.
pub(crate) fn missing(issued: &Issued, event_id: i64) -> NonDeterminism {
    let history = "no such command".to_owned();
    NonDeterminism { event_id, history, code: asks(&issued.command) }
}

fn differs(event: &HistoryEvent, code: String) -> NonDeterminism {
    NonDeterminism { event_id: event.event_id, history: describe(event), code }
}

/// What has to be the same: the kind, and the name by which the follower events know it.
pub(crate) fn fits(issued: &Issued, event: &HistoryEvent) -> bool {
    let (Some(command), Some(event)) = (&issued.command.attributes, &event.attributes) else {
        return false;
    };
    match (command, event) {
        (
            C::ScheduleActivityTaskCommandAttributes(command),
            E::ActivityTaskScheduledEventAttributes(event),
        ) => {
            command.activity_id == event.activity_id
                && command.activity_type == event.activity_type
                && (!issued.exact || command.input == event.input)
        }
        (C::StartTimerCommandAttributes(command), E::TimerStartedEventAttributes(event)) => {
            command.timer_id == event.timer_id
                && (!issued.exact || command.start_to_fire_timeout == event.start_to_fire_timeout)
        }
        (C::CancelTimerCommandAttributes(command), E::TimerCanceledEventAttributes(event)) => {
            command.timer_id == event.timer_id
        }
        (
            C::RequestCancelActivityTaskCommandAttributes(command),
            E::ActivityTaskCancelRequestedEventAttributes(event),
        ) => command.scheduled_event_id == event.scheduled_event_id,
        (C::RecordMarkerCommandAttributes(command), E::MarkerRecordedEventAttributes(event)) => {
            command.marker_name == event.marker_name && command.details == event.details
        }
        (
            C::StartChildWorkflowExecutionCommandAttributes(command),
            E::StartChildWorkflowExecutionInitiatedEventAttributes(event),
        ) => {
            command.workflow_id == event.workflow_id && command.workflow_type == event.workflow_type
        }
        (
            C::SignalExternalWorkflowExecutionCommandAttributes(command),
            E::SignalExternalWorkflowExecutionInitiatedEventAttributes(event),
        ) => {
            let to = |execution: &Option<steadfast_proto::common::WorkflowExecution>| {
                execution.as_ref().map(|to| to.workflow_id.clone())
            };
            command.signal_name == event.signal_name
                && to(&command.execution) == to(&event.workflow_execution)
        }
        (
            C::RequestCancelExternalWorkflowExecutionCommandAttributes(command),
            E::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(event),
        ) => {
            let to = event.workflow_execution.as_ref().map(|to| to.workflow_id.as_str());
            Some(command.workflow_id.as_str()) == to
        }
        (
            C::UpsertWorkflowSearchAttributesCommandAttributes(command),
            E::UpsertWorkflowSearchAttributesEventAttributes(event),
        ) => {
            // A server may add to the values what type they are of.
            let of = |it: &Option<_>| Fields::of_search_attributes(it.as_ref());
            of(&command.search_attributes).has_names_of(&of(&event.search_attributes))
        }
        (
            C::ModifyWorkflowPropertiesCommandAttributes(command),
            E::WorkflowPropertiesModifiedEventAttributes(event),
        ) => {
            let of = |it: &Option<_>| Fields::of_memo(it.as_ref());
            of(&command.upserted_memo).has_names_of(&of(&event.upserted_memo))
        }
        _ => closes(command, event),
    }
}

/// As [`fits`], for messages and for ends, of which there can be only one.
fn closes(command: &C, event: &E) -> bool {
    matches!(
        (command, event),
        (
            C::ProtocolMessageCommandAttributes(_),
            E::WorkflowExecutionUpdateAcceptedEventAttributes(_)
                | E::WorkflowExecutionUpdateCompletedEventAttributes(_),
        ) | (
            C::CompleteWorkflowExecutionCommandAttributes(_),
            E::WorkflowExecutionCompletedEventAttributes(_)
                // A cron workflow goes on after each completion.
                | E::WorkflowExecutionContinuedAsNewEventAttributes(_),
        ) | (
            C::FailWorkflowExecutionCommandAttributes(_),
            E::WorkflowExecutionFailedEventAttributes(_)
                // The whole workflow is tried again.
                | E::WorkflowExecutionContinuedAsNewEventAttributes(_),
        ) | (
            C::CancelWorkflowExecutionCommandAttributes(_),
            E::WorkflowExecutionCanceledEventAttributes(_),
        ) | (
            C::ContinueAsNewWorkflowExecutionCommandAttributes(_),
            E::WorkflowExecutionContinuedAsNewEventAttributes(_),
        )
    )
}

/// What the code asks for, as the end of a sentence that begins with "the code".
fn asks(command: &Command) -> String {
    match &command.attributes {
        Some(C::ScheduleActivityTaskCommandAttributes(it)) => {
            let name = it.activity_type.as_ref().map(|it| it.name.as_str()).unwrap_or_default();
            format!("asks for activity {name:?}")
        }
        Some(C::StartTimerCommandAttributes(it)) => {
            format!("asks for a timer of {}", shown(it.start_to_fire_timeout.as_ref()))
        }
        Some(C::CancelTimerCommandAttributes(it)) => format!("cancels timer {}", it.timer_id),
        Some(C::RequestCancelActivityTaskCommandAttributes(it)) => {
            format!("cancels the activity of event {}", it.scheduled_event_id)
        }
        Some(C::RecordMarkerCommandAttributes(it)) => {
            format!("records a marker {:?}", it.marker_name)
        }
        Some(C::StartChildWorkflowExecutionCommandAttributes(it)) => {
            format!("starts child workflow {:?}", it.workflow_id)
        }
        Some(C::SignalExternalWorkflowExecutionCommandAttributes(it)) => {
            format!("sends signal {:?}", it.signal_name)
        }
        Some(C::UpsertWorkflowSearchAttributesCommandAttributes(it)) => {
            let names = Fields::of_search_attributes(it.search_attributes.as_ref());
            format!("sets search attributes {:?}", names.names())
        }
        Some(C::ModifyWorkflowPropertiesCommandAttributes(it)) => {
            let names = Fields::of_memo(it.upserted_memo.as_ref());
            format!("changes the memo {:?}", names.names())
        }
        Some(C::CompleteWorkflowExecutionCommandAttributes(_)) => "completes".to_owned(),
        Some(C::FailWorkflowExecutionCommandAttributes(it)) => {
            let message = it.failure.as_ref().map(|it| it.message.as_str()).unwrap_or_default();
            format!("fails: {message}")
        }
        _ => {
            let kind = CommandType::try_from(command.command_type).unwrap_or_default();
            format!("issues {kind:?}")
        }
    }
}

fn describe(event: &HistoryEvent) -> String {
    let kind = event.event_type();
    match &event.attributes {
        Some(E::ActivityTaskScheduledEventAttributes(it)) => {
            let name = it.activity_type.as_ref().map(|it| it.name.as_str()).unwrap_or_default();
            format!("{kind:?} {name:?}")
        }
        Some(E::TimerStartedEventAttributes(it)) => {
            format!("{kind:?} of {}", shown(it.start_to_fire_timeout.as_ref()))
        }
        Some(E::MarkerRecordedEventAttributes(it)) => format!("{kind:?} {:?}", it.marker_name),
        Some(E::StartChildWorkflowExecutionInitiatedEventAttributes(it)) => {
            format!("{kind:?} {:?}", it.workflow_id)
        }
        Some(E::SignalExternalWorkflowExecutionInitiatedEventAttributes(it)) => {
            format!("{kind:?} {:?}", it.signal_name)
        }
        Some(E::UpsertWorkflowSearchAttributesEventAttributes(it)) => {
            let names = Fields::of_search_attributes(it.search_attributes.as_ref());
            format!("{kind:?} {:?}", names.names())
        }
        Some(E::WorkflowPropertiesModifiedEventAttributes(it)) => {
            format!("{kind:?} {:?}", Fields::of_memo(it.upserted_memo.as_ref()).names())
        }
        _ => format!("{kind:?}"),
    }
}

fn shown(span: Option<&prost_types::Duration>) -> String {
    format!("{:?}", span.map(span::from_wire).unwrap_or_default())
}
