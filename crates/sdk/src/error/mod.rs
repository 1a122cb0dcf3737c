//! The errors that a workflow's code can catch. They are read from history, so they are the same
//! at every replay.

mod activity;
mod attempt;
mod child;
mod failure;
mod heartbeat;
mod terminal;

pub use activity::{ActivityError, RetryExhausted, TimeoutError};
pub use attempt::AttemptError;
pub use child::ChildError;
pub use failure::Failure;
pub use heartbeat::HeartbeatError;
pub use steadfast_retry::TimeoutKind;
pub use terminal::TerminalError;

pub(crate) use attempt::millis;
pub(crate) use child::ALREADY_STARTED;
pub(crate) use failure::{PANIC, UNKNOWN_ACTIVITY};

/// The work was cancelled, or the scope that it was begun in.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;
