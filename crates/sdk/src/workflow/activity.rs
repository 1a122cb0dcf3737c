//! Calls of activities: how they are to be run, and their result.

use std::{
    future::IntoFuture,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use serde::de::DeserializeOwned;
use steadfast_proto::{
    command::{Command, ScheduleActivityTaskCommandAttributes},
    common::{ActivityType, Payloads},
    taskqueue::TaskQueue,
};

use super::{
    context::WorkflowContext,
    journal::Kind,
    pending::{OnCancel, Pending},
};
use crate::{
    activity::ActivityOptions,
    error::{ActivityError, Cancelled},
    header,
    payload::{self, CodecError},
    policy::RetryPolicy,
    priority::Priority,
    span,
};

/// A call of an activity. Awaited, it is made.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, RetryPolicy, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn pay(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// let receipt = ctx
///     .activity(charge, &order)
///     .start_to_close(Duration::from_secs(30))
///     .retry(RetryPolicy::new().max_attempts(3))
///     .await?;
/// # Ok(receipt) }
/// ```
#[derive(Debug)]
#[must_use = "an activity is run when the call is awaited, or started"]
pub struct ActivityCall<T> {
    ctx: WorkflowContext,
    name: String,
    input: Result<Option<Payloads>, CodecError>,
    options: ActivityOptions,
    on_cancel: OnCancel,
    exact: bool,
    result: PhantomData<fn() -> T>,
}

/// An activity that was started. Dropped before its end, it is cancelled.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn pack(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn notify(order: String) -> Result<(), Failure> { Ok(()) }
/// # async fn sell(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
/// let packing = ctx.activity(pack, &order).start();
/// let paid = ctx.activity(charge, &order).await?;
/// let parcel = packing.await?;
/// ctx.activity(notify, &order).start().detach();
/// # Ok(paid + &parcel) }
/// ```
#[derive(Debug)]
#[must_use = "dropped, it is cancelled"]
pub struct StartedActivity<T> {
    name: String,
    stage: Stage,
    result: PhantomData<fn() -> T>,
}

#[derive(Debug)]
enum Stage {
    Waiting(Pending),
    /// It could not even be started.
    Refused(Option<ActivityError>),
}

impl<T: DeserializeOwned> ActivityCall<T> {
    pub(crate) fn new(
        ctx: WorkflowContext,
        name: String,
        input: Result<Option<Payloads>, CodecError>,
    ) -> Self {
        let options = ActivityOptions::new();
        let on_cancel = OnCancel::default();
        Self { ctx, name, input, options, on_cancel, exact: false, result: PhantomData }
    }

    /// With these options instead of those set so far.
    pub fn options(self, options: ActivityOptions) -> Self {
        Self { options, ..self }
    }

    /// When it is tried again.
    pub fn retry(self, policy: impl Into<RetryPolicy>) -> Self {
        self.with(|options| options.retry(policy))
    }

    /// How long one attempt may take, from when a worker starts it.
    pub fn start_to_close(self, span: Duration) -> Self {
        self.with(|options| options.start_to_close(span))
    }

    /// How long it may take with all its attempts and waits.
    pub fn schedule_to_close(self, span: Duration) -> Self {
        self.with(|options| options.schedule_to_close(span))
    }

    /// How long it may wait for a worker.
    pub fn schedule_to_start(self, span: Duration) -> Self {
        self.with(|options| options.schedule_to_start(span))
    }

    /// How long it may be silent, once it runs.
    pub fn heartbeat(self, span: Duration) -> Self {
        self.with(|options| options.heartbeat(span))
    }

    /// The queue whose workers run it.
    pub fn task_queue(self, name: impl Into<String>) -> Self {
        self.with(|options| options.task_queue(name))
    }

    /// What kind of work it is.
    pub fn kind(self, kind: impl Into<String>) -> Self {
        self.with(|options| options.kind(kind))
    }

    /// Whether it comes before others of its queue.
    pub fn priority(self, priority: Priority) -> Self {
        self.with(|options| options.priority(priority))
    }

    /// A line that people see beside it.
    pub fn summary(self, summary: impl Into<String>) -> Self {
        self.with(|options| options.summary(summary))
    }

    /// What a cancellation does to it.
    pub fn on_cancel(self, on_cancel: OnCancel) -> Self {
        Self { on_cancel, ..self }
    }

    /// Its input, too, must be as history has it.
    pub(crate) fn exact(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Starts it now; its result is waited for later.
    pub fn start(self) -> StartedActivity<T> {
        let Self { ctx, name, input, options, on_cancel, exact, result } = self;
        let stage = match input {
            Ok(input) => schedule(&ctx, &name, input, options, (on_cancel, exact)),
            Err(error) => Stage::Refused(Some(ActivityError::codec(&name, &error))),
        };
        StartedActivity { name, stage, result }
    }

    fn with(self, change: impl FnOnce(ActivityOptions) -> ActivityOptions) -> Self {
        Self { options: change(self.options), ..self }
    }
}

fn schedule(
    ctx: &WorkflowContext,
    name: &str,
    input: Option<Payloads>,
    options: ActivityOptions,
    (on_cancel, exact): (OnCancel, bool),
) -> Stage {
    let options = ctx.journal.registry.options(name, options);
    let mut state = ctx.journal.state();
    if state.is_cancelled(ctx.scope) {
        return Stage::Refused(Some(ActivityError::Cancelled(Cancelled)));
    }
    let id = state.next_id();
    let own_queue = &state.info.task_queue;
    let schedule = schedule_command(id.clone(), name, input, &options, own_queue);
    let slot = state.issue_with(Kind::Activity { id, on_cancel }, ctx.scope, schedule, exact);
    drop(state);
    Stage::Waiting(Pending::new(ctx.journal.clone(), slot))
}

fn schedule_command(
    activity_id: String,
    name: &str,
    input: Option<Payloads>,
    options: &ActivityOptions,
    own_queue: &str,
) -> Command {
    let policy = options.retry.clone().unwrap_or_default();
    let policy = policy.carried();
    let queue = options.task_queue.as_deref().unwrap_or(own_queue);
    let wire = |span: Option<Duration>| span.map(span::to_wire);
    let unlimited = options.start_to_close.is_none() && options.schedule_to_close.is_none();
    let start_to_close = if unlimited { Some(START_TO_CLOSE) } else { options.start_to_close };
    let attributes = ScheduleActivityTaskCommandAttributes {
        activity_id,
        activity_type: Some(ActivityType { name: name.to_owned() }),
        task_queue: Some(TaskQueue { name: queue.to_owned(), ..TaskQueue::default() }),
        header: header::of_activity(policy.whole.as_ref(), options.kind.as_deref()),
        input,
        schedule_to_close_timeout: wire(options.schedule_to_close),
        schedule_to_start_timeout: wire(options.schedule_to_start),
        start_to_close_timeout: wire(start_to_close),
        heartbeat_timeout: wire(options.heartbeat),
        retry_policy: Some(policy.wire.clone()),
        request_eager_execution: queue == own_queue,
        priority: options.priority.as_ref().map(Priority::to_wire),
        ..ScheduleActivityTaskCommandAttributes::default()
    };
    Command {
        user_metadata: options.summary.as_deref().and_then(payload::summary),
        ..Command::of(attributes)
    }
}

impl<T: DeserializeOwned> IntoFuture for ActivityCall<T> {
    type Output = Result<T, ActivityError>;
    type IntoFuture = StartedActivity<T>;

    fn into_future(self) -> StartedActivity<T> {
        self.start()
    }
}

impl<T: DeserializeOwned> Future for StartedActivity<T> {
    type Output = Result<T, ActivityError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = match &mut self.stage {
            Stage::Waiting(wait) => wait.poll(cx),
            Stage::Refused(error) => {
                return error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)));
            }
        };
        outcome.map(|(outcome, attempt)| match outcome {
            Ok(result) => payload::decode_one(result.as_ref())
                .map_err(|error| ActivityError::codec(&self.name, &error)),
            Err(failure) => Err(ActivityError::read(&failure, &self.name, attempt)),
        })
    }
}

impl<T> StartedActivity<T> {
    /// Dropped, it is not cancelled.
    pub(crate) fn kept(mut self) -> Self {
        if let Stage::Waiting(wait) = &mut self.stage {
            wait.keep();
        }
        self
    }

    /// Lets it run although nobody waits for it.
    pub fn detach(self) {
        if let Stage::Waiting(wait) = self.stage {
            wait.detach();
        }
    }
}

/// How long an attempt may take if nobody says anything. A worker that dies is noticed earlier: at a
/// server by its missing signs of life, if it gives them, or, in a program that embeds the engine, when
/// that is back.
const START_TO_CLOSE: Duration = Duration::from_secs(24 * 60 * 60);
