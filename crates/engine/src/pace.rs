//! How fast runs change.
//!
//! A commit that waits for company makes many changes cheaper and each of them later. That is a
//! good bargain only while they come one upon the other, which the size of a single commit does not
//! tell: it depends on how long the commit had waited. Nor is it one for many changes of a single
//! run, which are one write as soon as they meet.
//!
//! How long is a good bargain, too, is a matter of the rate. Few changes gain little by a wait, so
//! that theirs is shorter; and where a great many come, enough of them are there soon.

use std::time::Duration;

use steadfast_core::Timestamp;

/// Counts changed runs over a little while.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    since: Timestamp,
    changes: u32,
    /// From one change to the next, if they come one upon the other.
    gap: Option<Duration>,
}

impl Pace {
    /// Takes note of runs that have changed until `now`.
    pub(crate) fn note(&mut self, runs: usize, now: Timestamp) {
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        self.changes = self.changes.saturating_add(runs);
        // A clock that was set back would take as long to tell.
        self.since = self.since.min(now);
        let span = now.since(self.since);
        if span >= SPAN {
            let gap = span.checked_div(self.changes).filter(|gap| *gap < FAST);
            *self = Self { since: now, changes: 0, gap };
        }
    }

    /// How long the next commit waits, where none waits for more than `longest`: not at all unless
    /// changes come one upon the other. Then until there are enough of them; and if there will be half
    /// of that in the longest wait, for half of the longest.
    pub(crate) fn wait(&self, longest: Duration) -> Duration {
        let Some(gap) = self.gap else { return Duration::ZERO };
        let enough = gap * ENOUGH;
        if enough <= longest { enough } else { longest.mul_f64(longest.div_duration_f64(enough)) }
    }
}

/// How long it takes to tell.
const SPAN: Duration = Duration::from_millis(25);
/// From one change to the next.
const FAST: Duration = Duration::from_millis(1);
/// Changes in one commit: more of them make each of them hardly any cheaper.
const ENOUGH: u32 = 48;

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(16);

    fn waits(pace: &Pace) -> bool {
        !pace.wait(LONGEST).is_zero()
    }

    #[test]
    fn it_is_the_rate_that_counts_and_not_how_many_come_at_once() {
        let mut pace = Pace::default();
        let mut now = Timestamp(0);
        let mut come = |changes, every: u64, times| {
            for _ in 0..times {
                now = now.after(Duration::from_millis(every));
                pace.note(changes, now);
            }
            waits(&pace)
        };
        assert!(!come(1, 1000, 3), "one a second");
        assert!(come(2, 1, 60), "two a millisecond, one by one");
        assert!(come(12, 6, 10), "the same, six milliseconds later");
        assert!(!come(30, 60, 3), "many at once, and then none for long");
        assert!(come(2, 1, 60));
        assert!(!come(1, 10_000, 1), "the night has come");
    }

    #[test]
    fn a_wait_is_longest_where_it_gathers_just_enough() {
        let millis = |a_second: f64| {
            let gap = Some(Duration::from_secs_f64(a_second.recip()));
            Pace { gap, ..Pace::default() }.wait(LONGEST).as_secs_f64() * 1e3
        };
        let table = [(1_500.0, 8.0), (3_000.0, 16.0), (6_000.0, 8.0), (48_000.0, 1.0)];
        for (a_second, expected) in table {
            let found = millis(a_second);
            assert!((found - expected).abs() < 0.01, "{a_second} a second: {found} ms");
        }
    }

    #[test]
    fn a_longest_wait_of_nothing_is_none() {
        let pace = Pace { gap: Some(Duration::from_micros(100)), ..Pace::default() };
        assert_eq!(pace.wait(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_it_waiting() {
        let mut pace = Pace::default();
        let hour = Duration::from_secs(3600);
        for millis in 0..60 {
            pace.note(2, Timestamp(0).after(hour + Duration::from_millis(millis)));
        }
        assert!(waits(&pace));
        for millis in 0..60 {
            pace.note(1, Timestamp(0).after(Duration::from_millis(10 * millis)));
        }
        assert!(!waits(&pace));
    }
}
