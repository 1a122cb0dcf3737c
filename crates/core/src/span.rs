//! Spans and instants on the wire, and as the core reckons with them.

use std::time::Duration;

use steadfast_retry::Timestamp;

/// Longer spans are cut to this: a hundred years.
const SPAN_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

/// Why a span on the wire is not one.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{seconds} s and {nanos} ns do not make a duration: it must not be negative")]
pub struct NotASpan {
    seconds: i64,
    nanos: i32,
}

/// A span from the wire; absent is zero, and over a hundred years is a hundred years.
pub fn checked(
    wire: Option<&steadfast_proto::prost_types::Duration>,
) -> Result<Duration, NotASpan> {
    let Some(wire) = wire else { return Ok(Duration::ZERO) };
    let fault = || NotASpan { seconds: wire.seconds, nanos: wire.nanos };
    let seconds = u64::try_from(wire.seconds).map_err(|_| fault())?;
    let nanos = u32::try_from(wire.nanos).map_err(|_| fault())?;
    if nanos >= 1_000_000_000 {
        return Err(fault());
    }
    Ok(Duration::new(seconds, nanos).min(SPAN_MAX))
}

/// A span from a message that was checked when it came in.
pub fn from_wire(wire: Option<&steadfast_proto::prost_types::Duration>) -> Duration {
    checked(wire).unwrap_or_default()
}

/// A span for the wire, present also when it is zero: SDKs tell the two apart.
#[expect(clippy::unnecessary_wraps, reason = "message fields are optional")]
pub fn to_wire(span: Duration) -> Option<steadfast_proto::prost_types::Duration> {
    let span = span.min(SPAN_MAX);
    Some(steadfast_proto::prost_types::Duration {
        seconds: i64::try_from(span.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(span.subsec_nanos()).unwrap_or_default(),
    })
}

/// A limit for the wire: zero is none, and is not there. SDKs show their users the difference.
pub fn limit_to_wire(limit: Duration) -> Option<steadfast_proto::prost_types::Duration> {
    if limit.is_zero() { None } else { to_wire(limit) }
}

/// The shorter of two limits, of which zero is none.
pub fn shorter(one: Duration, other: Duration) -> Duration {
    match (one, other) {
        (Duration::ZERO, limit) | (limit, Duration::ZERO) => limit,
        (one, other) => one.min(other),
    }
}

/// A span as the core keeps it.
pub(crate) fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// An instant for the wire.
pub fn instant_to_wire(at: Timestamp) -> steadfast_proto::prost_types::Timestamp {
    let nanos = at.nanos();
    steadfast_proto::prost_types::Timestamp {
        seconds: nanos.div_euclid(1_000_000_000),
        nanos: i32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap_or_default(),
    }
}

/// An instant from the wire.
pub fn instant_from_wire(wire: &steadfast_proto::prost_types::Timestamp) -> Timestamp {
    let nanos = i128::from(wire.seconds) * 1_000_000_000 + i128::from(wire.nanos);
    Timestamp(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
}

/// An instant as it is kept in a row, where 0 stands for none.
pub(crate) fn kept(nanos: i64) -> Option<Timestamp> {
    (nanos != 0).then_some(Timestamp(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_and_mixed_spans_are_refused_and_long_ones_cut() {
        let wire = |seconds, nanos| steadfast_proto::prost_types::Duration { seconds, nanos };
        assert_eq!(checked(None), Ok(Duration::ZERO));
        assert_eq!(checked(Some(&wire(1, 500_000_000))), Ok(Duration::from_millis(1_500)));
        assert!(checked(Some(&wire(-1, 0))).is_err());
        assert!(checked(Some(&wire(1, -1))).is_err());
        assert!(checked(Some(&wire(0, 1_000_000_000))).is_err());
        assert_eq!(checked(Some(&wire(i64::MAX, 0))), Ok(SPAN_MAX));
    }

    #[test]
    fn instants_before_the_epoch_survive_the_wire() {
        for nanos in [-1, 0, 1, 1_700_000_000_123_456_789, i64::MAX, i64::MIN] {
            let at = Timestamp(nanos);
            assert_eq!(instant_from_wire(&instant_to_wire(at)), at);
        }
    }
}
