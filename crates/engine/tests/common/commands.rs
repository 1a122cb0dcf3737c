//! What workers and clients say, in few words.

use steadfast_proto::{
    command::{self, Command},
    common::{self, Payload, Payloads, SearchAttributes, WorkflowExecution},
    enums,
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    prost_types::Duration,
    taskqueue::{StickyExecutionAttributes, TaskQueue},
};

use super::QUEUE;

pub(crate) fn queue(name: &str) -> TaskQueue {
    TaskQueue { name: name.to_owned(), ..TaskQueue::default() }
}

pub(crate) fn sticky_queue() -> TaskQueue {
    TaskQueue {
        name: "sticky".to_owned(),
        kind: enums::TaskQueueKind::Sticky.into(),
        normal_name: QUEUE.to_owned(),
    }
}

pub(crate) fn sticky() -> StickyExecutionAttributes {
    StickyExecutionAttributes {
        worker_task_queue: Some(sticky_queue()),
        schedule_to_start_timeout: Some(seconds(10)),
    }
}

pub(crate) fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}

pub(crate) fn payload(json: &str) -> Payload {
    Payload::json(json)
}

pub(crate) fn payloads(text: &str) -> Payloads {
    Payloads { payloads: vec![payload(&format!("{text:?}"))] }
}

pub(crate) fn attributes(name: &str, json: &str) -> SearchAttributes {
    SearchAttributes { indexed_fields: [(name.to_owned(), payload(json))].into_iter().collect() }
}

pub(crate) fn failure(message: &str) -> Failure {
    typed_failure("Boom", message)
}

pub(crate) fn typed_failure(kind: &str, message: &str) -> Failure {
    Failure {
        message: message.to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: kind.to_owned(),
            ..ApplicationFailureInfo::default()
        })),
        ..Failure::default()
    }
}

pub(crate) fn seconds(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}

pub(crate) fn retries(initial: i64, coefficient: f64, attempts: i32) -> common::RetryPolicy {
    common::RetryPolicy {
        initial_interval: Some(seconds(initial)),
        backoff_coefficient: coefficient,
        maximum_attempts: attempts,
        ..common::RetryPolicy::default()
    }
}

pub(crate) fn activity(id: &str) -> Command {
    activity_with(id, |_| {})
}

pub(crate) fn activity_with(
    id: &str,
    change: impl FnOnce(&mut command::ScheduleActivityTaskCommandAttributes),
) -> Command {
    let mut wanted = command::ScheduleActivityTaskCommandAttributes {
        activity_id: id.to_owned(),
        activity_type: Some(common::ActivityType { name: "Charge".to_owned() }),
        start_to_close_timeout: Some(seconds(60)),
        ..command::ScheduleActivityTaskCommandAttributes::default()
    };
    change(&mut wanted);
    Command::of(wanted)
}

/// An activity with a retry policy.
pub(crate) fn retried(id: &str, initial: i64, coefficient: f64, attempts: i32) -> Command {
    activity_with(id, |it| it.retry_policy = Some(retries(initial, coefficient, attempts)))
}

pub(crate) fn cancel_activity(scheduled_event_id: i64) -> Command {
    let wanted = command::RequestCancelActivityTaskCommandAttributes { scheduled_event_id };
    Command::of(wanted)
}

pub(crate) fn timer(id: &str, after: i64) -> Command {
    let wanted = command::StartTimerCommandAttributes {
        timer_id: id.to_owned(),
        start_to_fire_timeout: Some(seconds(after)),
    };
    Command::of(wanted)
}

pub(crate) fn cancel_timer(id: &str) -> Command {
    let wanted = command::CancelTimerCommandAttributes { timer_id: id.to_owned() };
    Command::of(wanted)
}

pub(crate) fn complete(result: &str) -> Command {
    let wanted =
        command::CompleteWorkflowExecutionCommandAttributes { result: Some(payloads(result)) };
    Command::of(wanted)
}

pub(crate) fn fail(message: &str) -> Command {
    let wanted =
        command::FailWorkflowExecutionCommandAttributes { failure: Some(failure(message)) };
    Command::of(wanted)
}

pub(crate) fn cancelled() -> Command {
    let wanted = command::CancelWorkflowExecutionCommandAttributes::default();
    Command::of(wanted)
}

pub(crate) fn continue_as_new() -> Command {
    let wanted = command::ContinueAsNewWorkflowExecutionCommandAttributes::default();
    Command::of(wanted)
}

pub(crate) fn child(workflow_id: &str) -> Command {
    child_with(workflow_id, |_| {})
}

pub(crate) fn child_with(
    workflow_id: &str,
    change: impl FnOnce(&mut command::StartChildWorkflowExecutionCommandAttributes),
) -> Command {
    let mut wanted = command::StartChildWorkflowExecutionCommandAttributes {
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(common::WorkflowType { name: "Child".to_owned() }),
        task_queue: Some(queue("children")),
        ..command::StartChildWorkflowExecutionCommandAttributes::default()
    };
    change(&mut wanted);
    Command::of(wanted)
}

pub(crate) fn signal_external(workflow_id: &str, name: &str) -> Command {
    let wanted = command::SignalExternalWorkflowExecutionCommandAttributes {
        execution: Some(execution(workflow_id, "")),
        signal_name: name.to_owned(),
        ..command::SignalExternalWorkflowExecutionCommandAttributes::default()
    };
    Command::of(wanted)
}

pub(crate) fn cancel_external(workflow_id: &str) -> Command {
    let wanted = command::RequestCancelExternalWorkflowExecutionCommandAttributes {
        workflow_id: workflow_id.to_owned(),
        ..command::RequestCancelExternalWorkflowExecutionCommandAttributes::default()
    };
    Command::of(wanted)
}

pub(crate) fn upsert(name: &str, json: &str) -> Command {
    let wanted = command::UpsertWorkflowSearchAttributesCommandAttributes {
        search_attributes: Some(attributes(name, json)),
    };
    Command::of(wanted)
}
