//! A flow of three steps on a real server whose time stands still, and that may crash anywhere.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use serde_json::{Value, json};
use steadfast_core::policy::KIND_HEADER;
use steadfast_engine::{ATTEMPT_KEYS, Engine, Limits, Options, Webhooks};
use steadfast_proto::{
    command::{
        CancelWorkflowExecutionCommandAttributes, Command,
        CompleteWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
        ScheduleActivityTaskCommandAttributes,
    },
    common::{ActivityType, Header, Payload, RetryPolicy, WorkflowType},
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    history::history_event::Attributes as Event,
    prost_types, workflowservice as ws,
};
use steadfast_retry::resume::NO_EGRESS;
use steadfast_server::{HttpWebhooks, Server};
use steadfast_store::{Memory, Store};
use tonic::metadata::MetadataValue;

use crate::common::{
    Client, NAMESPACE, QUEUE, StillClock, World, activity_poll, answer, doors, execution, history,
    queue, seconds, soon, start, task_poll,
};

/// A server on a store that outlives it.
pub(crate) struct Flow {
    store: Arc<Memory>,
    pub(crate) clock: Arc<StillClock>,
    world: Option<World>,
    client: Option<Client>,
    /// Places in the story where the plug can be pulled, so far.
    points: usize,
    crash_at: Option<usize>,
}

/// Tells a story straight through, and once more for each of its points with the plug pulled there.
pub(crate) async fn survives(tell: impl AsyncFn(&mut Flow)) {
    let mut points = 1;
    let mut crash_at = None;
    while crash_at.is_none_or(|at| at < points) {
        let mut flow = Flow::new(crash_at).await;
        tell(&mut flow).await;
        if crash_at.is_none() {
            points = flow.points;
        }
        flow.end();
        crash_at = Some(crash_at.map_or(0, |at| at + 1));
    }
}

impl Flow {
    async fn new(crash_at: Option<usize>) -> Self {
        let mut flow = Self {
            store: Arc::new(Memory::new()),
            clock: StillClock::new(),
            world: None,
            client: None,
            points: 0,
            crash_at,
        };
        flow.open().await;
        flow
    }

    async fn open(&mut self) {
        let store: Arc<dyn Store> = self.store.clone();
        let webhooks: Arc<dyn Webhooks> = WEBHOOKS.clone();
        let options = Options {
            clock: self.clock.clone(),
            limits: Limits::default(),
            webhooks: Some(webhooks),
            ..Options::default()
        };
        let engine = Engine::open(store, options).await.expect("an engine");
        let server = Server::open(engine.clone(), doors()).await.expect("a server");
        let world = World { engine, server };
        self.client = Some(world.client().await);
        self.world = Some(world);
    }

    fn end(&mut self) {
        self.client = None;
        if let Some(world) = self.world.take() {
            world.engine.abandon();
        }
    }

    /// A place where the plug may be pulled: the engine is gone, another one is on its data.
    pub(crate) async fn point(&mut self) {
        let here = self.points;
        self.points += 1;
        if self.crash_at == Some(here) {
            self.end();
            self.open().await;
        }
    }

    pub(crate) fn world(&self) -> &World {
        self.world.as_ref().expect("a server")
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone().expect("a client")
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds));
    }

    /// What the API answers to somebody who asks rightly.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// What the API says to somebody whom it refuses.
    pub(crate) async fn refuse(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let (status, answer) = self.call(method, path, body).await;
        assert_ne!(status, 200, "{method} {path}: {answer}");
        (status, answer["error"]["message"].as_str().expect("a message").to_owned())
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let path = format!("/api/v1/namespaces/{NAMESPACE}/{path}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        soon(self.world().ask(method, &path, &body)).await
    }

    /// Whatever is given up is parked.
    pub(crate) async fn park_what_is_given_up(&self) {
        self.ask("PUT", "settings", json!({ "endings": [{ "ending": "park" }] })).await;
    }

    /// The errors that a query finds, the oldest first.
    pub(crate) async fn errors(&self, query: &str) -> Vec<Value> {
        let answer = self.ask("GET", &format!("errors?order=oldest&{query}"), Value::Null).await;
        answer["errors"].as_array().expect("errors").clone()
    }

    /// Nothing is failing.
    pub(crate) async fn is_well(&self) {
        let errors = self.errors("").await;
        assert!(errors.is_empty(), "{errors:?}");
    }

    /// The only error.
    pub(crate) async fn error(&self) -> Value {
        let errors = self.errors("").await;
        assert_eq!(errors.len(), 1, "{errors:?}");
        errors[0].clone()
    }

    /// Waits until the errors that a query finds are as told.
    pub(crate) async fn until(&self, query: &str, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        soon(async {
            loop {
                let errors = self.errors(query).await;
                if is_so(&errors) {
                    return errors;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// Starts a workflow of a type, whose first step is then to be done.
    pub(crate) async fn start(&self, workflow_id: &str, flow: &str) {
        let request = ws::StartWorkflowExecutionRequest {
            workflow_type: Some(WorkflowType { name: flow.to_owned() }),
            ..start(workflow_id)
        };
        self.client().start_workflow_execution(request).await.expect("a start");
        self.advance().await;
    }

    /// Runs the workflow's code: one step after the other, then it is done; what fails, fails it.
    pub(crate) async fn advance(&self) {
        let poll = self.client().poll_workflow_task_queue(task_poll(QUEUE)).await;
        let task = poll.expect("a poll").into_inner();
        let events = &task.history.as_ref().expect("a history").events;
        let count = |is: fn(&Event) -> bool| {
            events.iter().filter(|event| event.attributes.as_ref().is_some_and(is)).count()
        };
        let done = count(|event| matches!(event, Event::ActivityTaskCompletedEventAttributes(_)));
        let failed = count(|event| matches!(event, Event::ActivityTaskFailedEventAttributes(_)));
        let cancelled = count(|event| {
            matches!(event, Event::WorkflowExecutionCancelRequestedEventAttributes(_))
        });
        let command = match (cancelled, failed, STEPS.get(done)) {
            (1.., _, _) => cancel(),
            (0, 1.., _) => fail(),
            (0, 0, Some(step)) => call(step, task.workflow_type.as_ref()),
            (0, 0, None) => complete(),
        };
        let request = answer(&task, vec![command]);
        self.client().respond_workflow_task_completed(request).await.expect("taken");
    }

    /// Takes the next attempt of a step.
    pub(crate) async fn attempt(&self) -> ws::PollActivityTaskQueueResponse {
        let mut poll = tonic::Request::new(activity_poll(QUEUE));
        poll.metadata_mut().insert(ATTEMPT_KEYS, MetadataValue::from_static("true"));
        let poll = soon(async { self.client().poll_activity_task_queue(poll).await });
        poll.await.expect("a poll").into_inner()
    }

    /// Takes the next attempt, which must be of this step and have this number.
    pub(crate) async fn attempt_of(
        &self,
        step: &str,
        number: i32,
    ) -> ws::PollActivityTaskQueueResponse {
        let task = self.attempt().await;
        let name = task.activity_type.as_ref().map(|kind| kind.name.as_str());
        assert_eq!((name, task.attempt), (Some(step), number));
        task
    }

    /// Succeeds.
    pub(crate) async fn complete(&self, task: &ws::PollActivityTaskQueueResponse) {
        let request = ws::RespondActivityTaskCompletedRequest {
            task_token: task.task_token.clone(),
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondActivityTaskCompletedRequest::default()
        };
        self.client().respond_activity_task_completed(request).await.expect("taken");
    }

    /// Fails.
    pub(crate) async fn fail(&self, task: &ws::PollActivityTaskQueueResponse, cause: &str) {
        let request = ws::RespondActivityTaskFailedRequest {
            task_token: task.task_token.clone(),
            namespace: NAMESPACE.to_owned(),
            identity: "worker".to_owned(),
            failure: Some(failure(cause)),
            ..ws::RespondActivityTaskFailedRequest::default()
        };
        self.client().respond_activity_task_failed(request).await.expect("taken");
    }

    /// Starts a workflow and has its first step fail.
    pub(crate) async fn fail_first(&self, workflow_id: &str, flow: &str, cause: &str) {
        self.start(workflow_id, flow).await;
        let task = self.attempt().await;
        self.fail(&task, cause).await;
    }

    /// Starts a workflow, has its first step succeed and its second fail.
    pub(crate) async fn fail_second(&mut self, workflow_id: &str, cause: &str) {
        self.start(workflow_id, "Order").await;
        let task = self.attempt_of("First", 1).await;
        self.complete(&task).await;
        self.advance().await;
        self.point().await;
        let task = self.attempt_of("Second", 1).await;
        self.fail(&task, cause).await;
    }

    /// The steps that were asked for, in order.
    pub(crate) async fn asked_for(&self, workflow_id: &str) -> Vec<String> {
        let events = self.events(workflow_id).await;
        let asked = events.into_iter().filter_map(|event| {
            let Event::ActivityTaskScheduledEventAttributes(it) = event else { return None };
            it.activity_type.map(|kind| kind.name)
        });
        asked.collect()
    }

    /// What happened last in a workflow.
    pub(crate) async fn last_event(&self, workflow_id: &str) -> Event {
        self.events(workflow_id).await.pop().expect("an event")
    }

    pub(super) async fn events(&self, workflow_id: &str) -> Vec<Event> {
        let answer = self.client().get_workflow_execution_history(history(workflow_id)).await;
        let events = answer.expect("a history").into_inner().history.expect("a history").events;
        events.into_iter().filter_map(|event| event.attributes).collect()
    }

    /// Deletes a workflow, with all that is known of it.
    pub(crate) async fn delete(&self, workflow_id: &str) {
        let request = ws::DeleteWorkflowExecutionRequest {
            namespace: NAMESPACE.to_owned(),
            workflow_execution: Some(execution(workflow_id)),
        };
        self.client().delete_workflow_execution(request).await.expect("deleted");
    }
}

/// A resume policy.
pub(crate) fn policy(name: &str, criteria: &Value, attempts: u32, delay: u64) -> Value {
    let mut policy =
        json!({ "name": name, "maxAttempts": attempts, "backOff": { "delay": delay } });
    for (field, value) in criteria.as_object().expect("criteria") {
        policy[field] = value.clone();
    }
    policy
}

/// Ids of errors.
pub(crate) fn ids<'a>(errors: impl IntoIterator<Item = &'a Value>) -> Value {
    let ids: Vec<&Value> = errors.into_iter().map(|error| &error["id"]).collect();
    json!({ "select": { "ids": ids } })
}

/// The seconds between two times of an answer.
pub(crate) fn seconds_between(earlier: &Value, later: &Value) -> i64 {
    let seconds = |time: &Value| {
        let time: prost_types::Timestamp = time.as_str()?.parse().ok()?;
        Some(time.seconds)
    };
    match (seconds(earlier), seconds(later)) {
        (Some(earlier), Some(later)) => later - earlier,
        _ => panic!("{earlier} or {later} is no time"),
    }
}

/// Calls a step, which is tried once; those of the flow `Patient` are tried every hour. The first step
/// of the flow `Bare` is the one whose name stands alone.
fn call(step: &str, flow: Option<&WorkflowType>) -> Command {
    let once = RetryPolicy { maximum_attempts: 1, ..RetryPolicy::default() };
    let hourly = RetryPolicy {
        initial_interval: Some(seconds(3_600)),
        backoff_coefficient: 1.0,
        ..RetryPolicy::default()
    };
    let flow = flow.map_or("", |flow| flow.name.as_str());
    let is_patient = flow == "Patient";
    let name = if flow == "Bare" && step == "First" { NO_EGRESS } else { step };
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id: step.to_owned(),
        activity_type: Some(ActivityType { name: name.to_owned() }),
        header: kind_of(step),
        task_queue: Some(queue(QUEUE)),
        start_to_close_timeout: Some(seconds(100_000)),
        retry_policy: Some(if is_patient { hourly } else { once }),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    Command::of(attributes)
}

/// What kind of action a step is.
fn kind_of(step: &str) -> Option<Header> {
    let (_, kind) = KINDS.into_iter().find(|(name, _)| *name == step)?;
    let kind = Payload { data: json!(kind).to_string().into_bytes(), ..Payload::default() };
    Some(Header { fields: [(KIND_HEADER.to_owned(), kind)].into() })
}

fn complete() -> Command {
    let attributes = CompleteWorkflowExecutionCommandAttributes { result: None };
    Command::of(attributes)
}

fn fail() -> Command {
    let attributes =
        FailWorkflowExecutionCommandAttributes { failure: Some(failure("a step failed")) };
    Command::of(attributes)
}

fn cancel() -> Command {
    let attributes = CancelWorkflowExecutionCommandAttributes { details: None };
    Command::of(attributes)
}

fn failure(cause: &str) -> Failure {
    let info = ApplicationFailureInfo {
        r#type: "StepError".to_owned(),
        ..ApplicationFailureInfo::default()
    };
    Failure {
        message: cause.to_owned(),
        stack_trace: "at step".to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
        ..Failure::default()
    }
}

/// It reads what the machine trusts; once is enough.
static WEBHOOKS: LazyLock<Arc<HttpWebhooks>> = LazyLock::new(Arc::default);

const STEPS: [&str; 3] = ["First", "Second", "Third"];
const KINDS: [(&str, &str); 2] = [("First", "TRANSFORM"), ("Third", "EGRESS")];
