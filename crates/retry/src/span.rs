//! Durations as people write them: `30s`, `1h30m`, `337.5ms`.

use std::fmt;
use std::time::Duration;

use crate::number;

/// Reads `1h30m`, `1.5s`, `250ms`, `7d` or `0`. Units are d, h, m, s, ms, us and ns.
pub fn parse(text: &str) -> Result<Duration, Error> {
    let wrong = || Error { text: text.to_owned() };
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = 0_u128;
    while !rest.is_empty() {
        let (amount, after) = split(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split(after, |c| c.is_ascii_alphabetic());
        let nanos = unit_nanos(unit).and_then(|unit| amount_nanos(amount, unit));
        total = total.saturating_add(nanos.ok_or_else(wrong)?);
        rest = after.trim_start();
    }
    Ok(number::duration(total))
}

/// Writes a duration the way [`parse`] reads it, in the fewest words that lose nothing.
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::span::Span;
/// assert_eq!(Span(Duration::from_secs(5400)).to_string(), "1h30m");
/// assert_eq!(Span(Duration::from_micros(337_500)).to_string(), "337.5ms");
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let text = match nanos {
            0 => "0s".to_owned(),
            _ if nanos < SECOND => below_a_second(nanos),
            _ => above_a_second(nanos),
        };
        f.pad(&text)
    }
}

/// The text is not a duration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not a duration: {text:?} (write 30s, 1h30m, 250ms or 7d)")]
pub struct Error {
    /// What was written.
    pub text: String,
}

/// Serde: a duration as text.
pub mod text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::{Duration, Span, parse};

    /// Writes `30s`.
    pub fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&Span(*span))
    }

    /// Reads `30s`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        parse(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// Serde: a duration as text, or nothing.
pub mod optional {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::{Duration, Span, parse};

    /// Writes `30s`, or none.
    #[expect(clippy::ref_option, reason = "the shape serde asks for")]
    pub fn serialize<S: Serializer>(span: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match span {
            Some(span) => to.collect_str(&Span(*span)),
            None => to.serialize_none(),
        }
    }

    /// Reads `30s`, or none.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| parse(&text)).transpose().map_err(D::Error::custom)
    }
}

/// Serde: a list of durations as text.
pub mod list {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::{Duration, Span, parse};

    /// Writes `[1s, 10s]`.
    pub fn serialize<S: Serializer>(spans: &[Duration], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(spans.iter().map(|span| Span(*span).to_string()))
    }

    /// Reads `[1s, 10s]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Duration>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| parse(text)).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

fn split(text: &str, is_part: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.split_at(end)
}

fn unit_nanos(unit: &str) -> Option<u128> {
    Some(match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        _ => return None,
    })
}

/// Decimal arithmetic, so that `0.1s` is 100 ms and not the nearest float to it.
fn amount_nanos(amount: &str, unit: u128) -> Option<u128> {
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    if whole.is_empty() || part.len() > 18 {
        return None;
    }
    let mut nanos = whole.parse::<u128>().ok()?.saturating_mul(unit);
    if !part.is_empty() {
        let digits = u32::try_from(part.len()).ok()?;
        nanos = nanos.saturating_add(part.parse::<u128>().ok()? * unit / 10_u128.pow(digits));
    }
    Some(nanos)
}

fn below_a_second(nanos: u128) -> String {
    let (unit, name) = match nanos {
        1_000_000.. => (1_000_000, "ms"),
        1_000.. => (1_000, "us"),
        _ => (1, "ns"),
    };
    format!("{}{name}", decimal(nanos, unit))
}

fn above_a_second(nanos: u128) -> String {
    let mut words = Vec::new();
    let mut rest = nanos;
    for (unit, name) in [(DAY, "d"), (HOUR, "h"), (MINUTE, "m")] {
        if rest >= unit {
            words.push(format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    if rest > 0 {
        words.push(format!("{}s", decimal(rest, SECOND)));
    }
    words.concat()
}

/// `nanos / unit` with all the decimals it has.
fn decimal(nanos: u128, unit: u128) -> String {
    let (whole, part) = (nanos / unit, nanos % unit);
    if part == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10().try_into().unwrap_or_default();
    format!("{whole}.{}", format!("{part:0digits$}").trim_end_matches('0'))
}

const SECOND: u128 = 1_000_000_000;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;
const DAY: u128 = 24 * HOUR;
