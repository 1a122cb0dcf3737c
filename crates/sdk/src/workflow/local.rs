//! Calls of local activities: short ones that the worker runs itself, within the workflow's step.

use std::{
    future::IntoFuture,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use serde::de::DeserializeOwned;
use steadfast_proto::common::Payloads;

use super::{
    context::WorkflowContext,
    journal::Kind,
    locals::LocalTask,
    pending::{OnCancel, Pending},
    timer::Timer,
};
use crate::{
    activity::ActivityOptions,
    error::{ActivityError, Cancelled},
    payload::{self, CodecError},
    policy::RetryPolicy,
};

/// A call of a local activity. Awaited, it is made.
///
/// The worker that has the workflow's step runs it at once, in the same process: nothing is scheduled,
/// nothing is polled for, and of all attempts one marker is kept in history. That is for what is short
/// and may be done again: a lookup, a small calculation that is not deterministic. If the worker dies
/// before its step is recorded, all of the step's local activities are run again.
///
/// Attempts that fail are repeated by the worker as the policy says. A wait that is longer than
/// [`durable_wait_from`](Self::durable_wait_from) is a timer in history, which outlives the worker.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, RetryPolicy, WorkflowContext};
/// # async fn price(order: String) -> Result<u32, Failure> { Ok(12) }
/// # async fn sell(ctx: WorkflowContext, order: String) -> Result<u32, Failure> {
/// let price = ctx
///     .local_activity(price, &order)
///     .start_to_close(Duration::from_secs(2))
///     .retry(RetryPolicy::new().max_attempts(3))
///     .await?;
/// # Ok(price) }
/// ```
#[derive(Debug)]
#[must_use = "a local activity is run when the call is awaited, or started"]
pub struct LocalActivityCall<T> {
    ctx: WorkflowContext,
    name: String,
    input: Result<Option<Payloads>, CodecError>,
    options: ActivityOptions,
    threshold: Duration,
    on_cancel: OnCancel,
    result: PhantomData<fn() -> T>,
}

/// A local activity that was started. Dropped before its end, it is stopped where it is.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn price(order: String) -> Result<u32, Failure> { Ok(12) }
/// # async fn weight(order: String) -> Result<u32, Failure> { Ok(7) }
/// # async fn sell(ctx: WorkflowContext, order: String) -> Result<(u32, u32), Failure> {
/// let price = ctx.local_activity(price, &order).start();
/// let weight = ctx.local_activity(weight, &order).await?;
/// # Ok((
/// price.await?
/// # , weight)) }
/// ```
#[derive(Debug)]
#[must_use = "dropped, it is stopped"]
pub struct StartedLocalActivity<T> {
    ctx: WorkflowContext,
    on_cancel: OnCancel,
    /// What it is to do, if there is something to do.
    task: Option<LocalTask>,
    stage: Stage,
    result: PhantomData<fn() -> T>,
}

#[derive(Debug)]
enum Stage {
    /// A worker has it.
    Running(Pending),
    /// It waits for its next attempt.
    Resting(Timer),
    /// It could not even be started.
    Refused(Option<ActivityError>),
}

impl<T: DeserializeOwned> LocalActivityCall<T> {
    pub(crate) fn new(
        ctx: WorkflowContext,
        name: String,
        input: Result<Option<Payloads>, CodecError>,
    ) -> Self {
        let (options, on_cancel) = (ActivityOptions::new(), OnCancel::default());
        Self { ctx, name, input, options, threshold: THRESHOLD, on_cancel, result: PhantomData }
    }

    /// With these options instead of those set so far. A queue, a heartbeat and a kind are nothing to
    /// an activity that is run on the spot.
    pub fn options(self, options: ActivityOptions) -> Self {
        Self { options, ..self }
    }

    /// When it is tried again. There is nothing to park: an attempt that the policy would park has
    /// failed.
    pub fn retry(self, policy: impl Into<RetryPolicy>) -> Self {
        Self { options: self.options.retry(policy), ..self }
    }

    /// How long one attempt may take; a minute, if nothing is said.
    pub fn start_to_close(self, span: Duration) -> Self {
        Self { options: self.options.start_to_close(span), ..self }
    }

    /// How long it may take with all its attempts and waits.
    pub fn schedule_to_close(self, span: Duration) -> Self {
        Self { options: self.options.schedule_to_close(span), ..self }
    }

    /// A wait between attempts that is at least this long is a timer in history; a minute, if nothing
    /// is said. Shorter ones keep the step open.
    pub fn durable_wait_from(self, span: Duration) -> Self {
        Self { threshold: span, ..self }
    }

    /// What a cancellation does to it: it is stopped where it is, or, with [`OnCancel::Wait`], told so
    /// and waited for.
    pub fn on_cancel(self, on_cancel: OnCancel) -> Self {
        Self { on_cancel, ..self }
    }

    /// Starts it now; its result is waited for later.
    pub fn start(self) -> StartedLocalActivity<T> {
        let Self { ctx, name, input, options, threshold, on_cancel, result } = self;
        let input = match input {
            Ok(input) => input,
            Err(error) => {
                let stage = Stage::Refused(Some(ActivityError::codec(&name, &error)));
                return StartedLocalActivity { ctx, on_cancel, task: None, stage, result };
            }
        };
        let options = ctx.journal.registry.options(&name, options);
        let unlimited = options.start_to_close.is_none() && options.schedule_to_close.is_none();
        let start_to_close = if unlimited { Some(START_TO_CLOSE) } else { options.start_to_close };
        let (activity_id, scheduled_at) = {
            let mut state = ctx.journal.state();
            (state.next_id(), state.now)
        };
        let task = LocalTask {
            activity_id,
            name,
            input,
            policy: options.retry.unwrap_or_default(),
            start_to_close,
            schedule_to_close: options.schedule_to_close,
            threshold,
            attempt: 1,
            scheduled_at,
        };
        let stage = ask(&ctx, &task, on_cancel);
        StartedLocalActivity { ctx, on_cancel, task: Some(task), stage, result }
    }
}

/// Has a worker run it.
fn ask(ctx: &WorkflowContext, task: &LocalTask, on_cancel: OnCancel) -> Stage {
    let mut state = ctx.journal.state();
    if state.is_cancelled(ctx.scope) {
        return Stage::Refused(Some(ActivityError::Cancelled(Cancelled)));
    }
    let seq = state.locals.number();
    let slot = state.wait_for(Kind::Local { seq, on_cancel }, ctx.scope);
    state.locals.want(seq, slot, task.clone());
    drop(state);
    Stage::Running(Pending::new(ctx.journal.clone(), slot))
}

impl<T: DeserializeOwned> IntoFuture for LocalActivityCall<T> {
    type Output = Result<T, ActivityError>;
    type IntoFuture = StartedLocalActivity<T>;

    fn into_future(self) -> StartedLocalActivity<T> {
        self.start()
    }
}

impl<T> StartedLocalActivity<T> {
    /// The next attempt, after a wait that was a timer.
    fn ask_again(&mut self) {
        if let Some(task) = &self.task {
            self.stage = ask(&self.ctx, task, self.on_cancel);
        }
    }

    /// The wait before the next attempt, if there is one. It begins now.
    fn rest(&mut self, slot: u64, attempt: u32) -> bool {
        let backoff = self.ctx.journal.state().locals.take_backoff(slot);
        let Some((backoff, task)) = backoff.zip(self.task.as_mut()) else { return false };
        task.attempt = attempt + 1;
        self.stage = Stage::Resting(Timer::start(&self.ctx, backoff, false));
        true
    }

    fn name(&self) -> &str {
        self.task.as_ref().map(|task| task.name.as_str()).unwrap_or_default()
    }
}

impl<T: DeserializeOwned> Future for StartedLocalActivity<T> {
    type Output = Result<T, ActivityError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut self.stage {
                Stage::Running(wait) => {
                    let slot = wait.slot();
                    let (outcome, attempt) = ready!(wait.poll(cx));
                    match outcome {
                        Ok(result) => {
                            let result = payload::decode_one(result.as_ref());
                            let name = self.name();
                            return Poll::Ready(
                                result.map_err(|error| ActivityError::codec(name, &error)),
                            );
                        }
                        Err(_) if self.rest(slot, attempt) => {}
                        Err(failure) => {
                            let error = ActivityError::read(&failure, self.name(), attempt);
                            return Poll::Ready(Err(error));
                        }
                    }
                }
                Stage::Resting(timer) => match ready!(Pin::new(timer).poll(cx)) {
                    Ok(()) => self.ask_again(),
                    Err(cancelled) => {
                        return Poll::Ready(Err(ActivityError::Cancelled(cancelled)));
                    }
                },
                Stage::Refused(error) => {
                    return error.take().map_or(Poll::Pending, |error| Poll::Ready(Err(error)));
                }
            }
        }
    }
}

/// How long an attempt may take if nobody says anything.
const START_TO_CLOSE: Duration = Duration::from_secs(60);
/// From when on a wait is a timer if nobody says anything.
const THRESHOLD: Duration = Duration::from_secs(60);
