//! Schedules reckon in whole seconds: instants to and from them.

use steadfast_retry::Timestamp;

/// The last whole second at or before an instant.
pub(super) fn floor(at: Timestamp) -> i64 {
    at.nanos().div_euclid(NANOS)
}

/// The last whole second before an instant.
pub(super) fn before(at: Timestamp) -> i64 {
    at.nanos().saturating_sub(1).div_euclid(NANOS)
}

const NANOS: i64 = 1_000_000_000;
