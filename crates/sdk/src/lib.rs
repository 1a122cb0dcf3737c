//! Durable workflows as plain async Rust.
//!
//! A workflow is an async function that survives crashes: what it has done is in its history, and
//! when the process is back it goes on where it was. What touches the world is done in activities,
//! functions too, async or plain, which are tried again by a policy.
//!
//! ```no_run
//! use std::time::Duration;
//! use steadfast::{ActivityContext, App, Failure, RetryPolicy, WorkflowContext};
//!
//! async fn charge(ctx: ActivityContext, order: String) -> Result<String, Failure> {
//!     Ok(format!("{order} is paid at attempt {}", ctx.attempt()))
//! }
//!
//! async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
//!     ctx.sleep(Duration::from_secs(24 * 3600)).await?;
//!     let policy = RetryPolicy::new().max_attempts(10);
//!     Ok(ctx.activity(charge, &id).retry(policy).await?)
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let app = App::builder("sqlite:orders.db").workflow(order).activity(charge).start().await?;
//!     let order = app.client().start(order, "17").id("order-17").await?;
//!     println!("{}", order.result().await?);
//!     app.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! # Where to look
//!
//! - An [`App`] has workflows and activities, and runs them: on an engine of its own in a file or in
//!   memory, or as a worker of a server at `host:port`. [`AppBuilder`] says how.
//! - A workflow's code does everything through its [`WorkflowContext`]: [activities](ActivityCall),
//!   [local ones](LocalActivityCall), [timers](Timer), [signals](Signals), queries and updates,
//!   [children](ChildCall), [other workflows](ExternalWorkflow), [scopes](CancelScope), [sagas](Saga),
//!   time, chance, patches, and [a new run](NextRun). [`select!`] and [`join_all`] wait for several
//!   things, and do the same at every replay.
//! - An attempt of an activity has an [`ActivityContext`]: its number, heartbeats, cancellation, a key
//!   for services that do nothing twice.
//! - A [`RetryPolicy`] says when a failed activity is tried again. What it finally fails with is an
//!   [`ActivityError`]; any error turns into a [`Failure`].
//! - A [`Client`] starts workflows, finds them, talks to them by a [`WorkflowHandle`], makes
//!   [schedules](Schedule), and ends [activities](ActivityHandle) whose end comes from elsewhere.
//! - [`testing::TestEnv`](https://docs.rs/steadfast/latest/steadfast/testing/struct.TestEnv.html), with
//!   the feature `testing`, is an application on virtual time whose plug can be pulled; a [`Replayer`]
//!   holds changed code against recorded histories.
//! - [`orchestration`] is the API of duroxide, for programs that come from there.

mod activity;
mod app;
mod call;
mod client;
mod codec;
mod door;
mod error;
mod fields;
mod header;
mod input;
mod name;
pub mod orchestration;
mod payload;
mod policy;
mod priority;
mod replay;
mod replayer;
mod select;
mod span;
mod state;
#[cfg(feature = "testing")]
pub mod testing;
mod worker;
mod workflow;

pub use activity::{
    Activity, ActivityContext, ActivityFn, ActivityInfo, ActivityOptions, ActivityToken, Blocking,
    InvalidToken, WithContext, WithoutContext,
};
pub use app::{App, AppBuilder, BackupError, StartError, Synchronous};
pub use client::{
    ActivityHandle, ActivityOutcome, Calendar, CalendarField, Client, ClientError, ErrorInfo,
    Noted, RetriedActivity, RetryMetadata, Schedule, ScheduleDescription, ScheduleHandle,
    ScheduleSpec, ScheduleSummary, ScheduledStart, StartCall, UpdateCall, UpdateHandle,
    WorkflowError, WorkflowHandle,
};
pub use codec::PayloadCodec;
#[cfg(feature = "remote")]
pub use door::BadServer;
pub use error::{
    ActivityError, AttemptError, Cancelled, ChildError, Failure, HeartbeatError, RetryExhausted,
    TerminalError, TimeoutError, TimeoutKind,
};
pub use input::Input;
pub use payload::CodecError;
pub use policy::{
    AGGRESSIVE, CONSERVATIVE, DEFAULT, Draft, Explanation, INFINITE, InvalidPolicy, RetryPolicy,
    TemporalPolicy,
};
pub use priority::Priority;
pub use replay::{Broken, NonDeterminism};
pub use replayer::{ReplayError, Replayer};
pub use rusqlite;
pub use select::{JoinAll, join_all};
pub use steadfast_engine::{Code, Engine, Error as ServiceError, Limits};
pub use steadfast_proto as proto;
pub use steadfast_proto::enums::{
    IndexedValueType as SearchAttributeType, ParentClosePolicy, ScheduleOverlapPolicy,
    WorkflowExecutionStatus, WorkflowIdConflictPolicy, WorkflowIdReusePolicy,
};
pub use workflow::{
    ActivityCall, CancelScope, ChildCall, ChildHandle, ExternalWorkflow, LocalActivityCall,
    NextRun, OnCancel, ParentWorkflow, Saga, Signals, StartedActivity, StartedLocalActivity,
    StateCell, Timer, Until, Workflow, WorkflowContext, WorkflowFn, WorkflowInfo,
};

#[doc(hidden)]
pub mod __private {
    pub use tokio;
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;

/// The Rust part of the project's own page.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct ProjectReadme;
