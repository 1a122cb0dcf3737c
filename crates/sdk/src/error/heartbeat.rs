//! Why a heartbeat was not taken.

use super::Cancelled;
use crate::payload::CodecError;

/// Why a heartbeat was not taken.
///
/// ```
/// # use steadfast::{ActivityContext, Failure, HeartbeatError};
/// async fn copy(ctx: ActivityContext, pages: u32) -> Result<u32, Failure> {
///     for page in 0..pages {
///         match ctx.heartbeat(&page) {
///             // What is done stays done.
///             Err(HeartbeatError::Cancelled(_)) => return Ok(page),
///             other => other?,
///         }
///     }
///     Ok(pages)
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeartbeatError {
    /// The activity has been cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The details cannot be written.
    #[error(transparent)]
    Codec(#[from] CodecError),
}
