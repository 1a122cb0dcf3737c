//! An engine on virtual time, and the few calls that tests make of it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::{sync::Arc, time::Duration};

use steadfast_engine::{Clock, Engine, Error, Limits, Options, Timestamp, Wait};
use steadfast_proto::{
    command::{self, Command, command::Attributes},
    common::{self, Payload, Payloads, WorkflowExecution},
    enums,
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    history::HistoryEvent,
    taskqueue::{StickyExecutionAttributes, TaskQueue},
    workflowservice as ws,
};
use steadfast_store::Store;

pub(crate) const NAMESPACE: &str = "default";
pub(crate) const QUEUE: &str = "queue";

/// Time that moves only when everybody waits.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    start: tokio::time::Instant,
}

impl VirtualClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { start: tokio::time::Instant::now() })
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1_000_000).after(self.start.elapsed())
    }

    fn sleep(&self, span: Duration) -> Wait {
        #[expect(clippy::disallowed_methods, reason = "virtual time")]
        let sleep = tokio::time::sleep(span);
        Box::pin(sleep)
    }
}

/// An engine on a store.
pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) limits: Limits,
    opened: u64,
}

impl Rig {
    pub(crate) async fn open(store: Arc<dyn Store>) -> Self {
        Self::with(store, Limits::default()).await
    }

    pub(crate) async fn with(store: Arc<dyn Store>, limits: Limits) -> Self {
        let clock = VirtualClock::new();
        let engine = open(&store, &clock, &limits, 1).await;
        Self { engine, store, clock, limits, opened: 1 }
    }

    /// Pulls the plug and starts again on the same store.
    pub(crate) async fn crash(&mut self) {
        self.engine.abandon();
        // Tasks that were aborted end at their next turn.
        tokio::task::yield_now().await;
        self.opened += 1;
        self.engine = open(&self.store, &self.clock, &self.limits, self.opened).await;
    }

    pub(crate) async fn start(&self, workflow_id: &str) -> String {
        self.start_with(workflow_id, |_| {}).await.expect("a good start").run_id
    }

    pub(crate) async fn start_with(
        &self,
        workflow_id: &str,
        change: impl FnOnce(&mut ws::StartWorkflowExecutionRequest),
    ) -> Result<ws::StartWorkflowExecutionResponse, Error> {
        let mut request = ws::StartWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_id: workflow_id.to_owned(),
            workflow_type: Some(common::WorkflowType { name: "Order".to_owned() }),
            task_queue: Some(queue(QUEUE)),
            identity: "client".to_owned(),
            ..ws::StartWorkflowExecutionRequest::default()
        };
        change(&mut request);
        self.engine.start_workflow_execution(request).await
    }

    pub(crate) async fn poll_task(&self) -> ws::PollWorkflowTaskQueueResponse {
        let request = ws::PollWorkflowTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(queue(QUEUE)),
            identity: "worker".to_owned(),
            ..ws::PollWorkflowTaskQueueRequest::default()
        };
        self.engine.poll_workflow_task_queue(request).await.expect("a poll")
    }

    pub(crate) async fn poll_sticky(&self) -> ws::PollWorkflowTaskQueueResponse {
        let request = ws::PollWorkflowTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(TaskQueue {
                name: "sticky".to_owned(),
                kind: enums::TaskQueueKind::Sticky.into(),
                normal_name: QUEUE.to_owned(),
            }),
            identity: "worker".to_owned(),
            ..ws::PollWorkflowTaskQueueRequest::default()
        };
        self.engine.poll_workflow_task_queue(request).await.expect("a poll")
    }

    pub(crate) async fn poll_activity(&self) -> ws::PollActivityTaskQueueResponse {
        let request = ws::PollActivityTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(queue(QUEUE)),
            identity: "worker".to_owned(),
            ..ws::PollActivityTaskQueueRequest::default()
        };
        self.engine.poll_activity_task_queue(request).await.expect("a poll")
    }

    pub(crate) async fn complete_task(
        &self,
        task: &ws::PollWorkflowTaskQueueResponse,
        commands: Vec<Command>,
    ) -> Result<ws::RespondWorkflowTaskCompletedResponse, Error> {
        self.complete_task_with(task, commands, |_| {}).await
    }

    pub(crate) async fn complete_task_with(
        &self,
        task: &ws::PollWorkflowTaskQueueResponse,
        commands: Vec<Command>,
        change: impl FnOnce(&mut ws::RespondWorkflowTaskCompletedRequest),
    ) -> Result<ws::RespondWorkflowTaskCompletedResponse, Error> {
        let mut request = ws::RespondWorkflowTaskCompletedRequest {
            task_token: task.task_token.clone(),
            commands,
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondWorkflowTaskCompletedRequest::default()
        };
        change(&mut request);
        self.engine.respond_workflow_task_completed(request).await
    }

    /// The next workflow task, however long it takes.
    pub(crate) async fn next_task(&self) -> ws::PollWorkflowTaskQueueResponse {
        for _ in 0..100_000 {
            let task = self.poll_task().await;
            if !task.task_token.is_empty() {
                return task;
            }
        }
        panic!("no workflow task comes")
    }

    /// The next activity, however long it takes.
    pub(crate) async fn next_activity(&self) -> ws::PollActivityTaskQueueResponse {
        for _ in 0..100_000 {
            let task = self.poll_activity().await;
            if !task.task_token.is_empty() {
                return task;
            }
        }
        panic!("no activity comes")
    }

    /// Takes the next workflow task and answers it.
    pub(crate) async fn step(&self, commands: Vec<Command>) {
        let task = self.next_task().await;
        self.complete_task(&task, commands).await.expect("a good completion");
    }

    pub(crate) async fn complete_activity(
        &self,
        task: &ws::PollActivityTaskQueueResponse,
        result: &str,
    ) -> Result<(), Error> {
        let request = ws::RespondActivityTaskCompletedRequest {
            task_token: task.task_token.clone(),
            result: Some(payloads(result)),
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskCompletedRequest::default()
        };
        self.engine.respond_activity_task_completed(request).await.map(drop)
    }

    pub(crate) async fn fail_activity(
        &self,
        task: &ws::PollActivityTaskQueueResponse,
        message: &str,
    ) -> Result<(), Error> {
        let request = ws::RespondActivityTaskFailedRequest {
            task_token: task.task_token.clone(),
            failure: Some(failure(message)),
            identity: "worker".to_owned(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskFailedRequest::default()
        };
        self.engine.respond_activity_task_failed(request).await.map(drop)
    }

    pub(crate) async fn signal(&self, workflow_id: &str, name: &str) -> Result<(), Error> {
        let request = ws::SignalWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution(workflow_id, "")),
            signal_name: name.to_owned(),
            ..ws::SignalWorkflowExecutionRequest::default()
        };
        self.engine.signal_workflow_execution(request).await.map(drop)
    }

    pub(crate) async fn describe(
        &self,
        workflow_id: &str,
        run_id: &str,
    ) -> Result<ws::DescribeWorkflowExecutionResponse, Error> {
        let request = ws::DescribeWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            execution: Some(execution(workflow_id, run_id)),
        };
        self.engine.describe_workflow_execution(request).await
    }

    pub(crate) async fn history(&self, workflow_id: &str, run_id: &str) -> Vec<HistoryEvent> {
        let mut events = Vec::new();
        let mut next_page_token = Vec::new();
        loop {
            let request = ws::GetWorkflowExecutionHistoryRequest {
                namespace: NAMESPACE.to_owned(),
                execution: Some(execution(workflow_id, run_id)),
                next_page_token,
                ..ws::GetWorkflowExecutionHistoryRequest::default()
            };
            let page = self.engine.get_workflow_execution_history(request).await.expect("a page");
            events.extend(page.history.expect("a history").events);
            next_page_token = page.next_page_token;
            if next_page_token.is_empty() {
                return events;
            }
        }
    }

    /// The history as text, one line an event.
    pub(crate) async fn text(&self, workflow_id: &str, run_id: &str) -> String {
        steadfast_core::text::history(&self.history(workflow_id, run_id).await)
    }

    /// Waits for the run to close and gives its last event.
    pub(crate) async fn closed(&self, workflow_id: &str, run_id: &str) -> HistoryEvent {
        let mut next_page_token = Vec::new();
        loop {
            let request = ws::GetWorkflowExecutionHistoryRequest {
                namespace: NAMESPACE.to_owned(),
                execution: Some(execution(workflow_id, run_id)),
                wait_new_event: true,
                history_event_filter_type: enums::HistoryEventFilterType::CloseEvent.into(),
                next_page_token,
                ..ws::GetWorkflowExecutionHistoryRequest::default()
            };
            let page = self.engine.get_workflow_execution_history(request).await.expect("a page");
            if let Some(event) = page.history.expect("a history").events.pop() {
                return event;
            }
            next_page_token = page.next_page_token;
        }
    }
}

async fn open(
    store: &Arc<dyn Store>,
    clock: &Arc<VirtualClock>,
    limits: &Limits,
    seed: u64,
) -> Engine {
    let options = Options {
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        seed: Some(seed),
        limits: limits.clone(),
        ..Options::default()
    };
    Engine::open(Arc::clone(store), options).await.expect("an engine")
}

pub(crate) fn queue(name: &str) -> TaskQueue {
    TaskQueue { name: name.to_owned(), ..TaskQueue::default() }
}

pub(crate) fn sticky() -> Option<StickyExecutionAttributes> {
    Some(StickyExecutionAttributes {
        worker_task_queue: Some(TaskQueue {
            name: "sticky".to_owned(),
            kind: enums::TaskQueueKind::Sticky.into(),
            normal_name: QUEUE.to_owned(),
        }),
        schedule_to_start_timeout: seconds(10),
    })
}

pub(crate) fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}

pub(crate) fn payloads(text: &str) -> Payloads {
    let encoding = ("encoding".to_owned(), b"json/plain".to_vec());
    Payloads {
        payloads: vec![Payload {
            metadata: [encoding].into_iter().collect(),
            data: format!("{text:?}").into_bytes(),
            ..Payload::default()
        }],
    }
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure {
        message: message.to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: "Boom".to_owned(),
            ..ApplicationFailureInfo::default()
        })),
        ..Failure::default()
    }
}

pub(crate) fn seconds(seconds: i64) -> Option<steadfast_proto::prost_types::Duration> {
    Some(steadfast_proto::prost_types::Duration { seconds, nanos: 0 })
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
        start_to_close_timeout: seconds(60),
        ..command::ScheduleActivityTaskCommandAttributes::default()
    };
    change(&mut wanted);
    of(enums::CommandType::ScheduleActivityTask, wanted.into())
}

pub(crate) fn timer(id: &str, after: i64) -> Command {
    let wanted = command::StartTimerCommandAttributes {
        timer_id: id.to_owned(),
        start_to_fire_timeout: seconds(after),
    };
    of(enums::CommandType::StartTimer, wanted.into())
}

pub(crate) fn complete(result: &str) -> Command {
    let wanted =
        command::CompleteWorkflowExecutionCommandAttributes { result: Some(payloads(result)) };
    of(enums::CommandType::CompleteWorkflowExecution, wanted.into())
}

pub(crate) fn fail(message: &str) -> Command {
    let wanted =
        command::FailWorkflowExecutionCommandAttributes { failure: Some(failure(message)) };
    of(enums::CommandType::FailWorkflowExecution, wanted.into())
}

pub(crate) fn of(kind: enums::CommandType, attributes: Attributes) -> Command {
    Command { command_type: kind.into(), attributes: Some(attributes), ..Command::default() }
}
