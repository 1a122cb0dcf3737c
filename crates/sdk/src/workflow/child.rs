//! Child workflows.

use std::{
    future::IntoFuture,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    command::{Command, StartChildWorkflowExecutionCommandAttributes as Start},
    common::{Payloads, WorkflowType},
    enums::{ParentClosePolicy, WorkflowIdReusePolicy},
    taskqueue::TaskQueue,
};

use super::{
    context::WorkflowContext,
    external::{self, ExternalWorkflow},
    journal::Kind,
    pending::{OnCancel, Pending},
};
use crate::{
    error::{Cancelled, ChildError, Failure},
    fields::Fields,
    payload::{self, CodecError},
    policy::RetryPolicy,
    priority::Priority,
    span,
};

/// A call of a child workflow. Awaited, it is started and its result waited for.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn ship(ctx: WorkflowContext, order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn sell(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// let parcel = ctx.child(ship, &order).id(format!("ship-{order}")).await?;
/// # Ok(parcel) }
/// ```
#[derive(Debug)]
#[must_use = "a child is started when the call is awaited"]
pub struct ChildCall<T> {
    ctx: WorkflowContext,
    name: String,
    input: Result<Option<Payloads>, CodecError>,
    id: Option<String>,
    task_queue: Option<String>,
    retry: Option<RetryPolicy>,
    execution_timeout: Option<Duration>,
    run_timeout: Option<Duration>,
    parent_close: ParentClosePolicy,
    reuse: WorkflowIdReusePolicy,
    cron: String,
    task_timeout: Option<Duration>,
    memo: Fields,
    search_attributes: Fields,
    priority: Option<Priority>,
    summary: Option<String>,
    on_cancel: OnCancel,
    result: PhantomData<fn() -> T>,
}

/// A child workflow that was asked for and may not run yet.
#[derive(Debug)]
pub(crate) struct StartingChild<T> {
    ctx: WorkflowContext,
    workflow_id: String,
    started: Pending,
    end: Pending,
    result: PhantomData<fn() -> T>,
}

/// A child workflow that runs.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn ship(ctx: WorkflowContext, order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn sell(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// let parcel = ctx.child(ship, &order).id(format!("ship-{order}")).start().await?;
/// parcel.signal("insure", &true).await?;
/// # let delivered =
/// parcel.result().await?
/// # ;
/// # Ok(delivered) }
/// ```
#[derive(Debug)]
pub struct ChildHandle<T> {
    ctx: WorkflowContext,
    workflow_id: String,
    run_id: String,
    end: Option<Pending>,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> ChildCall<T> {
    pub(crate) fn new(
        ctx: WorkflowContext,
        name: String,
        input: Result<Option<Payloads>, CodecError>,
    ) -> Self {
        Self {
            ctx,
            name,
            input,
            id: None,
            task_queue: None,
            retry: None,
            execution_timeout: None,
            run_timeout: None,
            parent_close: ParentClosePolicy::Terminate,
            reuse: WorkflowIdReusePolicy::AllowDuplicate,
            cron: String::new(),
            task_timeout: None,
            memo: Fields::default(),
            search_attributes: Fields::default(),
            priority: None,
            summary: None,
            on_cancel: OnCancel::Wait,
            result: PhantomData,
        }
    }

    /// Its id; one made of the parent's, if none is given.
    pub fn id(self, id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// The queue whose workers run it; that of the parent, if none is named.
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

    /// What becomes of it when the parent closes first. It is terminated, unless this says
    /// otherwise.
    pub fn parent_close(self, policy: ParentClosePolicy) -> Self {
        Self { parent_close: policy, ..self }
    }

    /// Whether the id of a closed workflow may be used again.
    pub fn id_reuse(self, policy: WorkflowIdReusePolicy) -> Self {
        Self { reuse: policy, ..self }
    }

    /// Has it run again and again.
    pub fn cron(self, schedule: impl Into<String>) -> Self {
        Self { cron: schedule.into(), ..self }
    }

    /// How long a worker may have one of its tasks for.
    pub fn task_timeout(self, span: Duration) -> Self {
        Self { task_timeout: Some(span), ..self }
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

    /// Whose tasks come first; as its parent's do, if nothing is said.
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority: Some(priority), ..self }
    }

    /// A line that people see beside it.
    pub fn summary(self, summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..self }
    }

    /// What a cancellation does to it. It is waited for, unless this says otherwise.
    pub fn on_cancel(self, on_cancel: OnCancel) -> Self {
        Self { on_cancel, ..self }
    }

    /// Starts it, and waits until it runs.
    pub async fn start(self) -> Result<ChildHandle<T>, ChildError> {
        self.begin()?.started().await
    }

    /// Has it started; that it runs is waited for later.
    pub(crate) fn begin(self) -> Result<StartingChild<T>, ChildError> {
        let (workflow_id, started, end) = self.issue()?;
        let ctx = self.ctx;
        let started = Pending::new(ctx.journal.clone(), started);
        let end = Pending::new(ctx.journal.clone(), end);
        Ok(StartingChild { ctx, workflow_id, started, end, result: PhantomData })
    }

    /// Issues the command; gives the id, and where its start and its end are waited for.
    fn issue(&self) -> Result<(String, u64, u64), ChildError> {
        let own_id = self.id.clone().unwrap_or_default();
        let input = match &self.input {
            Ok(input) => input.clone(),
            Err(error) => return Err(ChildError::codec(&own_id, error)),
        };
        let mut state = self.ctx.journal.state();
        if state.is_cancelled(self.ctx.scope) {
            return Err(ChildError::Cancelled(Cancelled));
        }
        let number = state.next_id();
        let id = self.id.clone().unwrap_or_else(|| format!("{}_{number}", state.info.run_id));
        let command = self.command(&id, input, &state.info.task_queue);
        let started = state.issue(Kind::ChildStart, self.ctx.scope, command);
        let kind =
            Kind::Child { workflow_id: id.clone(), on_cancel: self.on_cancel, start: started };
        let end = state.wait_for(kind, self.ctx.scope);
        state.link(started, end);
        Ok((id, started, end))
    }

    fn command(&self, id: &str, input: Option<Payloads>, own_queue: &str) -> Command {
        let queue = self.task_queue.as_deref().unwrap_or(own_queue);
        let attributes = Start {
            workflow_id: id.to_owned(),
            workflow_type: Some(WorkflowType { name: self.name.clone() }),
            task_queue: Some(TaskQueue { name: queue.to_owned(), ..TaskQueue::default() }),
            input,
            workflow_execution_timeout: self.execution_timeout.map(span::to_wire),
            workflow_run_timeout: self.run_timeout.map(span::to_wire),
            parent_close_policy: self.parent_close.into(),
            workflow_id_reuse_policy: self.reuse.into(),
            retry_policy: self.retry.as_ref().map(|policy| policy.carried().wire.clone()),
            cron_schedule: self.cron.clone(),
            workflow_task_timeout: self.task_timeout.map(span::to_wire),
            memo: self.memo.clone().into_memo(),
            search_attributes: self.search_attributes.clone().into_search_attributes(),
            priority: self.priority.as_ref().map(Priority::to_wire),
            ..Start::default()
        };
        Command {
            user_metadata: self.summary.as_deref().and_then(payload::summary),
            ..Command::of(attributes)
        }
    }
}

impl<T: DeserializeOwned + Send + 'static> IntoFuture for ChildCall<T> {
    type Output = Result<T, ChildError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.start().await?.result().await })
    }
}

impl<T> StartingChild<T> {
    /// Waits until it runs.
    pub(crate) async fn started(self) -> Result<ChildHandle<T>, ChildError> {
        let Self { ctx, workflow_id, started, end, result } = self;
        match Started(started).await {
            Ok(run_id) => Ok(ChildHandle { ctx, workflow_id, run_id, end: Some(end), result }),
            Err(failure) => {
                end.detach();
                Err(ChildError::read(failure.as_wire(), &workflow_id))
            }
        }
    }
}

impl<T: DeserializeOwned> ChildHandle<T> {
    /// Its id.
    pub fn workflow_id(&self) -> &str {
        &self.workflow_id
    }

    /// The id of its first run.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Sends it a signal.
    pub async fn signal<V: Serialize + ?Sized>(
        &self,
        name: &str,
        value: &V,
    ) -> Result<(), Failure> {
        external::signal(&self.ctx, &self.other(), name, value, true).await
    }

    /// Asks it to cancel.
    pub async fn cancel(&self) -> Result<(), Failure> {
        self.other().cancel().await
    }

    /// Waits for its result. Dropped before, it is cancelled.
    pub async fn result(mut self) -> Result<T, ChildError> {
        let workflow_id = std::mem::take(&mut self.workflow_id);
        let Some(end) = self.end.take() else {
            return Err(ChildError::Cancelled(Cancelled));
        };
        match Waiting(end).await {
            Ok(result) => payload::decode_one(result.as_ref())
                .map_err(|error| ChildError::codec(&workflow_id, &error)),
            Err(failure) => Err(ChildError::read(failure.as_wire(), &workflow_id)),
        }
    }

    fn other(&self) -> ExternalWorkflow {
        self.ctx.external(&self.workflow_id)
    }
}

impl<T> Drop for ChildHandle<T> {
    /// A handle that nobody keeps leaves its child alone.
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end.detach();
        }
    }
}

/// A wait whose attempts are of no interest.
#[derive(Debug)]
pub(crate) struct Waiting(pub(crate) Pending);

impl Future for Waiting {
    type Output = Result<Option<Payloads>, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = self.0.poll(cx);
        outcome.map(|(outcome, _)| outcome.map_err(|wire| Failure::from_wire(*wire)))
    }
}

/// A wait for a child's start, which gives its run id.
#[derive(Debug)]
struct Started(Pending);

impl Future for Started {
    type Output = Result<String, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(cx).map(|(outcome, _)| match outcome {
            Ok(run_id) => Ok(payload::decode_one(run_id.as_ref()).unwrap_or_default()),
            Err(wire) => Err(Failure::from_wire(*wire)),
        })
    }
}
