//! What workers and clients say, in few words.

use steadfast_proto::{
    command::{
        Command, CompleteWorkflowExecutionCommandAttributes, ScheduleActivityTaskCommandAttributes,
    },
    common::{ActivityType, Payload, Payloads, WorkflowExecution, WorkflowType},
    prost_types::Duration,
    query::WorkflowQuery,
    schedule::{ScheduleAction, schedule_action::Action},
    taskqueue::TaskQueue,
    workflow::NewWorkflowExecutionInfo,
    workflowservice as ws,
};

use super::{NAMESPACE, QUEUE};

pub(crate) fn queue(name: &str) -> TaskQueue {
    TaskQueue { name: name.to_owned(), ..TaskQueue::default() }
}

pub(crate) fn execution(workflow_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: String::new() }
}

pub(crate) fn payloads(data: impl Into<Vec<u8>>) -> Payloads {
    Payloads { payloads: vec![Payload { data: data.into(), ..Payload::default() }] }
}

pub(crate) fn seconds(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}

pub(crate) fn start(workflow_id: &str) -> ws::StartWorkflowExecutionRequest {
    ws::StartWorkflowExecutionRequest {
        namespace: NAMESPACE.to_owned(),
        workflow_id: workflow_id.to_owned(),
        workflow_type: Some(WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        request_id: format!("start {workflow_id}"),
        ..ws::StartWorkflowExecutionRequest::default()
    }
}

/// What a schedule does that starts the same.
pub(crate) fn starting(workflow_id: &str) -> ScheduleAction {
    let started = start(workflow_id);
    let action = NewWorkflowExecutionInfo {
        workflow_id: started.workflow_id,
        workflow_type: started.workflow_type,
        task_queue: started.task_queue,
        ..NewWorkflowExecutionInfo::default()
    };
    ScheduleAction { action: Some(Action::StartWorkflow(action)) }
}

pub(crate) fn task_poll(name: &str) -> ws::PollWorkflowTaskQueueRequest {
    ws::PollWorkflowTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(name)),
        identity: "worker".to_owned(),
        ..ws::PollWorkflowTaskQueueRequest::default()
    }
}

pub(crate) fn activity_poll(name: &str) -> ws::PollActivityTaskQueueRequest {
    ws::PollActivityTaskQueueRequest {
        namespace: NAMESPACE.to_owned(),
        task_queue: Some(queue(name)),
        identity: "worker".to_owned(),
        ..ws::PollActivityTaskQueueRequest::default()
    }
}

pub(crate) fn history(workflow_id: &str) -> ws::GetWorkflowExecutionHistoryRequest {
    ws::GetWorkflowExecutionHistoryRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution(workflow_id)),
        ..ws::GetWorkflowExecutionHistoryRequest::default()
    }
}

pub(crate) fn query(workflow_id: &str) -> ws::QueryWorkflowRequest {
    ws::QueryWorkflowRequest {
        namespace: NAMESPACE.to_owned(),
        execution: Some(execution(workflow_id)),
        query: Some(WorkflowQuery { query_type: "how".to_owned(), ..WorkflowQuery::default() }),
        ..ws::QueryWorkflowRequest::default()
    }
}

/// The answer to a workflow task, with these commands.
pub(crate) fn answer(
    task: &ws::PollWorkflowTaskQueueResponse,
    commands: Vec<Command>,
) -> ws::RespondWorkflowTaskCompletedRequest {
    ws::RespondWorkflowTaskCompletedRequest {
        task_token: task.task_token.clone(),
        commands,
        identity: "worker".to_owned(),
        namespace: NAMESPACE.to_owned(),
        ..ws::RespondWorkflowTaskCompletedRequest::default()
    }
}

/// The answer to a workflow task that ends the workflow.
pub(crate) fn complete(
    task: &ws::PollWorkflowTaskQueueResponse,
    result: impl Into<Vec<u8>>,
) -> ws::RespondWorkflowTaskCompletedRequest {
    let attributes = CompleteWorkflowExecutionCommandAttributes { result: Some(payloads(result)) };
    answer(task, vec![Command::of(attributes)])
}

/// The answer to a workflow task that calls an activity on the same queue.
pub(crate) fn call_activity(
    task: &ws::PollWorkflowTaskQueueResponse,
) -> ws::RespondWorkflowTaskCompletedRequest {
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id: "1".to_owned(),
        activity_type: Some(ActivityType { name: "Charge".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        start_to_close_timeout: Some(seconds(600)),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    answer(task, vec![Command::of(attributes)])
}
