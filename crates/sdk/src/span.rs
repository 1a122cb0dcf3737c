//! Spans of time between Rust and the wire.

use std::time::Duration;

use steadfast_proto::prost_types;

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
