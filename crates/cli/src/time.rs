//! Moments and durations, as people write and read them.

use jiff::{SignedDuration, SpanRelativeTo, Timestamp};
use steadfast_proto::prost_types;

/// A duration that was given as `90s`, `1h30m`, `2 days` or `PT5M`. A day has 24 hours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span(SignedDuration);

impl Span {
    /// As the standard library has it.
    pub(crate) fn duration(self) -> std::time::Duration {
        self.0.unsigned_abs()
    }

    /// As the API has it.
    pub(crate) fn wire(self) -> prost_types::Duration {
        prost_types::Duration { seconds: self.0.as_secs(), nanos: self.0.subsec_nanos() }
    }
}

impl std::str::FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        if text == "0" {
            return Ok(Self(SignedDuration::ZERO));
        }
        let span: jiff::Span = text.parse().map_err(|_| NotASpan)?;
        let span = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| NotASpan)?;
        if span.is_negative() { Err(NotASpan) } else { Ok(Self(span)) }
    }
}

/// A text that is no duration.
#[derive(Debug, thiserror::Error)]
#[error("not a duration; write it like 90s, 1h30m or 2d")]
pub(crate) struct NotASpan;

/// A moment that was given as `2026-01-31T08:00:00Z`, or with an offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment(Timestamp);

impl Moment {
    /// As the API has it.
    pub(crate) fn wire(self) -> prost_types::Timestamp {
        prost_types::Timestamp { seconds: self.0.as_second(), nanos: self.0.subsec_nanosecond() }
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for Moment {
    type Err = NotAMoment;

    fn from_str(text: &str) -> Result<Self, NotAMoment> {
        text.parse().map(Self).map_err(|_| NotAMoment)
    }
}

/// A text that is no moment.
#[derive(Debug, thiserror::Error)]
#[error("not a time; write it like 2026-01-31T08:00:00Z")]
pub(crate) struct NotAMoment;

/// A moment, in UTC, to the millisecond; nothing for none.
pub(crate) fn at(moment: Option<&prost_types::Timestamp>) -> String {
    moment.and_then(known).map(|known| format!("{known:.3}")).unwrap_or_default()
}

/// A duration in words; nothing for none, and for zero, which is how the wire says none.
pub(crate) fn lasting(span: Option<&prost_types::Duration>) -> String {
    let span = span.map(|span| SignedDuration::new(span.seconds, span.nanos));
    span.filter(|span| !span.is_zero()).map(words).unwrap_or_default()
}

/// A moment with its distance from now: `2026-01-31T08:00:00.000Z (in 12s)`.
pub(crate) fn relative(moment: Option<&prost_types::Timestamp>, now: Timestamp) -> String {
    let Some(known) = moment.and_then(known) else { return String::new() };
    let away = known.duration_since(now);
    let rounded = SignedDuration::from_secs(away.abs().as_secs());
    let distance = if away.is_negative() {
        format!("{} ago", words(rounded))
    } else {
        format!("in {}", words(rounded))
    };
    format!("{known:.3} ({distance})")
}

/// How long ago a time was that came as a text, or how long it is until then; nothing for none.
pub(crate) fn distance(text: &str, now: Timestamp) -> String {
    let Ok(time) = text.parse::<Timestamp>() else { return String::new() };
    let away = time.duration_since(now);
    let rounded = words(SignedDuration::from_secs(away.abs().as_secs()));
    if away.is_negative() { format!("{rounded} ago") } else { format!("in {rounded}") }
}

/// A time that came as a text, to the second.
pub(crate) fn short(text: &str) -> String {
    text.parse::<Timestamp>().map_or_else(|_| text.to_owned(), |time| format!("{time:.0}"))
}

fn known(moment: &prost_types::Timestamp) -> Option<Timestamp> {
    // The zero of the wire means that it never happened.
    let is_set = moment.seconds > 0;
    Timestamp::new(moment.seconds, moment.nanos).ok().filter(|_| is_set)
}

fn words(span: SignedDuration) -> String {
    // Nobody reads further than that.
    let fine = span.subsec_nanos() % 1_000_000;
    let span = span.saturating_sub(SignedDuration::from_nanos(i64::from(fine)));
    if span.is_zero() { "0s".to_owned() } else { format!("{span:#}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in
            [("90s", 90), ("1h30m", 5_400), ("2d", 172_800), ("PT5M", 300), ("0", 0)]
        {
            let span: Span = text.parse().expect(text);
            assert_eq!(span.wire().seconds, seconds, "{text}");
        }
        for text in ["", "soon", "-3s", "10"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn moments_are_told_with_their_distance() {
        let now = Timestamp::from_second(1_000).expect("a time");
        let wire = |seconds| prost_types::Timestamp { seconds, nanos: 0 };
        assert_eq!(relative(Some(&wire(1_075)), now), "1970-01-01T00:17:55.000Z (in 1m 15s)");
        assert_eq!(relative(Some(&wire(990)), now), "1970-01-01T00:16:30.000Z (10s ago)");
        assert_eq!(relative(Some(&wire(0)), now), "");
    }
}
