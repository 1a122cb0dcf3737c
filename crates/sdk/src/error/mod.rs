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
pub(crate) use failure::{PANIC, PAYLOAD_CODEC, UNKNOWN_ACTIVITY};

/// The work was cancelled, or the scope that it was begun in.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Cancelled, Failure, WorkflowContext};
/// # async fn clean_up(order: String) -> Result<(), Failure> { Ok(()) }
/// async fn order(ctx: WorkflowContext, id: String) -> Result<(), Failure> {
///     if let Err(Cancelled) = ctx.sleep(Duration::from_secs(3600)).await {
///         // No cancellation reaches what is called so.
///         ctx.shielded().activity(clean_up, &id).await?;
///         return Err(Cancelled.into());
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;
