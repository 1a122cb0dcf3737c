//! A client: starts workflows and talks to them.

mod activity;
mod attempts;
mod error;
mod handle;
mod listing;
mod schedule;
mod start;
mod update;
mod with_start;

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::common::WorkflowExecution;

pub use activity::ActivityHandle;
pub use attempts::{ActivityOutcome, ErrorInfo, RetriedActivity, RetryMetadata};
pub use error::{ClientError, WorkflowError};
pub use handle::WorkflowHandle;
pub use listing::Noted;
pub use schedule::{
    Calendar, CalendarField, Schedule, ScheduleDescription, ScheduleHandle, ScheduleSpec,
    ScheduleSummary, ScheduledStart,
};
pub use start::StartCall;
pub(crate) use start::fresh_id;
pub use update::{UpdateCall, UpdateHandle};

use crate::{door::Door, input::Input, payload, workflow::Registry, workflow::WorkflowFn};

/// Starts workflows and talks to them.
///
/// It is cheap to clone, and lives as long as the application or the server. An application without
/// workflows and activities takes no work: it is nothing but a client.
///
/// A server that is away, or has too much to do, is asked again for half a minute before a call fails
/// with [`ClientError::Service`]: it may be restarted under a program that goes on. A call that was
/// cut off is made again as the same request, so that a workflow is not started twice and a signal is
/// not sent twice. Whoever waits for a result waits on, however long the server is away.
///
/// ```no_run
/// # use steadfast::{App, Failure, WorkflowContext};
/// # async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> { Ok(id) }
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let app = App::builder("localhost:7233").task_queue("orders").start().await?;
/// let client = app.client().clone();
/// let order = client.start(order, "17").id("order-17").await?;
/// println!("{}", order.result().await?);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) door: Door,
    pub(crate) registry: Arc<Registry>,
    pub(crate) namespace: String,
    pub(crate) task_queue: String,
    pub(crate) identity: String,
}

impl Client {
    /// Starts a workflow.
    ///
    /// ```no_run
    /// # use steadfast::{App, Failure, WorkflowContext};
    /// # async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> { Ok(id) }
    /// # async fn f(app: App) -> Result<(), Box<dyn std::error::Error>> {
    /// let handle = app.client().start(order, "order 17").id("order-17").await?;
    /// let receipt: String = handle.result().await?;
    /// # Ok(()) }
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "a function is named, not lent")]
    pub fn start<F, Shape, I>(&self, _: F, input: I) -> StartCall<F::Output>
    where
        F: WorkflowFn<Shape>,
        I: Input<F::Input>,
    {
        let name = self.registry.name_of::<F>().to_owned();
        StartCall::new(self.clone(), name, input.encode())
    }

    /// Starts a workflow by its name, whoever has it.
    pub fn start_named<T: DeserializeOwned>(
        &self,
        name: impl Into<String>,
        input: &impl Serialize,
    ) -> StartCall<T> {
        StartCall::new(self.clone(), name.into(), payload::encode_one(input))
    }

    /// A workflow that was started before.
    pub fn workflow<T: DeserializeOwned>(&self, id: impl Into<String>) -> WorkflowHandle<T> {
        let execution = WorkflowExecution { workflow_id: id.into(), run_id: String::new() };
        WorkflowHandle::new(self.clone(), execution)
    }
}
