//! A history for people: one line an event. Tests, the command line and the pages all show this.

use std::fmt::Write as _;

use steadfast_proto::{
    common, enums,
    failure::Failure,
    history::{HistoryEvent, history_event::Attributes},
};
use steadfast_retry::Timestamp;

use crate::span::{from_wire, instant_from_wire};

/// A history, one line an event, times relative to its first event.
pub fn history<'a>(events: impl IntoIterator<Item = &'a HistoryEvent>) -> String {
    let mut text = String::new();
    let mut first = None;
    for event in events {
        let at = event.event_time.as_ref().map(instant_from_wire).unwrap_or_default();
        let start = *first.get_or_insert(at);
        _ = writeln!(text, "{:>4} {:>9}  {}", event.event_id, since(start, at), line(event));
    }
    text
}

/// One event: its name, and what sets it apart from others of its kind.
pub fn line(event: &HistoryEvent) -> String {
    let name = event.event_type().as_str_name().trim_start_matches("EVENT_TYPE_");
    let mut line = camel(name);
    if let Some(attributes) = &event.attributes {
        detail(&mut line, attributes);
    }
    line
}

fn since(start: Timestamp, at: Timestamp) -> String {
    let span = at.since(start);
    format!("{}.{:03}", span.as_secs(), span.subsec_millis())
}

fn camel(name: &str) -> String {
    let word = |word: &str| {
        let (first, rest) = word.split_at(word.len().min(1));
        format!("{first}{}", rest.to_lowercase())
    };
    name.split('_').map(word).collect()
}

#[expect(clippy::too_many_lines, reason = "one arm an event")]
#[expect(clippy::wildcard_enum_match_arm, reason = "the name of the others says it all")]
fn detail(line: &mut String, attributes: &Attributes) {
    match attributes {
        Attributes::WorkflowExecutionStartedEventAttributes(it) => {
            word(line, it.workflow_type.as_ref().map_or("", |kind| &kind.name));
            if it.attempt > 1 {
                _ = write!(line, " attempt={}", it.attempt);
            }
            let backoff = from_wire(it.first_workflow_task_backoff.as_ref());
            if !backoff.is_zero() {
                _ = write!(line, " backoff={backoff:?}");
            }
            if it.initiator() != enums::ContinueAsNewInitiator::Unspecified {
                _ = write!(line, " initiator={}", initiator(it.initiator()));
            }
        }
        Attributes::WorkflowTaskScheduledEventAttributes(it) => {
            if it.attempt > 1 {
                _ = write!(line, " attempt={}", it.attempt);
            }
            if let Some(queue) = &it.task_queue
                && queue.kind() == enums::TaskQueueKind::Sticky
            {
                _ = write!(line, " sticky={}", queue.name);
            }
        }
        Attributes::WorkflowTaskFailedEventAttributes(it) => {
            let cause = it.cause().as_str_name().trim_start_matches("WORKFLOW_TASK_FAILED_CAUSE_");
            word(line, &camel(cause));
            failure(line, it.failure.as_ref());
        }
        Attributes::WorkflowTaskTimedOutEventAttributes(it) => {
            word(line, timeout(it.timeout_type()));
        }
        Attributes::ActivityTaskScheduledEventAttributes(it) => {
            word(line, &it.activity_id);
            word(line, it.activity_type.as_ref().map_or("", |kind| &kind.name));
        }
        Attributes::ActivityTaskStartedEventAttributes(it) => {
            _ = write!(line, " #{} attempt={}", it.scheduled_event_id, it.attempt);
            failure(line, it.last_failure.as_ref());
        }
        Attributes::ActivityTaskCompletedEventAttributes(it) => {
            reference(line, it.scheduled_event_id, it.started_event_id);
            payloads(line, it.result.as_ref());
        }
        Attributes::ActivityTaskFailedEventAttributes(it) => {
            reference(line, it.scheduled_event_id, it.started_event_id);
            retry(line, it.retry_state());
            failure(line, it.failure.as_ref());
        }
        Attributes::ActivityTaskTimedOutEventAttributes(it) => {
            reference(line, it.scheduled_event_id, it.started_event_id);
            retry(line, it.retry_state());
            failure(line, it.failure.as_ref());
        }
        Attributes::ActivityTaskCancelRequestedEventAttributes(it) => {
            _ = write!(line, " #{}", it.scheduled_event_id);
        }
        Attributes::ActivityTaskCanceledEventAttributes(it) => {
            reference(line, it.scheduled_event_id, it.started_event_id);
        }
        Attributes::TimerStartedEventAttributes(it) => {
            word(line, &it.timer_id);
            _ = write!(line, " {:?}", from_wire(it.start_to_fire_timeout.as_ref()));
        }
        Attributes::TimerFiredEventAttributes(it) => word(line, &it.timer_id),
        Attributes::TimerCanceledEventAttributes(it) => word(line, &it.timer_id),
        Attributes::WorkflowExecutionSignaledEventAttributes(it) => {
            word(line, &it.signal_name);
            payloads(line, it.input.as_ref());
        }
        Attributes::WorkflowExecutionCancelRequestedEventAttributes(it) => word(line, &it.cause),
        Attributes::WorkflowExecutionTerminatedEventAttributes(it) => word(line, &it.reason),
        Attributes::WorkflowExecutionCompletedEventAttributes(it) => {
            payloads(line, it.result.as_ref());
            next(line, &it.new_execution_run_id);
        }
        Attributes::WorkflowExecutionFailedEventAttributes(it) => {
            retry(line, it.retry_state());
            failure(line, it.failure.as_ref());
            next(line, &it.new_execution_run_id);
        }
        Attributes::WorkflowExecutionTimedOutEventAttributes(it) => {
            retry(line, it.retry_state());
            next(line, &it.new_execution_run_id);
        }
        Attributes::WorkflowExecutionContinuedAsNewEventAttributes(it) => {
            _ = write!(line, " initiator={}", initiator(it.initiator()));
            #[expect(deprecated, reason = "the failure is what a retried run is asked for")]
            failure(line, it.failure.as_ref());
        }
        Attributes::MarkerRecordedEventAttributes(it) => word(line, &it.marker_name),
        Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(it) => {
            word(line, &it.workflow_id);
            word(line, it.workflow_type.as_ref().map_or("", |kind| &kind.name));
        }
        Attributes::StartChildWorkflowExecutionFailedEventAttributes(it) => {
            _ = write!(line, " #{}", it.initiated_event_id);
        }
        Attributes::ChildWorkflowExecutionStartedEventAttributes(it) => {
            _ = write!(line, " #{}", it.initiated_event_id);
        }
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(it) => {
            reference(line, it.initiated_event_id, it.started_event_id);
            payloads(line, it.result.as_ref());
        }
        Attributes::ChildWorkflowExecutionFailedEventAttributes(it) => {
            reference(line, it.initiated_event_id, it.started_event_id);
            failure(line, it.failure.as_ref());
        }
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(it) => {
            reference(line, it.initiated_event_id, it.started_event_id);
        }
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(it) => {
            reference(line, it.initiated_event_id, it.started_event_id);
        }
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(it) => {
            reference(line, it.initiated_event_id, it.started_event_id);
        }
        Attributes::SignalExternalWorkflowExecutionInitiatedEventAttributes(it) => {
            word(line, it.workflow_execution.as_ref().map_or("", |run| &run.workflow_id));
            word(line, &it.signal_name);
        }
        Attributes::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(it) => {
            word(line, it.workflow_execution.as_ref().map_or("", |run| &run.workflow_id));
        }
        Attributes::ExternalWorkflowExecutionSignaledEventAttributes(it) => {
            _ = write!(line, " #{}", it.initiated_event_id);
        }
        Attributes::ExternalWorkflowExecutionCancelRequestedEventAttributes(it) => {
            _ = write!(line, " #{}", it.initiated_event_id);
        }
        Attributes::SignalExternalWorkflowExecutionFailedEventAttributes(it) => {
            let cause = it.cause().as_str_name();
            let prefix = "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_";
            _ = write!(line, " #{}", it.initiated_event_id);
            word(line, &camel(cause.trim_start_matches(prefix)));
        }
        Attributes::RequestCancelExternalWorkflowExecutionFailedEventAttributes(it) => {
            let cause = it.cause().as_str_name();
            let prefix = "CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_";
            _ = write!(line, " #{}", it.initiated_event_id);
            word(line, &camel(cause.trim_start_matches(prefix)));
        }
        Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(it) => {
            let meta = it.request.as_ref().and_then(|request| request.meta.as_ref());
            word(line, meta.map_or("", |meta| &meta.update_id));
        }
        Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(it) => {
            word(line, &it.protocol_instance_id);
        }
        Attributes::WorkflowExecutionUpdateCompletedEventAttributes(it) => {
            word(line, it.meta.as_ref().map_or("", |meta| &meta.update_id));
        }
        _ => {}
    }
}

fn word(line: &mut String, word: &str) {
    if !word.is_empty() {
        _ = write!(line, " {word}");
    }
}

fn reference(line: &mut String, first: i64, started: i64) {
    _ = write!(line, " #{first}");
    if started == 0 {
        line.push_str(" (not started)");
    }
}

fn retry(line: &mut String, state: enums::RetryState) {
    word(line, &camel(state.as_str_name().trim_start_matches("RETRY_STATE_")));
}

fn next(line: &mut String, run_id: &str) {
    if !run_id.is_empty() {
        line.push_str(" (goes on)");
    }
}

fn failure(line: &mut String, failure: Option<&Failure>) {
    if let Some(failure) = failure {
        _ = write!(line, " {:?}", failure.message);
        if let Some(cause) = &failure.cause {
            _ = write!(line, " after {:?}", cause.message);
        }
    }
}

fn payloads(line: &mut String, payloads: Option<&common::Payloads>) {
    for payload in payloads.iter().flat_map(|payloads| &payloads.payloads) {
        _ = write!(line, " {}", String::from_utf8_lossy(&payload.data));
    }
}

fn timeout(kind: enums::TimeoutType) -> &'static str {
    match kind {
        enums::TimeoutType::StartToClose => "StartToClose",
        enums::TimeoutType::ScheduleToStart => "ScheduleToStart",
        enums::TimeoutType::ScheduleToClose => "ScheduleToClose",
        enums::TimeoutType::Heartbeat => "Heartbeat",
        enums::TimeoutType::Unspecified => "",
    }
}

fn initiator(initiator: enums::ContinueAsNewInitiator) -> &'static str {
    match initiator {
        enums::ContinueAsNewInitiator::Workflow => "Workflow",
        enums::ContinueAsNewInitiator::Retry => "Retry",
        enums::ContinueAsNewInitiator::CronSchedule => "CronSchedule",
        enums::ContinueAsNewInitiator::Unspecified => "",
    }
}
