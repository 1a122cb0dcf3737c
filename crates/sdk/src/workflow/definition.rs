//! A workflow as it is registered: a function and its name.

use std::{any::TypeId, fmt, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::common::Payloads;

use super::context::WorkflowContext;
use crate::{
    call::{Called, call},
    error::Failure,
    name,
};

/// A function that can be a workflow: `async fn(WorkflowContext, Input) -> Result<Output, Error>`.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use steadfast::{Failure, Workflow, WorkflowContext};
///
/// #[derive(Deserialize, Serialize)]
/// struct Order {
///     id: String,
///     euros: u32,
/// }
///
/// async fn order(ctx: WorkflowContext, order: Order) -> Result<String, Failure> {
///     Ok(format!("{} costs {}", order.id, order.euros))
/// }
/// let workflow = Workflow::new(order);
/// ```
#[diagnostic::on_unimplemented(
    message = "this cannot be a workflow",
    label = "not a function that can be a workflow",
    note = "a workflow is `async fn(WorkflowContext, Input) -> Result<Output, Error>`, with one input (a \
            struct or a tuple, if there are several)"
)]
pub trait WorkflowFn<Shape>: Send + Sync + 'static {
    /// What it takes.
    type Input: DeserializeOwned + Serialize + Send + 'static;
    /// What it gives.
    type Output: DeserializeOwned + Serialize + Send + 'static;

    /// Begins a run.
    fn begin(
        &self,
        ctx: WorkflowContext,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send + 'static;
}

impl<F, Fut, I, O, E> WorkflowFn<fn(I) -> (O, E)> for F
where
    F: Fn(WorkflowContext, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, E>> + Send + 'static,
    I: DeserializeOwned + Serialize + Send + 'static,
    O: DeserializeOwned + Serialize + Send + 'static,
    E: Into<Failure>,
{
    type Input = I;
    type Output = O;

    fn begin(
        &self,
        ctx: WorkflowContext,
        input: I,
    ) -> impl Future<Output = Result<O, Failure>> + Send + 'static {
        let running = self(ctx, input);
        async move { running.await.map_err(Into::into) }
    }
}

/// A workflow to register.
///
/// ```
/// use steadfast::{Failure, Workflow, WorkflowContext};
///
/// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
///     Ok(id)
/// }
/// assert_eq!(Workflow::new(order).name(), "order");
/// assert_eq!(Workflow::new(order).named("Order").name(), "Order");
/// ```
#[derive(Clone)]
pub struct Workflow {
    name: String,
    function: TypeId,
    begin: Arc<dyn Fn(WorkflowContext, Option<Payloads>) -> Called + Send + Sync>,
}

impl Workflow {
    /// A function, under its own name. A closure needs one: see [`named`](Self::named).
    pub fn new<F, Shape>(function: F) -> Self
    where
        F: WorkflowFn<Shape>,
    {
        Self {
            name: name::of_type::<F>().to_owned(),
            function: TypeId::of::<F>(),
            begin: Arc::new(move |ctx, input| {
                call(input.as_ref(), |input| function.begin(ctx, input))
            }),
        }
    }

    /// Under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Its name in history.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which function it is, so that a call by function finds its name.
    pub(crate) fn function(&self) -> TypeId {
        self.function
    }

    pub(crate) fn begin(&self, ctx: WorkflowContext, input: Option<Payloads>) -> Called {
        (self.begin)(ctx, input)
    }
}

impl fmt::Debug for Workflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workflow").field("name", &self.name).finish_non_exhaustive()
    }
}
