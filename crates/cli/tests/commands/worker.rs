//! A worker whose code is the test: it takes tasks and answers them as it is told.

use steadfast_proto::{
    clients::WorkflowServiceClient,
    command::{
        Command, CompleteWorkflowExecutionCommandAttributes,
        ContinueAsNewWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
        ScheduleActivityTaskCommandAttributes,
    },
    common::{ActivityType, Payload, Payloads, RetryPolicy, WorkflowType},
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    prost_types::Duration,
    query::WorkflowQuery,
    taskqueue::TaskQueue,
    workflowservice::{
        PollActivityTaskQueueRequest, PollActivityTaskQueueResponse, PollWorkflowTaskQueueRequest,
        PollWorkflowTaskQueueResponse, RespondActivityTaskFailedRequest,
        RespondQueryTaskCompletedRequest, RespondWorkflowTaskCompletedRequest,
    },
};
use tokio::runtime::{Builder, Runtime};
use tonic::{metadata::MetadataValue, transport::Channel};

/// A worker on the queue `orders`.
pub(crate) struct Worker {
    runtime: Runtime,
    client: WorkflowServiceClient<Channel>,
}

impl Worker {
    pub(crate) fn connect(address: &str) -> Self {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let client = WorkflowServiceClient::connect(format!("http://{address}"));
        let client = runtime.block_on(client).expect("a server");
        Self { runtime, client }
    }

    /// Takes the next workflow task.
    pub(crate) fn task(&mut self) -> PollWorkflowTaskQueueResponse {
        let request = PollWorkflowTaskQueueRequest {
            namespace: "default".into(),
            task_queue: Some(queue()),
            identity: "worker-1".into(),
            ..PollWorkflowTaskQueueRequest::default()
        };
        let task = self.runtime.block_on(self.client.poll_workflow_task_queue(request));
        task.expect("a task").into_inner()
    }

    /// Answers a workflow task.
    pub(crate) fn answer(&mut self, task: PollWorkflowTaskQueueResponse, commands: Vec<Command>) {
        let request = RespondWorkflowTaskCompletedRequest {
            namespace: "default".into(),
            task_token: task.task_token,
            identity: "worker-1".into(),
            commands,
            ..RespondWorkflowTaskCompletedRequest::default()
        };
        let done = self.runtime.block_on(self.client.respond_workflow_task_completed(request));
        done.expect("taken");
    }

    /// Takes the next workflow task and answers it.
    pub(crate) fn step(&mut self, commands: Vec<Command>) {
        let task = self.task();
        self.answer(task, commands);
    }

    /// Takes a query and answers it with its own name.
    pub(crate) fn answer_query(&mut self) {
        let task = self.task();
        let WorkflowQuery { query_type, .. } = task.query.expect("a query");
        let request = RespondQueryTaskCompletedRequest {
            namespace: "default".into(),
            task_token: task.task_token,
            completed_type: 1,
            query_result: Some(json(&format!("\"{query_type} it is\""))),
            ..RespondQueryTaskCompletedRequest::default()
        };
        let done = self.runtime.block_on(self.client.respond_query_task_completed(request));
        done.expect("taken");
    }

    /// Takes the next attempt of an activity.
    pub(crate) fn attempt(&mut self) -> PollActivityTaskQueueResponse {
        let request = PollActivityTaskQueueRequest {
            namespace: "default".into(),
            task_queue: Some(queue()),
            identity: "worker-1".into(),
            ..PollActivityTaskQueueRequest::default()
        };
        let mut request = tonic::Request::new(request);
        request.metadata_mut().insert("steadfast-attempt-keys", MetadataValue::from_static("true"));
        let task = self.runtime.block_on(self.client.poll_activity_task_queue(request));
        task.expect("an attempt").into_inner()
    }

    /// Takes the next attempt and fails it.
    pub(crate) fn fail_attempt(&mut self, why: &str) -> PollActivityTaskQueueResponse {
        let attempt = self.attempt();
        let request = RespondActivityTaskFailedRequest {
            namespace: "default".into(),
            task_token: attempt.task_token.clone(),
            identity: "worker-1".into(),
            failure: Some(failure("CardError", why)),
            ..RespondActivityTaskFailedRequest::default()
        };
        let done = self.runtime.block_on(self.client.respond_activity_task_failed(request));
        done.expect("taken");
        attempt
    }

    /// Begins to wait for a task that does not come.
    pub(crate) fn wait_in_vain(&self) {
        let mut client = self.client.clone();
        self.runtime.spawn(async move {
            let request = PollActivityTaskQueueRequest {
                namespace: "default".into(),
                task_queue: Some(queue()),
                identity: "worker-1".into(),
                ..PollActivityTaskQueueRequest::default()
            };
            client.poll_activity_task_queue(request).await
        });
    }
}

/// Calls the activity `Charge`, with an hour before its second attempt.
pub(crate) fn charge() -> Command {
    let hour = Duration { seconds: 3_600, nanos: 0 };
    let policy = RetryPolicy {
        initial_interval: Some(hour),
        backoff_coefficient: 1.0,
        maximum_attempts: 5,
        ..RetryPolicy::default()
    };
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id: "charge-1".into(),
        activity_type: Some(ActivityType { name: "Charge".into() }),
        task_queue: Some(queue()),
        start_to_close_timeout: Some(Duration { seconds: 60, nanos: 0 }),
        retry_policy: Some(policy),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    Command::of(attributes)
}

/// Completes the workflow.
pub(crate) fn complete(result: &str) -> Command {
    let attributes = CompleteWorkflowExecutionCommandAttributes { result: Some(json(result)) };
    Command::of(attributes)
}

/// Continues the workflow as a new run.
pub(crate) fn continue_as_new() -> Command {
    let attributes = ContinueAsNewWorkflowExecutionCommandAttributes {
        workflow_type: Some(WorkflowType { name: "Order".into() }),
        task_queue: Some(queue()),
        ..ContinueAsNewWorkflowExecutionCommandAttributes::default()
    };
    Command::of(attributes)
}

/// Fails the workflow, for a cause.
pub(crate) fn fail() -> Command {
    let mut failure = failure("OrderError", "the order cannot be kept");
    failure.cause = Some(Box::new(self::failure("CardError", "no money")));
    let attributes = FailWorkflowExecutionCommandAttributes { failure: Some(failure) };
    Command::of(attributes)
}

fn failure(kind: &str, message: &str) -> Failure {
    let info = ApplicationFailureInfo { r#type: kind.into(), ..ApplicationFailureInfo::default() };
    Failure {
        message: message.into(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
        ..Failure::default()
    }
}

fn json(text: &str) -> Payloads {
    Payloads { payloads: vec![Payload::json(text)] }
}

fn queue() -> TaskQueue {
    TaskQueue { name: "orders".into(), ..TaskQueue::default() }
}
