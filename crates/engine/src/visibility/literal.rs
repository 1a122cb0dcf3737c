//! Instants, spans and statuses as people write them.

use jiff::SignedDuration;
use steadfast_proto::enums::WorkflowExecutionStatus as Status;
use steadfast_retry::Timestamp;

/// An instant as RFC 3339 writes it, in whole seconds.
pub(crate) fn instant_text(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_second(at.nanos().div_euclid(1_000_000_000));
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// An instant as RFC 3339 writes it, in any zone. One that is too far away to be counted in
/// nanoseconds becomes the first or the last there is: `0001-01-01T00:00:00Z` means "always".
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    let nanos = text.parse::<jiff::Timestamp>().ok()?.as_nanosecond();
    let end = if nanos < 0 { i64::MIN } else { i64::MAX };
    Some(Timestamp(i64::try_from(nanos).unwrap_or(end)))
}

/// Nanoseconds, from a count of them, a Go duration (`1h5m`) or `hh:mm:ss`.
pub(super) fn span(text: &str) -> Option<i64> {
    if let Ok(nanos) = text.parse() {
        return Some(nanos);
    }
    i64::try_from(text.parse::<SignedDuration>().ok()?.as_nanos()).ok()
}

/// The status with this name, short (`TimedOut`) or in full (`WORKFLOW_EXECUTION_STATUS_TIMED_OUT`).
pub(super) fn status(name: &str) -> Option<Status> {
    let short = STATUSES.into_iter().find(|status| status_name(*status) == name);
    short.or_else(|| Status::from_str_name(name))
}

/// The short name of a status.
pub(super) const fn status_name(status: Status) -> &'static str {
    match status {
        Status::Unspecified => "Unspecified",
        Status::Running => "Running",
        Status::Completed => "Completed",
        Status::Failed => "Failed",
        Status::Canceled => "Canceled",
        Status::Terminated => "Terminated",
        Status::ContinuedAsNew => "ContinuedAsNew",
        Status::TimedOut => "TimedOut",
        Status::Paused => "Paused",
    }
}

/// Those that a run can have.
pub(super) const STATUSES: [Status; 8] = [
    Status::Running,
    Status::Completed,
    Status::Failed,
    Status::Canceled,
    Status::Terminated,
    Status::ContinuedAsNew,
    Status::TimedOut,
    Status::Paused,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_in_any_zone() {
        let table = [
            ("1970-01-01T00:00:01Z", Some(1_000_000_000)),
            ("1970-01-01T01:00:01.000000002+01:00", Some(1_000_000_002)),
            ("1969-12-31T16:00:00-08:00", Some(0)),
            ("0001-01-01T00:00:00Z", Some(i64::MIN)),
            ("9999-12-30T22:00:00Z", Some(i64::MAX)),
            ("2024-01-01", None),
            ("2024-01-01T00:00:00", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(instant(text), expected.map(Timestamp), "{text}");
        }
    }

    #[test]
    fn spans_are_read_in_three_spellings() {
        let second = 1_000_000_000;
        let table = [
            ("1500", Some(1_500)),
            ("1h5m", Some(3_900 * second)),
            ("1.5h", Some(5_400 * second)),
            ("-2s", Some(-2 * second)),
            ("250ms", Some(second / 4)),
            ("7us", Some(7_000)),
            ("7µs", Some(7_000)),
            ("7ns", Some(7)),
            ("1m30.5s", Some(90 * second + second / 2)),
            ("01:00:05", Some(3_605 * second)),
            ("100:00:00", Some(360_000 * second)),
            ("", None),
            ("h", None),
            ("1", Some(1)),
            ("5 parsecs", None),
            ("01:x:00", None),
            ("9999999999h", None),
        ];
        for (text, expected) in table {
            assert_eq!(span(text), expected, "{text}");
        }
    }

    #[test]
    fn statuses_are_read_by_both_names() {
        for known in STATUSES {
            assert_eq!(status(status_name(known)), Some(known));
            assert_eq!(status(known.as_str_name()), Some(known));
        }
        assert_eq!(status("running"), None);
        assert_eq!(status("Unspecified"), None);
    }
}
