//! Starting a workflow.

use std::{future::IntoFuture, marker::PhantomData, pin::Pin, time::Duration};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_engine::{Code, Detail, Error};
use steadfast_proto::{
    common::{Payloads, WorkflowExecution, WorkflowType},
    enums::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy},
    taskqueue::TaskQueue,
    workflowservice as ws,
};
use uuid::Uuid;

use super::{Client, error::ClientError, handle::WorkflowHandle};
use crate::{
    fields::Fields,
    payload::{self, CodecError},
    policy::RetryPolicy,
    priority::Priority,
    span,
};

/// The start of a workflow. Awaited, it is made.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{App, Failure, RetryPolicy, WorkflowContext, WorkflowIdConflictPolicy};
/// # async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> { Ok(id) }
/// # async fn f(app: App) -> Result<(), Box<dyn std::error::Error>> {
/// let order = app
///     .client()
///     .start(order, "17")
///     .id("order-17")
///     .id_conflict(WorkflowIdConflictPolicy::UseExisting)
///     .execution_timeout(Duration::from_secs(24 * 3600))
///     .retry(RetryPolicy::new().max_attempts(3))
///     .memo("owner", &"Ada")?
///     .summary("Ada's order")
///     .await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a workflow is started when this is awaited"]
pub struct StartCall<T> {
    pub(super) client: Client,
    name: String,
    input: Result<Option<Payloads>, CodecError>,
    id: Option<String>,
    task_queue: Option<String>,
    retry: Option<RetryPolicy>,
    execution_timeout: Option<Duration>,
    run_timeout: Option<Duration>,
    task_timeout: Option<Duration>,
    start_delay: Option<Duration>,
    priority: Option<Priority>,
    summary: Option<String>,
    cron: String,
    reuse: WorkflowIdReusePolicy,
    conflict: Option<WorkflowIdConflictPolicy>,
    memo: Fields,
    search_attributes: Fields,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> StartCall<T> {
    pub(crate) fn new(
        client: Client,
        name: String,
        input: Result<Option<Payloads>, CodecError>,
    ) -> Self {
        Self {
            client,
            name,
            input,
            id: None,
            task_queue: None,
            retry: None,
            execution_timeout: None,
            run_timeout: None,
            task_timeout: None,
            start_delay: None,
            priority: None,
            summary: None,
            cron: String::new(),
            reuse: WorkflowIdReusePolicy::AllowDuplicate,
            conflict: None,
            memo: Fields::default(),
            search_attributes: Fields::default(),
            result: PhantomData,
        }
    }

    /// Its id, of which only one runs at any time; a random one, if none is given.
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// The queue whose workers run it; that of the application, if none is named.
    pub fn task_queue(self, name: impl Into<String>) -> Self {
        Self { task_queue: Some(name.into()), ..self }
    }

    /// Has the whole workflow tried again when it fails.
    pub fn retry(self, policy: impl Into<RetryPolicy>) -> Self {
        Self { retry: Some(policy.into()), ..self }
    }

    /// How long it may take with all its runs.
    pub fn execution_timeout(self, span: Duration) -> Self {
        Self { execution_timeout: Some(span), ..self }
    }

    /// How long one run of it may take.
    pub fn run_timeout(self, span: Duration) -> Self {
        Self { run_timeout: Some(span), ..self }
    }

    /// How long a worker may have one of its tasks for, before another one gets it; ten seconds, if
    /// nothing is said.
    pub fn task_timeout(self, span: Duration) -> Self {
        Self { task_timeout: Some(span), ..self }
    }

    /// Whose tasks come first. Its activities and children have the same, if nothing is said of them.
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// A line that people see beside it.
    pub fn summary(self, summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..self }
    }

    /// Has it begin later.
    pub fn start_delay(self, span: Duration) -> Self {
        Self { start_delay: Some(span), ..self }
    }

    /// Has it run again and again: `0 3 * * *`, `@every 1h`.
    pub fn cron(self, schedule: impl Into<String>) -> Self {
        Self { cron: schedule.into(), ..self }
    }

    /// Whether the id of a closed workflow may be used again.
    pub fn id_reuse(self, policy: WorkflowIdReusePolicy) -> Self {
        Self { reuse: policy, ..self }
    }

    /// What happens if a workflow of this id runs already. It is an error, unless this says
    /// otherwise.
    pub fn id_conflict(self, policy: WorkflowIdConflictPolicy) -> Self {
        Self { conflict: Some(policy), ..self }
    }

    /// Something to be kept beside it.
    pub fn memo(self, key: impl Into<String>, value: &impl Serialize) -> Result<Self, CodecError> {
        Ok(Self { memo: self.memo.with(key, value)?, ..self })
    }

    /// Something that lists can ask for. The attribute must be known to the namespace.
    pub fn search_attribute(
        self,
        name: impl Into<String>,
        value: &impl Serialize,
    ) -> Result<Self, CodecError> {
        Ok(Self { search_attributes: self.search_attributes.with(name, value)?, ..self })
    }

    /// Whether somebody gave it an id.
    pub(super) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    async fn start(self) -> Result<WorkflowHandle<T>, ClientError> {
        let client = self.client.clone();
        let request = self.request(WorkflowIdConflictPolicy::Fail)?;
        let workflow_id = request.workflow_id.clone();
        let started = client.door.start_workflow_execution(request).await;
        let run_id = started.map_err(|error| taken(error, &workflow_id))?.run_id;
        Ok(WorkflowHandle::new(client, WorkflowExecution { workflow_id, run_id }))
    }

    /// The request, where what happens to a workflow that runs already is to be so, unless something
    /// was said about it.
    pub(super) fn request(
        self,
        conflict: WorkflowIdConflictPolicy,
    ) -> Result<ws::StartWorkflowExecutionRequest, CodecError> {
        let client = &self.client;
        let queue = self.task_queue.unwrap_or_else(|| client.task_queue.clone());
        let fresh = || fresh_id().to_string();
        Ok(ws::StartWorkflowExecutionRequest {
            namespace: client.namespace.clone(),
            workflow_id: self.id.unwrap_or_else(fresh),
            workflow_type: Some(WorkflowType { name: self.name }),
            task_queue: Some(TaskQueue { name: queue, ..TaskQueue::default() }),
            input: self.input?,
            workflow_execution_timeout: self.execution_timeout.map(span::to_wire),
            workflow_run_timeout: self.run_timeout.map(span::to_wire),
            workflow_task_timeout: self.task_timeout.map(span::to_wire),
            workflow_start_delay: self.start_delay.map(span::to_wire),
            priority: self.priority.as_ref().map(Priority::to_wire),
            user_metadata: self.summary.as_deref().and_then(payload::summary),
            identity: client.identity.clone(),
            request_id: fresh(),
            workflow_id_reuse_policy: self.reuse.into(),
            workflow_id_conflict_policy: self.conflict.unwrap_or(conflict).into(),
            retry_policy: self.retry.map(|policy| policy.carried().wire.clone()),
            cron_schedule: self.cron,
            memo: self.memo.into_memo(),
            search_attributes: self.search_attributes.into_search_attributes(),
            ..ws::StartWorkflowExecutionRequest::default()
        })
    }
}

impl<T: DeserializeOwned + Send + 'static> IntoFuture for StartCall<T> {
    type Output = Result<WorkflowHandle<T>, ClientError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

pub(super) fn taken(error: Error, workflow_id: &str) -> ClientError {
    match error.detail.as_deref() {
        Some(Detail::AlreadyStarted(detail)) => ClientError::AlreadyStarted {
            workflow_id: workflow_id.to_owned(),
            run_id: detail.run_id.clone(),
        },
        _ if error.code == Code::AlreadyExists => ClientError::AlreadyStarted {
            workflow_id: workflow_id.to_owned(),
            run_id: String::new(),
        },
        _ => error.into(),
    }
}

/// An id that nobody else has.
#[expect(clippy::disallowed_methods, reason = "a client is outside of every replay")]
pub(crate) fn fresh_id() -> Uuid {
    Uuid::new_v4()
}
