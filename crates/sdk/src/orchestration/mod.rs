//! Orchestrations in duroxide's terms: text in, text out, retries that are history.
//!
//! An orchestration is an `async fn(OrchestrationContext, String) -> Result<String, String>`, and so
//! is an activity with its [`ActivityContext`]. What is retried here is retried by the
//! orchestration's own code: each attempt is an activity of its own in history, each wait a timer.
//!
//! ```text
//!  schedule_activity_with_retry ─▶ [TimerCreated] ActivityScheduled ─▶ ActivityCompleted ─▶ Ok
//!            ▲                          │                  └─────────▶ ActivityFailed ──┐
//!            │                          └─▶ TimerFired ─▶ Err(timeout)                  │
//!            └───────────────── TimerFired ◀─ [TimerCreated: backoff] ◀────────────────┘
//! ```
//!
//! ```
//! use std::time::Duration;
//! use steadfast::orchestration::{
//!     ActivityContext, ActivityRegistry, OrchestrationContext, OrchestrationRegistry,
//!     OrchestrationStatus, RetryPolicy, Runtime,
//! };
//!
//! async fn greet(_: ActivityContext, name: String) -> Result<String, String> {
//!     Ok(format!("Hello, {name}!"))
//! }
//!
//! async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, String> {
//!     ctx.schedule_activity_with_retry("Greet", name, RetryPolicy::new(3)).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let activities = ActivityRegistry::builder().register("Greet", greet).build();
//! let orchestrations = OrchestrationRegistry::builder().register("Hello", hello).build();
//! let runtime = Runtime::start("memory:", activities, orchestrations).await?;
//! let client = runtime.client();
//! client.start_orchestration("hello-1", "Hello", "Ada").await?;
//! let status = client.wait_for_orchestration("hello-1", Duration::from_secs(10)).await?;
//! assert_eq!(status, OrchestrationStatus::Completed { output: "Hello, Ada!".to_owned() });
//! runtime.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! # What is different from duroxide
//!
//! - A timed-out attempt is cancelled, and the deadline of an attempt that has settled is not left
//!   behind. History, as [`Client::read_execution_history`] shows it, has neither.
//! - Every change of a retry policy that history contradicts is an error at replay, one of a delay
//!   or a timeout, too.
//! - Time and ids cost nothing: they are not activities.
//! - An attempt whose worker died, or that came to a worker which does not know the activity, is
//!   given out again without being counted; after ten times the orchestration fails. Its code sees
//!   only what activities themselves said.
//!
//! # What is the same
//!
//! An attempt's timeout begins when it is scheduled, so the time that it waits for a worker counts.
//! For a limit that begins with the work, use
//! [`start_to_close`](crate::ActivityCall::start_to_close) of a [workflow](crate::WorkflowContext).

mod activity;
mod client;
mod combine;
mod context;
mod counters;
mod error;
mod event;
mod future;
mod plan;
mod registry;
mod retry;
mod run;
mod runtime;
mod text;
mod view;

pub use activity::ActivityContext;
pub use client::{Client, ClientError, OrchestrationStatus};
pub use combine::{Either2, Either3};
pub use context::OrchestrationContext;
pub use counters::{Counted, Counters};
pub use error::{AppErrorKind, ErrorDetails};
pub use event::{Event, EventKind};
pub use future::DurableFuture;
pub use plan::RetryPlan;
pub use registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
};
pub use runtime::Runtime;
pub use steadfast_retry::preset::duroxide::{BackoffStrategy, RetryPolicy};
pub use view::view;
