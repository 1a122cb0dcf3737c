//! How long a caller waits, from its `grpc-timeout` header.

use std::time::Duration;

use http::{HeaderMap, HeaderName};

/// How long the caller of a request waits, if it says so in a way that can be read.
pub(super) fn of(headers: &HeaderMap) -> Option<Duration> {
    read(headers.get(&TIMEOUT)?.to_str().ok()?)
}

/// How long to work on an answer for somebody who waits for `span`: the answer has to travel, too.
pub(super) fn for_us(span: Duration) -> Duration {
    let travel = (span / 50).clamp((span / 5).min(TRAVEL_MIN), TRAVEL_MAX);
    span.saturating_sub(travel)
}

fn read(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

static TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

/// The least that an answer is given to travel, where there is as much.
const TRAVEL_MIN: Duration = Duration::from_millis(100);
/// The most.
const TRAVEL_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_grpc() {
        let seconds = |count| Some(Duration::from_secs(count));
        assert_eq!(read("2H"), seconds(7200));
        assert_eq!(read("70S"), seconds(70));
        assert_eq!(read("1500m"), Some(Duration::from_millis(1500)));
        assert_eq!(read("99999999H"), seconds(99_999_999 * 3600));
    }

    #[test]
    fn what_is_not_a_timeout_is_none() {
        for text in ["", "S", "1", "1s", "-1S", "+1S", "123456789S", "1.5S", "é", "1é"] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_answer_has_time_to_travel() {
        assert_eq!(for_us(Duration::from_secs(70)), Duration::from_secs(69));
        assert_eq!(for_us(Duration::from_secs(10)), Duration::from_millis(9_800));
        assert_eq!(for_us(Duration::from_secs(5)), Duration::from_millis(4_900));
        assert_eq!(for_us(Duration::from_millis(500)), Duration::from_millis(400));
        assert_eq!(for_us(Duration::from_millis(5)), Duration::from_millis(4));
    }
}
