//! Attempts along a line of time: a bar for each, a thin line for what was waited in between, and a
//! mark for the next.

use maud::{Markup, html};
use steadfast_engine::Timestamp;
use steadfast_store::AttemptRow;

use super::{attempts::outcome, words};

/// From when to when a picture goes.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: Timestamp,
    to: Timestamp,
    /// When the next attempt comes, if one is to come.
    next: Option<Timestamp>,
}

/// The picture of some attempts.
pub(super) fn of(now: Timestamp, rows: &[AttemptRow]) -> Markup {
    let Some(stretch) = Stretch::of(now, rows) else { return html! {} };
    let y = HEIGHT / 2;
    html! {
        svg.attempts viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label="Attempts along time" {
            line.waited x1="0" x2=(WIDTH) y1=(y) y2=(y) {}
            @for row in rows {
                @let (x, width) = stretch.bar(row);
                rect class=(outcome(row.outcome).to_ascii_lowercase()) x=(x) width=(width) y="2" height=(HEIGHT - 4) {
                    title { "attempt " (row.attempt) ": " (outcome(row.outcome)) ", " (words::clock(row.ended_at)) }
                }
            }
            @if let Some(next) = stretch.next {
                line.now x1=(stretch.at(now)) x2=(stretch.at(now)) y1="0" y2=(HEIGHT) { title { "now" } }
                rect.next x=(stretch.at(next).min(WIDTH - LEAST)) width=(LEAST) y="2" height=(HEIGHT - 4) { title { "next attempt: " (words::clock(next)) } }
            }
        }
    }
}

impl Stretch {
    fn of(now: Timestamp, rows: &[AttemptRow]) -> Option<Self> {
        let from = rows.iter().map(|row| row.scheduled_at).min()?;
        let last = rows.iter().map(|row| row.ended_at).max()?;
        let next = rows.last().and_then(|row| row.next_at).filter(|at| *at > now);
        Some(Self { from, to: last.max(next.unwrap_or(last)), next })
    }

    /// Where an instant is.
    fn at(self, at: Timestamp) -> u64 {
        let whole = self.to.since(self.from).as_nanos().max(1);
        let part = at.since(self.from).as_nanos().min(whole);
        u64::try_from(part * u128::from(WIDTH) / whole).unwrap_or(WIDTH)
    }

    /// Where an attempt's bar begins, and how wide it is. What is short can be seen nevertheless.
    fn bar(self, row: &AttemptRow) -> (u64, u64) {
        let begin = self.at(row.started_at.unwrap_or(row.scheduled_at)).min(WIDTH - LEAST);
        (begin, self.at(row.ended_at).saturating_sub(begin).max(LEAST))
    }
}

const WIDTH: u64 = 1_000;
const HEIGHT: u64 = 20;
/// The narrowest bar.
const LEAST: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(attempt: u32, from: i64, to: i64) -> AttemptRow {
        AttemptRow {
            attempt,
            scheduled_at: Timestamp::from_secs(from),
            started_at: Some(Timestamp::from_secs(from)),
            ended_at: Timestamp::from_secs(to),
            ..AttemptRow::default()
        }
    }

    #[test]
    fn bars_are_where_their_attempts_were() {
        let mut rows = vec![row(1, 100, 120), row(2, 140, 140)];
        let now = Timestamp::from_secs(150);
        let stretch = Stretch::of(now, &rows).expect("there are some");
        assert_eq!((stretch.bar(&rows[0]), stretch.bar(&rows[1])), ((0, 500), (996, 4)));
        rows[1].next_at = Some(Timestamp::from_secs(200));
        let stretch = Stretch::of(now, &rows).expect("there are some");
        assert_eq!((stretch.bar(&rows[0]), stretch.bar(&rows[1])), ((0, 200), (400, 4)));
        assert_eq!(stretch.at(now), 500);
        let picture = of(now, &rows).into_string();
        assert!(picture.contains("next attempt: 1970-01-01 00:03:20.000"), "{picture}");
    }
}
