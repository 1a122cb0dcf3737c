//! Durable workflows as plain async Rust.
//!
//! A workflow is an async function that survives crashes: what it has done is in its history, and
//! when the process is back it goes on where it was. What touches the world is done in activities,
//! async functions too, which are tried again by a policy.

mod activity;
mod error;
mod failure;
mod header;
mod input;
mod name;
mod payload;
mod policy;
mod registry;
mod replay;
mod select;
mod span;
mod workflow;

pub use activity::{
    Activity, ActivityContext, ActivityFn, ActivityInfo, ActivityOptions, WithContext,
    WithoutContext,
};
pub use error::{
    ActivityError, Cancelled, ChildError, RetryExhausted, TerminalError, TimeoutError, TimeoutKind,
};
pub use failure::Failure;
pub use input::Input;
pub use payload::CodecError;
pub use policy::{
    AGGRESSIVE, CONSERVATIVE, DEFAULT, Draft, INFINITE, InvalidPolicy, RetryPolicy, TemporalPolicy,
};
pub use replay::{Broken, NonDeterminism};
pub use select::join_all;
pub use steadfast_proto::enums::{ParentClosePolicy, WorkflowIdReusePolicy};
pub use workflow::{
    ActivityCall, CancelScope, ChildCall, ChildHandle, ExternalWorkflow, OnCancel, Saga, Signals,
    StartedActivity, StateCell, Timer, Workflow, WorkflowContext, WorkflowFn, WorkflowInfo,
};

#[doc(hidden)]
pub mod __private {
    pub use tokio;
}
