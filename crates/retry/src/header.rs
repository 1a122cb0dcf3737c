//! Hints as they come in headers: `Retry-After`, `X-RateLimit-Reset`, `grpc-retry-pushback-ms`.
//!
//! Dates are turned into spans here, once, with the answer's own `Date` as the base where there is
//! one, so that it does not matter whose clock is wrong.

use std::time::Duration;

use crate::{hint::Hint, time::Timestamp};

/// The hint in an answer's headers. Sources are tried in order of how much they say; one that cannot
/// be read is passed over, except a pushback, which then means "do not retry".
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::{Hint, Timestamp, header};
/// let headers = [
///     ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
///     ("Retry-After", "Sun, 06 Nov 1994 08:51:37 GMT"),
/// ];
/// let hint = header::hint(headers, Timestamp::default());
/// assert_eq!(hint, Some(Hint::After(Duration::from_secs(120))));
/// ```
pub fn hint<'a>(
    headers: impl IntoIterator<Item = (&'a str, &'a str), IntoIter: Clone>,
    now: Timestamp,
) -> Option<Hint> {
    let headers = headers.into_iter();
    let values = |name: &'static str| {
        let named = headers.clone().filter(move |(given, _)| given.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value)
    };
    let base = values("date").find_map(http_date).unwrap_or(now);
    values("retry-after")
        .find_map(|value| retry_after(value, base))
        .or_else(|| values("x-ratelimit-reset").find_map(|value| rate_limit_reset(value, base)))
        .or_else(|| values("grpc-retry-pushback-ms").next().map(grpc_pushback))
}

/// `Retry-After`: seconds, or a date. A date in the past is now. `None` cannot be read.
#[must_use]
pub fn retry_after(value: &str, base: Timestamp) -> Option<Hint> {
    let value = value.trim();
    seconds(value).or_else(|| http_date(value).map(|at| at.since(base))).map(Hint::After)
}

/// `X-RateLimit-Reset`: seconds since the epoch; some send milliseconds, and some send the seconds
/// that are left. The three are too far apart to be confused.
#[must_use]
pub fn rate_limit_reset(value: &str, base: Timestamp) -> Option<Hint> {
    let value = value.trim();
    let number = value.split('.').next().and_then(|whole| whole.parse::<i64>().ok())?;
    let span = match number {
        ..0 => return None,
        0..EPOCH_SECONDS => seconds(value)?,
        EPOCH_SECONDS..EPOCH_MILLIS => Timestamp::from_secs(number).since(base),
        EPOCH_MILLIS.. => Timestamp::from_millis(number).since(base),
    };
    Some(Hint::After(span))
}

/// `grpc-retry-pushback-ms`: milliseconds. Negative, or not a number, asks not to retry.
#[must_use]
pub fn grpc_pushback(value: &str) -> Hint {
    match value.trim().parse::<u64>() {
        Ok(millis) => Hint::After(Duration::from_millis(millis)),
        Err(_) => Hint::Never,
    }
}

/// A date in one of the three forms that HTTP knows. Always GMT.
#[must_use]
pub fn http_date(value: &str) -> Option<Timestamp> {
    let words: Vec<&str> = value.split([' ', '-', ',']).filter(|word| !word.is_empty()).collect();
    // Sun, 06 Nov 1994 08:49:37 GMT, and Sunday, 06-Nov-94 08:49:37 GMT, and
    // Sun Nov  6 08:49:37 1994
    let ([_, day, month, year, time, "GMT" | "UTC"] | [_, month, day, time, year]) = words[..]
    else {
        return None;
    };
    let day = day.parse::<i64>().ok().filter(|day| (1..=31).contains(day))?;
    let month = i64::try_from(MONTHS.iter().position(|name| *name == month)?).ok()? + 1;
    let days = days_since_epoch(full_year(year)?, month, day);
    Some(Timestamp::from_secs(days * 86_400 + seconds_of_day(time)?))
}

/// Whole or decimal seconds; more than there is room for is as long as can be.
fn seconds(value: &str) -> Option<Duration> {
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && value.starts_with(|c: char| c.is_ascii_digit());
    let seconds = value.parse::<f64>().ok().filter(|_| is_number)?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn seconds_of_day(time: &str) -> Option<i64> {
    let parts: Vec<i64> = time.split(':').map_while(|part| part.parse().ok()).collect();
    match parts[..] {
        // A leap second is read as the last second of the day.
        [hour @ 0..24, minute @ 0..60, second @ 0..=60] => {
            Some(hour * 3_600 + minute * 60 + second.min(59))
        }
        _ => None,
    }
}

fn full_year(year: &str) -> Option<i64> {
    let number = year.parse::<i64>().ok()?;
    match (year.len(), number) {
        (4, 1970..) => Some(number),
        (2, 70..) => Some(1900 + number),
        (2, 0..) => Some(2000 + number),
        _ => None,
    }
}

/// Days from the epoch in the Gregorian calendar, with the year counted from March, so that the leap
/// day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// September 2001; nobody asks for a wait of thirty years.
const EPOCH_SECONDS: i64 = 1_000_000_000;
/// September 2001 in milliseconds; in seconds, the year 33658.
const EPOCH_MILLIS: i64 = 1_000_000_000_000;
