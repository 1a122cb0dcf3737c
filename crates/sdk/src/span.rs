//! Spans of time, and times, between Rust and the wire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use steadfast_engine::Timestamp;
use steadfast_proto::prost_types;

/// Longer than anybody needs to wait at a time.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A span as the wire has it. What is too long for it is as long as it can say.
pub(crate) fn to_wire(span: Duration) -> prost_types::Duration {
    let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
    let nanos = i32::try_from(span.subsec_nanos()).unwrap_or_default();
    prost_types::Duration { seconds, nanos }
}

/// A span from the wire; a negative one is none.
pub(crate) fn from_wire(span: &prost_types::Duration) -> Duration {
    let seconds = u64::try_from(span.seconds).unwrap_or_default();
    let nanos = u32::try_from(span.nanos).unwrap_or_default();
    Duration::new(seconds, nanos)
}

/// A limit from the wire, where zero stands for none.
pub(crate) fn limit(span: Option<&prost_types::Duration>) -> Option<Duration> {
    span.map(from_wire).filter(|span| !span.is_zero())
}

/// A time as the wire has it; one before 1970 is 1970.
pub(crate) fn time_to_wire(time: SystemTime) -> prost_types::Timestamp {
    let span = to_wire(time.duration_since(UNIX_EPOCH).unwrap_or_default());
    prost_types::Timestamp { seconds: span.seconds, nanos: span.nanos }
}

/// An instant for the wire.
pub(crate) fn instant_to_wire(at: Timestamp) -> prost_types::Timestamp {
    let nanos = u64::try_from(at.nanos()).unwrap_or_default();
    time_to_wire(UNIX_EPOCH + Duration::from_nanos(nanos))
}

/// A time from the wire.
pub(crate) fn time_from_wire(time: &prost_types::Timestamp) -> SystemTime {
    let prost_types::Timestamp { seconds, nanos } = *time;
    UNIX_EPOCH + from_wire(&prost_types::Duration { seconds, nanos })
}
