//! Numbers between Rust and the database, which knows signed 64-bit ones only.

use std::time::Duration;

use super::fault::Fault;
use crate::error::Error;

/// A count or sequence number as it was stored.
pub(super) fn unsigned(column: &str, value: i64) -> Result<u64, Fault> {
    u64::try_from(value).map_err(|_| Fault::unreadable(column, value))
}

/// A count or sequence number to be stored.
pub(super) fn signed(column: &str, value: u64) -> Result<i64, Fault> {
    i64::try_from(value)
        .map_err(|_| Error::Rejected(format!("{column} {value} is too large to store")).into())
}

/// A number of rows to ask for.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// A span to be stored, in nanoseconds.
pub(super) fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// A span as it was stored.
pub(super) fn span(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.unsigned_abs())
}
