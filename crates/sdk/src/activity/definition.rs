//! An activity as it is registered: a function, its name, and how it is run unless a call says
//! otherwise.

use std::{any::TypeId, fmt, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::common::Payloads;

use super::{context::ActivityContext, options::ActivityOptions};
use crate::{
    call::{Called, call},
    error::Failure,
    name,
};

/// A function that can be an activity: `async fn(ActivityContext, Input) -> Result<Output, Error>`,
/// or the same without the context. Input and output are what serde can write and read; the error is
/// a [`Failure`] or anything that turns into one.
///
/// A plain `fn(&ActivityContext, Input)` is one, too, or `fn(Input)`. It runs on a thread of its own, which
/// it may hold for as long as it likes: for work that computes, or that waits without `await`. It can be
/// told that it is not wanted any more, but not be stopped: if it runs for long it should
/// [ask](ActivityContext::check).
///
/// ```
/// use steadfast::{Activity, ActivityContext, Failure};
///
/// async fn with_context(ctx: ActivityContext, order: String) -> Result<u32, Failure> {
///     Ok(ctx.attempt())
/// }
/// async fn without(order: String) -> Result<String, Failure> {
///     Ok(format!("{order} is paid"))
/// }
/// fn plain(ctx: &ActivityContext, file: String) -> Result<String, std::io::Error> {
///     std::fs::read_to_string(file)
/// }
/// let all = [Activity::new(with_context), Activity::new(without), Activity::new(plain)];
/// ```
#[diagnostic::on_unimplemented(
    message = "this cannot be an activity",
    label = "not a function that can be an activity",
    note = "an activity is `async fn(ActivityContext, Input) -> Result<Output, Error>`, the same without the \
            context, or a plain `fn` (with `&ActivityContext`)",
    note = "it has one input (a struct or a tuple, if there are several); input and output implement \
            `Serialize` and `DeserializeOwned`, and the error turns into a `Failure`",
    note = "nothing that is not `Send` is held over an `await`"
)]
pub trait ActivityFn<Shape>: Send + Sync + 'static {
    /// What it takes.
    type Input: DeserializeOwned + Serialize + Send + 'static;
    /// What it gives.
    type Output: DeserializeOwned + Serialize + Send + 'static;

    /// Runs one attempt.
    fn attempt(
        &self,
        ctx: ActivityContext,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send + 'static;
}

/// The shape of an activity that takes a context.
#[derive(Debug)]
pub struct WithContext;
/// The shape of an activity that takes none.
#[derive(Debug)]
pub struct WithoutContext;

impl<F, Fut, I, O, E> ActivityFn<(WithContext, fn(I) -> (O, E))> for F
where
    F: Fn(ActivityContext, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
    I: DeserializeOwned + Serialize + Send + 'static,
    O: DeserializeOwned + Serialize + Send + 'static,
    E: Into<Failure>,
{
    type Input = I;
    type Output = O;

    fn attempt(
        &self,
        ctx: ActivityContext,
        input: I,
    ) -> impl Future<Output = Result<O, Failure>> + Send + 'static {
        let running = self(ctx, input);
        async move { running.await.map_err(Into::into) }
    }
}

impl<F, Fut, I, O, E> ActivityFn<(WithoutContext, fn(I) -> (O, E))> for F
where
    F: Fn(I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
    I: DeserializeOwned + Serialize + Send + 'static,
    O: DeserializeOwned + Serialize + Send + 'static,
    E: Into<Failure>,
{
    type Input = I;
    type Output = O;

    fn attempt(
        &self,
        _: ActivityContext,
        input: I,
    ) -> impl Future<Output = Result<O, Failure>> + Send + 'static {
        let running = self(input);
        async move { running.await.map_err(Into::into) }
    }
}

/// An activity to register.
///
/// ```
/// use steadfast::{Activity, Failure, RetryPolicy};
///
/// async fn charge(order: String) -> Result<String, Failure> {
///     Ok(format!("{order} is paid"))
/// }
/// let activity = Activity::new(charge).retry(RetryPolicy::new().max_attempts(3));
/// assert_eq!(activity.name(), "charge");
/// ```
#[derive(Clone)]
pub struct Activity {
    name: String,
    function: TypeId,
    run: Arc<dyn Fn(ActivityContext, Option<Payloads>) -> Called + Send + Sync>,
    pub(crate) options: ActivityOptions,
}

impl Activity {
    /// A function, under its own name. A closure needs one: see [`named`](Self::named).
    pub fn new<F, Shape>(function: F) -> Self
    where
        F: ActivityFn<Shape>,
    {
        Self {
            name: name::of_type::<F>().to_owned(),
            function: TypeId::of::<F>(),
            run: Arc::new(move |ctx, input| {
                call(input.as_ref(), |input| function.attempt(ctx, input))
            }),
            options: ActivityOptions::default(),
        }
    }

    /// Under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Run so, unless a call says otherwise.
    #[must_use]
    pub fn options(self, options: ActivityOptions) -> Self {
        Self { options, ..self }
    }

    /// Tried again so, unless a call says otherwise.
    #[must_use]
    pub fn retry(self, policy: impl Into<crate::policy::RetryPolicy>) -> Self {
        Self { options: self.options.retry(policy), ..self }
    }

    /// Its name in history.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which function it is, so that a call by function finds its name.
    pub(crate) fn function(&self) -> TypeId {
        self.function
    }

    pub(crate) fn run(&self, ctx: ActivityContext, input: Option<Payloads>) -> Called {
        (self.run)(ctx, input)
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Activity").field("name", &self.name).finish_non_exhaustive()
    }
}
