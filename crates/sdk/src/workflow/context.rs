//! What a workflow's code can do: everything that touches the world goes through here, and so into
//! history.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, SystemTime},
};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::common::Payloads;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    activity::ActivityCall,
    child::ChildCall,
    definition::WorkflowFn,
    external::ExternalWorkflow,
    handlers::UpdateHandler,
    info::WorkflowInfo,
    journal::Journal,
    local::LocalActivityCall,
    marker,
    next::NextRun,
    patch,
    saga::Saga,
    scope::{CancelScope, Cancellation, ROOT},
    signal::Signals,
    timer::Timer,
};
use crate::{
    activity::ActivityFn,
    call::Called,
    error::Failure,
    input::Input,
    payload::{self, CodecError},
};

/// What a workflow's code can do.
///
/// It must do the same at every replay, so time, chance and ids come from here, and so does every
/// wait; a select or join over its futures is the crate's own, or any that polls in a fixed order.
/// Code that waits for something else, such as `tokio::time::sleep` or a request, would wait for ever: its
/// task is failed with [`Broken::NotDurable`](crate::Broken::NotDurable), and goes on when the code is mended.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn remind(order: String) -> Result<(), Failure> { Ok(()) }
/// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
///     let mut paid = ctx.signals::<String>("paid");
///     steadfast::select! {
///         by = paid.receive() => Ok(by?),
///         late = ctx.sleep(Duration::from_secs(7 * 24 * 3600)) => {
///             late?;
///             ctx.activity(remind, &id).await?;
///             Ok(ctx.activity(charge, &id).await?)
///         },
///     }
/// }
/// ```
#[derive(Clone)]
pub struct WorkflowContext {
    pub(crate) journal: Arc<Journal>,
    pub(crate) scope: usize,
}

/// Activities, timers, and other workflows.
impl WorkflowContext {
    pub(crate) fn new(journal: Arc<Journal>) -> Self {
        Self { journal, scope: ROOT }
    }

    /// Calls an activity.
    #[expect(clippy::needless_pass_by_value, reason = "a function is named, not lent")]
    pub fn activity<F, Shape, I>(&self, _: F, input: I) -> ActivityCall<F::Output>
    where
        F: ActivityFn<Shape>,
        I: Input<F::Input>,
    {
        let name = self.journal.registry.name_of::<F>().to_owned();
        ActivityCall::new(self.clone(), name, input.encode())
    }

    /// Calls an activity by its name, whoever has it.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn pay(ctx: WorkflowContext, order: String) -> Result<String, Failure> {
    /// // Registered by a worker in another language, on a queue of its own.
    /// let call = ctx.activity_named::<String>("ChargeCard", &order).task_queue("python");
    /// # let receipt =
    /// call.await?
    /// # ;
    /// # Ok(receipt) }
    /// ```
    pub fn activity_named<T: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &impl Serialize,
    ) -> ActivityCall<T> {
        ActivityCall::new(self.clone(), name.into(), payload::encode_one(input))
    }

    /// Calls an activity that is short and may be done again, in this very step: see
    /// [`LocalActivityCall`].
    #[expect(clippy::needless_pass_by_value, reason = "a function is named, not lent")]
    pub fn local_activity<F, Shape, I>(&self, _: F, input: I) -> LocalActivityCall<F::Output>
    where
        F: ActivityFn<Shape>,
        I: Input<F::Input>,
    {
        let name = self.journal.registry.name_of::<F>().to_owned();
        LocalActivityCall::new(self.clone(), name, input.encode())
    }

    /// Calls a local activity by its name. It must be registered where the workflow is.
    pub fn local_activity_named<T: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &impl Serialize,
    ) -> LocalActivityCall<T> {
        LocalActivityCall::new(self.clone(), name.into(), payload::encode_one(input))
    }

    /// Waits. The wait outlives the process.
    pub fn sleep(&self, span: Duration) -> Timer {
        Timer::start(self, span, false)
    }

    /// Starts a timer whose length, too, must be as history has it.
    pub(crate) fn exact_timer(&self, span: Duration) -> Timer {
        Timer::start(self, span, true)
    }

    /// Calls a child workflow.
    #[expect(clippy::needless_pass_by_value, reason = "a function is named, not lent")]
    pub fn child<F, Shape, I>(&self, _: F, input: I) -> ChildCall<F::Output>
    where
        F: WorkflowFn<Shape>,
        I: Input<F::Input>,
    {
        let name = self.journal.registry.name_of::<F>().to_owned();
        ChildCall::new(self.clone(), name, input.encode())
    }

    /// Calls a child workflow by its name, whoever has it.
    pub fn child_named<T: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &impl Serialize,
    ) -> ChildCall<T> {
        ChildCall::new(self.clone(), name.into(), payload::encode_one(input))
    }

    /// Another workflow, to signal or to cancel.
    pub fn external(&self, workflow_id: impl Into<String>) -> ExternalWorkflow {
        ExternalWorkflow::new(self.clone(), workflow_id.into())
    }

    /// Something to undo steps with.
    pub fn saga(&self) -> Saga {
        Saga::new(self)
    }
}

/// Messages from outside.
impl WorkflowContext {
    /// The signals of this name.
    pub fn signals<T: DeserializeOwned>(&self, name: impl Into<String>) -> Signals<T> {
        Signals::new(self.clone(), name.into())
    }

    /// Answers queries of this name. The handler only looks.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, StateCell, WorkflowContext};
    /// async fn order(ctx: WorkflowContext, id: String) -> Result<(), Failure> {
    ///     let stage = StateCell::new("new");
    ///     let shown = stage.clone();
    ///     ctx.on_query("stage", move |(): ()| shown.get());
    ///     stage.set("packing");
    ///     Ok(())
    /// }
    /// ```
    pub fn on_query<I, O>(
        &self,
        name: impl Into<String>,
        handler: impl Fn(I) -> O + Send + Sync + 'static,
    ) where
        I: DeserializeOwned,
        O: Serialize,
    {
        let answer = move |input: Option<Payloads>| {
            let input = payload::decode_one(input.as_ref())?;
            Ok(payload::encode_one(&handler(input))?)
        };
        self.journal.state().handlers.queries.insert(name.into(), Arc::new(answer));
    }

    /// Takes updates of this name.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn reserve(thing: String) -> Result<u32, Failure> { Ok(7) }
    /// async fn cart(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ///     // A handler may do all that a workflow may.
    ///     ctx.on_update("add", |ctx: WorkflowContext, thing: String| async move {
    ///         ctx.activity(reserve, &thing).await
    ///     });
    ///     ctx.signals::<()>("order").receive().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn on_update<I, O, E, Fut>(
        &self,
        name: impl Into<String>,
        handler: impl Fn(Self, I) -> Fut + Send + Sync + 'static,
    ) where
        I: DeserializeOwned + 'static,
        O: Serialize,
        E: Into<Failure>,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
    {
        self.on_update_if(name, |_: &I| Ok::<_, Failure>(()), handler);
    }

    /// Takes updates of this name that a check lets pass. What it refuses leaves no trace.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn cart(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    /// ctx.on_update_if(
    ///     "add",
    ///     |number: &u32| if *number <= 100 { Ok(()) } else { Err(Failure::new("too many")) },
    ///     |_, number: u32| async move { Ok::<_, Failure>(number * 12) },
    /// );
    /// # Ok(()) }
    /// ```
    pub fn on_update_if<I, O, E, R, Fut>(
        &self,
        name: impl Into<String>,
        check: impl Fn(&I) -> Result<(), R> + Send + Sync + 'static,
        handler: impl Fn(Self, I) -> Fut + Send + Sync + 'static,
    ) where
        I: DeserializeOwned + 'static,
        O: Serialize,
        E: Into<Failure>,
        R: Into<Failure>,
        Fut: Future<Output = Result<O, E>> + Send + 'static,
    {
        let validate = move |input: Option<Payloads>| {
            let input = payload::decode_one(input.as_ref())?;
            check(&input).map_err(Into::into)
        };
        // The handler lives in the journal: a strong context would keep it alive for ever.
        let (journal, scope) = (Arc::downgrade(&self.journal), self.scope);
        let handle = move |input: Option<Payloads>| -> Called {
            let Some(journal) = journal.upgrade() else {
                return Box::pin(async { Err(Failure::new("the run is gone")) });
            };
            match payload::decode_one(input.as_ref()) {
                Ok(input) => {
                    let handling = handler(Self { journal, scope }, input);
                    Box::pin(async move {
                        let result = handling.await.map_err(Into::into)?;
                        Ok(payload::encode_one(&result)?)
                    })
                }
                Err(error) => Box::pin(async { Err(error.into()) }),
            }
        };
        let handler = UpdateHandler { validate: Arc::new(validate), handle: Arc::new(handle) };
        self.journal.state().handlers.updates.insert(name.into(), handler);
    }

    /// Waits until no update is under way: what comes after may be the end of the workflow, which
    /// handlers do not outlive.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// async fn counter(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ///     ctx.on_update("add", |_, number: u32| async move { Ok::<_, Failure>(number + 1) });
    ///     ctx.signals::<()>("stop").receive().await?;
    ///     ctx.handlers_done().await;
    ///     Ok(())
    /// }
    /// ```
    pub fn handlers_done(&self) -> impl Future<Output = ()> + Send + use<> {
        let journal = Arc::clone(&self.journal);
        self.until(move || journal.state().handling == 0)
    }

    /// Waits until a condition holds. It is asked again whenever something has happened.
    pub fn until<C: Fn() -> bool + Unpin>(&self, condition: C) -> Until<C> {
        Until { ctx: self.clone(), condition }
    }
}

/// Cancellation.
impl WorkflowContext {
    /// A part of the workflow that can be cancelled by itself, and is when this one is.
    pub fn scope(&self) -> CancelScope {
        let scope = self.journal.state().scopes.open(Some(self.scope));
        CancelScope::new(Self { journal: Arc::clone(&self.journal), scope })
    }

    /// A context that no cancellation reaches: for cleaning up.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn book(trip: String) -> Result<(), Failure> { Ok(()) }
    /// # async fn unbook(trip: String) -> Result<(), Failure> { Ok(()) }
    /// async fn travel(ctx: WorkflowContext, trip: String) -> Result<(), Failure> {
    ///     if let Err(error) = ctx.activity(book, &trip).await {
    ///         // Also when it was the workflow that was cancelled.
    ///         ctx.shielded().activity(unbook, &trip).await?;
    ///         return Err(error.into());
    ///     }
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn shielded(&self) -> Self {
        let scope = self.journal.state().scopes.open(None);
        Self { journal: Arc::clone(&self.journal), scope }
    }

    /// Waits until somebody cancels the workflow, or the scope.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn wait(ctx: WorkflowContext, (): ()) -> Result<&'static str, Failure> {
    /// # Ok(
    /// steadfast::select! {
    ///     () = ctx.cancelled() => "somebody has cancelled it",
    ///     _ = ctx.shielded().sleep(Duration::from_secs(3600)) => "an hour has passed",
    /// }
    /// # ) }
    /// ```
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        Cancellation { ctx: self.clone() }
    }

    /// Whether somebody has.
    pub fn is_cancelled(&self) -> bool {
        self.journal.state().is_cancelled(self.scope)
    }
}

/// Time, chance, versions, and what the run is.
impl WorkflowContext {
    /// The time, the same at every replay.
    pub fn now(&self) -> SystemTime {
        self.journal.state().now
    }

    /// A random number, the same at every replay.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn draw(ctx: WorkflowContext, names: Vec<String>) -> Result<Option<String>, Failure> {
    /// let drawn = usize::try_from(ctx.random()).unwrap_or_default() % names.len().max(1);
    /// # Ok(names.get(drawn).cloned()) }
    /// ```
    pub fn random(&self) -> u64 {
        let mut state = self.journal.state();
        state.draws += 1;
        xxh3_64_with_seed(state.info.original_run_id.as_bytes(), state.draws)
    }

    /// A random id, the same at every replay.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn charge(key: String) -> Result<String, Failure> { Ok(key) }
    /// # async fn pay(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    /// let key = ctx.uuid().to_string();
    /// # Ok(
    /// ctx.activity(charge, &key).await?
    /// # ) }
    /// ```
    pub fn uuid(&self) -> Uuid {
        Uuid::from_u64_pair(self.random(), self.random())
    }

    /// A value that is computed once, and read from history ever after.
    ///
    /// It must not fail, and should be quick: what can fail or takes its time is an activity, or a local one.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn f(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    /// let host: String = ctx.side_effect(|| std::env::var("HOSTNAME").unwrap_or_default())?;
    /// # Ok(host) }
    /// ```
    pub fn side_effect<T: Serialize + DeserializeOwned>(
        &self,
        compute: impl FnOnce() -> T,
    ) -> Result<T, CodecError> {
        marker::side_effect(self, compute)
    }

    /// Whether changed code is to run: true for new runs, false for those that were already past
    /// this point when the change came. The changes that a run has are listed in its search attribute
    /// `TemporalChangeVersion`: runs without one are found by `TemporalChangeVersion != 'insure parcels'`.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn insure(order: String) -> Result<(), Failure> { Ok(()) }
    /// # async fn ship(order: String) -> Result<String, Failure> { Ok(order) }
    /// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    ///     if ctx.patched("insure parcels") {
    ///         ctx.activity(insure, &id).await?;
    ///     }
    ///     Ok(ctx.activity(ship, &id).await?)
    /// }
    /// ```
    pub fn patched(&self, id: &str) -> bool {
        patch::patched(self, id)
    }

    /// Says that all runs from before a change are done, so that only the new code is left. When all
    /// runs are done that were begun before this was said, it need not be said any more: runs in which it
    /// was said replay without it.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn insure(order: String) -> Result<(), Failure> { Ok(()) }
    /// # async fn ship(order: String) -> Result<String, Failure> { Ok(order) }
    /// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    ///     ctx.deprecate_patch("insure parcels");
    ///     ctx.activity(insure, &id).await?;
    ///     Ok(ctx.activity(ship, &id).await?)
    /// }
    /// ```
    pub fn deprecate_patch(&self, id: &str) {
        patch::deprecate(self, id);
    }

    /// Who this run is.
    pub fn info(&self) -> WorkflowInfo {
        self.journal.state().info.clone()
    }

    /// Whether the code is being replayed: what it does now it has done before.
    pub fn is_replaying(&self) -> bool {
        self.journal.state().replaying
    }

    /// Logs a line, once and not again at every replay.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// # async fn order(ctx: WorkflowContext, id: String) -> Result<(), Failure> {
    /// ctx.log(format_args!("order {id} is packed"));
    /// # Ok(()) }
    /// ```
    pub fn log(&self, line: fmt::Arguments<'_>) {
        let state = self.journal.state();
        if !state.replaying {
            let info = &state.info;
            tracing::info!(
                workflow_id = info.workflow_id,
                run_id = info.run_id,
                workflow_type = info.workflow_type,
                "{line}"
            );
        }
    }

    /// Goes on as a new run of the same workflow, with an empty history: `return
    /// ctx.continue_as_new(&next)`.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use steadfast::{Failure, WorkflowContext};
    /// async fn poll(ctx: WorkflowContext, seen: u64) -> Result<u64, Failure> {
    ///     for _ in 0..1000 {
    ///         ctx.sleep(Duration::from_secs(60)).await?;
    ///     }
    ///     ctx.continue_as_new(&(seen + 1000))
    /// }
    /// ```
    pub fn continue_as_new<T>(&self, input: &impl Serialize) -> Result<T, Failure> {
        self.next_run(input).go()
    }

    /// As [`continue_as_new`](Self::continue_as_new), as another workflow.
    pub fn continue_as<T>(&self, workflow: &str, input: &impl Serialize) -> Result<T, Failure> {
        self.next_run(input).workflow(workflow).go()
    }

    /// As [`continue_as_new`](Self::continue_as_new), with more to say about the new run.
    pub fn next_run(&self, input: &impl Serialize) -> NextRun {
        NextRun::new(self, input)
    }
}

/// A wait for a condition.
///
/// ```no_run
/// # use steadfast::{Failure, StateCell, WorkflowContext};
/// async fn vote(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
///     let votes = StateCell::new(0);
///     let (counted, seen) = (votes.clone(), votes.clone());
///     ctx.on_update("vote", move |_, (): ()| {
///         let votes = counted.clone();
///         async move { Ok::<_, Failure>(votes.change(|votes| *votes += 1)) }
///     });
///     ctx.until(move || seen.get() >= 3).await;
///     Ok(votes.get())
/// }
/// ```
#[derive(Debug)]
#[must_use = "a condition is asked when this is awaited"]
pub struct Until<C> {
    ctx: WorkflowContext,
    condition: C,
}

impl<C: Fn() -> bool + Unpin> Future for Until<C> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let holds = (self.condition)();
        let mut state = self.ctx.journal.state();
        if holds {
            state.condition_held = true;
            return Poll::Ready(());
        }
        state.watch(cx.waker());
        drop(state);
        Poll::Pending
    }
}

impl fmt::Debug for WorkflowContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkflowContext").field("scope", &self.scope).finish_non_exhaustive()
    }
}
