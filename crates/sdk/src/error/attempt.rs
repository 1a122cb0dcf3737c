//! What attempts of an activity have failed with.

use serde::Serialize;
use steadfast_engine::Timestamp;
use steadfast_proto::{
    failure::{Failure, failure::FailureInfo},
    workflow::PendingActivityInfo,
};
use steadfast_store::AttemptRow;

/// An attempt that failed.
///
/// ```
/// # use steadfast::{ActivityContext, Failure};
/// async fn charge(ctx: ActivityContext, order: String) -> Result<String, Failure> {
///     for before in ctx.previous_failures().await? {
///         println!("attempt {} failed: {}", before.attempt, before.message);
///     }
///     Ok(order)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AttemptError {
    /// Which, from 1.
    pub attempt: u32,
    /// The type of the error.
    pub error_type: String,
    /// Its words.
    pub message: String,
    /// When it failed, in milliseconds since 1970.
    pub timestamp_ms: u64,
}

impl AttemptError {
    /// As the log of attempts has it.
    pub(crate) fn of(row: &AttemptRow) -> Self {
        Self {
            attempt: row.attempt,
            error_type: row.error_type.clone(),
            message: row.message.clone(),
            timestamp_ms: millis(row.ended_at),
        }
    }

    /// The last one of an activity that is tried again, as a server describes it.
    pub(crate) fn last_of(pending: &PendingActivityInfo) -> Option<Self> {
        let failure = pending.last_failure.as_ref()?;
        let ended = pending.last_attempt_complete_time.unwrap_or_default();
        let seconds = u64::try_from(ended.seconds).unwrap_or_default();
        let millis = u64::try_from(ended.nanos / 1_000_000).unwrap_or_default();
        Some(Self {
            attempt: u32::try_from(pending.attempt - 1).unwrap_or_default(),
            error_type: error_type(failure),
            message: failure.message.clone(),
            timestamp_ms: seconds * 1_000 + millis,
        })
    }
}

fn error_type(failure: &Failure) -> String {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => info.r#type.clone(),
        _ => String::new(),
    }
}

pub(crate) fn millis(time: Timestamp) -> u64 {
    u64::try_from(time.0 / 1_000_000).unwrap_or_default()
}
