//! Times, spans and states, as people read them.

use std::time::Duration;

use maud::{Markup, html};
pub(super) use steadfast_core::span::instant_from_wire as instant;
use steadfast_engine::Timestamp;
use steadfast_proto::{
    common::{Payload, Payloads},
    enums::WorkflowExecutionStatus,
    json::message,
    names::shown,
    prost_types,
};

/// A moment, as how long ago it is or how soon it comes; the time itself is behind it.
pub(super) fn moment(now: Timestamp, at: Timestamp) -> Markup {
    let full = full(at);
    html! { time datetime=(full) title=(full) { (distance(now, at)) } }
}

/// The same, of a time on the wire, if there is one.
pub(super) fn moment_of(now: Timestamp, at: Option<&prost_types::Timestamp>) -> Markup {
    html! { @if let Some(at) = at { (moment(now, instant(at))) } }
}

/// The whole moment, in UTC.
pub(super) fn full(at: Timestamp) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(at.nanos()))
        .map(|at| format!("{at:.3}"))
        .unwrap_or_default()
}

/// The time of the day, in UTC, and the day.
pub(super) fn clock(at: Timestamp) -> String {
    let full = full(at);
    let text = full.trim_end_matches('Z').replacen('T', " ", 1);
    text.get(..23).unwrap_or(&text).to_owned()
}

fn distance(now: Timestamp, at: Timestamp) -> String {
    if at > now {
        format!("in {}", span(at.since(now)))
    } else {
        format!("{} ago", span(now.since(at)))
    }
}

/// A span, in the one or two units that matter.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        1..=9 => format!("{}.{} s", seconds, span.subsec_millis() / 100),
        10..=59 => format!("{seconds} s"),
        60..=3_599 => two(seconds / 60, "min", seconds % 60, "s"),
        3_600..=86_399 => two(seconds / 3_600, "h", seconds % 3_600 / 60, "min"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h"),
    }
}

fn two(large: u64, of: &str, small: u64, rest: &str) -> String {
    if small == 0 { format!("{large} {of}") } else { format!("{large} {of} {small} {rest}") }
}

/// The status of a run, as a badge.
pub(super) fn status(number: i32) -> Markup {
    let status = WorkflowExecutionStatus::try_from(number).unwrap_or_default();
    badge(&shown(status.as_str_name(), "WORKFLOW_EXECUTION_STATUS_"))
}

/// A word that has a colour of its own.
pub(super) fn badge(word: &str) -> Markup {
    html! { span class={ "badge " (word.to_ascii_lowercase()) } { (word) } }
}

/// A message with the type of its error.
pub(super) fn caused(kind: &str, said: &str) -> String {
    match (kind, said) {
        ("", said) => said.to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, said) => format!("{kind}: {said}"),
    }
}

/// Values, each on a line of its own, and no more of one than fits on a page.
pub(super) fn values(payloads: Option<&Payloads>) -> Option<String> {
    let all: Vec<String> = payloads?.payloads.iter().map(value).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

fn value(payload: &Payload) -> String {
    let shown = message(payload, steadfast_proto::json::Payloads::Decoded);
    cut(&shown.map(|value| value.to_string()).unwrap_or_default(), VALUE_MAX)
}

/// The beginning of a text that is too long.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Characters of a value that a page shows.
const VALUE_MAX: usize = 4_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_the_units_that_matter() {
        let told = |millis| span(Duration::from_millis(millis));
        let all = [0, 850, 2_340, 59_000, 60_000, 61_000, 3_600_000, 5_400_000, 90_000_000];
        let expected = [
            "0 ms",
            "850 ms",
            "2.3 s",
            "59 s",
            "1 min",
            "1 min 1 s",
            "1 h",
            "1 h 30 min",
            "1 d 1 h",
        ];
        assert_eq!(all.map(told), expected);
    }

    #[test]
    fn a_moment_is_told_by_its_distance_and_has_its_time_behind_it() {
        let (now, at) = (Timestamp::from_secs(1_704_067_200), Timestamp::from_secs(1_704_067_230));
        let soon = r#"<time datetime="2024-01-01T00:00:30.000Z" title="2024-01-01T00:00:30.000Z">in 30 s</time>"#;
        assert_eq!(moment(now, at).into_string(), soon);
        assert!(moment(at, now).into_string().ends_with("30 s ago</time>"));
        assert_eq!(clock(now), "2024-01-01 00:00:00.000");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!((cut("äöü", 3), cut("äöü", 2)), ("äöü".to_owned(), "äö…".to_owned()));
    }
}
