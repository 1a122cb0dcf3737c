//! Why a heartbeat was not taken.

use super::Cancelled;
use crate::payload::CodecError;

/// Why a heartbeat was not taken.
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
