//! Durable workflows as plain async Rust.
//!
//! A workflow is an async function that survives crashes: what it has done is in its history, and
//! when the process is back it goes on where it was. What touches the world is done in activities,
//! async functions too, which are tried again by a policy.

mod activity;
mod app;
mod call;
mod client;
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
    Activity, ActivityContext, ActivityFn, ActivityInfo, ActivityOptions, ActivityToken,
    InvalidToken, WithContext, WithoutContext,
};
pub use app::{App, AppBuilder, StartError, Synchronous};
pub use client::{
    ActivityHandle, ActivityOutcome, Calendar, CalendarField, Client, ClientError, ErrorInfo,
    Noted, RetriedActivity, RetryMetadata, Schedule, ScheduleDescription, ScheduleHandle,
    ScheduleSpec, ScheduleSummary, ScheduledStart, StartCall, UpdateCall, UpdateHandle,
    WorkflowError, WorkflowHandle,
};
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
