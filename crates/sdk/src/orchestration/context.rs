//! What an orchestration's code can do.

use std::{
    future::{Ready, ready},
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use steadfast_proto::enums::ParentClosePolicy;

use super::{
    activity::delivery,
    counters::Counters,
    error::{configuration, told},
    future::DurableFuture,
    run::Exit,
    text,
};
use crate::{
    error::{ChildError, Failure},
    workflow::{ChildCall, OnCancel, StartedActivity, WorkflowContext},
};

/// What an orchestration's code can do. Whatever it schedules is in history, and is had from there
/// at every replay.
#[derive(Clone, Debug)]
pub struct OrchestrationContext {
    ctx: WorkflowContext,
    exit: Exit,
    counters: Arc<Counters>,
}

/// Activities, timers, events.
impl OrchestrationContext {
    pub(super) fn new(ctx: WorkflowContext, exit: Exit, counters: Arc<Counters>) -> Self {
        Self { ctx, exit, counters }
    }

    /// Calls an activity, once.
    pub fn schedule_activity(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let activity = self.start_activity(&name.into(), &input.into());
        DurableFuture::new(self.heard(activity.map(StartedActivity::kept)))
    }

    /// Calls an activity, once, with types.
    pub fn schedule_activity_typed<In, Out>(
        &self,
        name: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>>
    where
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    {
        match text::of(input) {
            Ok(input) => self.schedule_activity(name, input).map(|came| text::read(&came?)),
            Err(error) => DurableFuture::new(async { Err(error) }),
        }
    }

    /// Waits. The wait outlives the process.
    pub fn schedule_timer(&self, delay: Duration) -> DurableFuture<()> {
        let timer = self.ctx.exact_timer(delay).kept();
        DurableFuture::new(fired(timer))
    }

    /// Waits for an event from outside. Events that come before somebody waits for them are kept.
    pub fn schedule_wait(&self, name: impl Into<String>) -> DurableFuture<String> {
        let events = self.ctx.signals::<Value>(name);
        self.event(events, |value| Ok(text::of_value(value)))
    }

    /// Waits for an event of this type. One that is something else is passed over, with a warning.
    pub fn schedule_wait_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
    ) -> DurableFuture<T> {
        let events = self.ctx.signals::<Value>(name);
        self.event(events, |value| text::read(&text::of_value(value)))
    }

    fn event<T: Send + 'static>(
        &self,
        mut events: crate::workflow::Signals<Value>,
        read: impl Fn(Value) -> Result<T, String> + Send + 'static,
    ) -> DurableFuture<T> {
        let ctx = self.clone();
        DurableFuture::new(async move {
            loop {
                let value = events.receive().await.map_err(|error| error.to_string());
                match value.and_then(&read) {
                    Ok(value) => return value,
                    Err(error) => ctx.trace_warn(format!("an event is passed over: {error}")),
                }
            }
        })
    }
}

/// Other orchestrations.
impl OrchestrationContext {
    /// Calls another orchestration, and has its result.
    pub fn schedule_sub_orchestration(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let call = self.sub_orchestration(&name.into(), &input.into());
        self.sub_result(call.map(|call| call.on_cancel(OnCancel::Abandon)))
    }

    /// Calls another orchestration under this instance id.
    pub fn schedule_sub_orchestration_with_id(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let call = self.sub_orchestration(&name.into(), &input.into());
        self.sub_result(call.map(|call| call.id(instance).on_cancel(OnCancel::Abandon)))
    }

    /// Calls another orchestration, with types.
    pub fn schedule_sub_orchestration_typed<In, Out>(
        &self,
        name: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>>
    where
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    {
        match text::of(input) {
            Ok(input) => {
                self.schedule_sub_orchestration(name, input).map(|came| text::read(&came?))
            }
            Err(error) => DurableFuture::new(async { Err(error) }),
        }
    }

    /// Starts another orchestration and leaves it to itself. This one does not end before that one
    /// is there. If its instance id is taken, nothing happens.
    pub fn schedule_orchestration(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) {
        let call = self.sub_orchestration(&name.into(), &input.into()).map(|call| {
            call.id(instance).parent_close(ParentClosePolicy::Abandon).on_cancel(OnCancel::Abandon)
        });
        match call.map(ChildCall::begin) {
            // A run that closes takes back what was not started yet.
            Ok(Ok(child)) => self.exit.after(async { drop(child.started().await) }),
            // It is not started: the run is being cancelled.
            Ok(Err(_)) => {}
            Err(failure) => self.exit.take(failure),
        }
    }

    /// Starts another orchestration and leaves it to itself, with types.
    pub fn schedule_orchestration_typed<In: Serialize>(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: &In,
    ) -> Result<(), String> {
        self.schedule_orchestration(name, instance, text::of(input)?);
        Ok(())
    }

    /// Goes on as a new run with an empty history: `return ctx.continue_as_new(next).await`.
    pub fn continue_as_new(
        &self,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let (exit, next) = (self.exit.clone(), self.ctx.continue_as_new(&input.into()));
        DurableFuture::new(async move {
            match next {
                Ok(never) => Ok(never),
                Err(failure) => exit.leave(failure).await,
            }
        })
    }

    /// As [`continue_as_new`](Self::continue_as_new), with types.
    pub async fn continue_as_new_typed<In: Serialize>(&self, input: &In) -> Result<String, String> {
        self.continue_as_new(text::of(input)?).await
    }
}

/// Time, ids, and what the run is. All of it is free: nothing of it is in history.
impl OrchestrationContext {
    /// The time, the same at every replay.
    pub fn utc_now(&self) -> Ready<Result<SystemTime, String>> {
        ready(Ok(self.ctx.now()))
    }

    /// The time: [`utc_now`](Self::utc_now) under its older name.
    pub fn utcnow(&self) -> Ready<Result<SystemTime, String>> {
        self.utc_now()
    }

    /// A new id, the same at every replay.
    pub fn new_guid(&self) -> Ready<Result<String, String>> {
        ready(Ok(self.ctx.uuid().to_string()))
    }

    /// The id of this instance.
    pub fn instance_id(&self) -> String {
        self.ctx.info().workflow_id
    }

    /// The name of this orchestration.
    pub fn orchestration_name(&self) -> String {
        self.ctx.info().workflow_type
    }

    /// Whether the code is being replayed.
    pub fn is_replaying(&self) -> bool {
        self.ctx.is_replaying()
    }

    /// Logs a line, once and not again at every replay.
    pub fn trace_info(&self, message: impl AsRef<str>) {
        self.once(|instance| tracing::info!(instance, "{}", message.as_ref()));
    }

    /// Logs a warning, once.
    pub fn trace_warn(&self, message: impl AsRef<str>) {
        self.once(|instance| tracing::warn!(instance, "{}", message.as_ref()));
    }

    /// Logs an error, once.
    pub fn trace_error(&self, message: impl AsRef<str>) {
        self.once(|instance| tracing::error!(instance, "{}", message.as_ref()));
    }

    /// Logs a detail, once.
    pub fn trace_debug(&self, message: impl AsRef<str>) {
        self.once(|instance| tracing::debug!(instance, "{}", message.as_ref()));
    }
}

/// What the calls are made of.
impl OrchestrationContext {
    pub(super) fn workflow(&self) -> &WorkflowContext {
        &self.ctx
    }

    /// Logs something, once and not again at every replay.
    fn once(&self, log: impl FnOnce(String)) {
        if !self.is_replaying() {
            log(self.instance_id());
        }
    }

    /// Counts something, once and not again at every replay.
    pub(super) fn count(&self, one: impl FnOnce(&Counters)) {
        if !self.is_replaying() {
            one(&self.counters);
        }
    }

    /// A timer that is cancelled if it is dropped.
    pub(super) fn timer(&self, delay: Duration) -> impl Future<Output = ()> + Send + use<> {
        fired(self.ctx.exact_timer(delay))
    }

    /// Has an activity handed out; an error if it cannot even be asked for.
    pub(super) fn start_activity(
        &self,
        name: &str,
        input: &str,
    ) -> Result<StartedActivity<String>, Failure> {
        if name.is_empty() {
            return Err(configuration(
                "an activity without a name cannot be registered".to_owned(),
            ));
        }
        Ok(self.ctx.activity_named(name, &input).options(delivery()).exact().start())
    }

    /// What an activity says. What it did not say itself is not for the code: the run ends with it.
    pub(super) fn heard(
        &self,
        activity: Result<StartedActivity<String>, Failure>,
    ) -> impl Future<Output = Result<String, String>> + Send + use<> {
        let exit = self.exit.clone();
        async move {
            let activity = match activity {
                Ok(activity) => activity,
                Err(failure) => return exit.leave(failure).await,
            };
            match activity.await {
                Ok(result) => Ok(result),
                Err(error) => match told(&error) {
                    Ok(message) => Err(message),
                    Err(failure) => exit.leave(failure).await,
                },
            }
        }
    }

    /// Calls another orchestration, which is cancelled if the call is dropped.
    pub(super) fn call_sub_orchestration(
        &self,
        name: &str,
        input: &str,
    ) -> DurableFuture<Result<String, String>> {
        let call = self.sub_orchestration(name, input);
        self.sub_result(call.map(|call| call.on_cancel(OnCancel::Try)))
    }

    fn sub_orchestration(&self, name: &str, input: &str) -> Result<ChildCall<String>, Failure> {
        if name.is_empty() {
            let message = "an orchestration without a name cannot be registered";
            return Err(configuration(message.to_owned()));
        }
        let call = self.ctx.child_named(name, &input);
        Ok(call.parent_close(ParentClosePolicy::RequestCancel))
    }

    fn sub_result(
        &self,
        call: Result<ChildCall<String>, Failure>,
    ) -> DurableFuture<Result<String, String>> {
        let exit = self.exit.clone();
        let child = call.map(ChildCall::begin);
        DurableFuture::new(async move {
            let child = match child {
                Ok(child) => child,
                Err(failure) => return exit.leave(failure).await,
            };
            let result = async { child?.started().await?.result().await };
            result.await.map_err(|error| {
                if let ChildError::Failed { failure, .. } = error {
                    return failure.message().to_owned();
                }
                error.to_string()
            })
        })
    }
}

/// Waits until a timer has fired. One that is cancelled never does: its run is.
async fn fired(timer: crate::workflow::Timer) {
    if timer.await.is_err() {
        std::future::pending::<()>().await;
    }
}
