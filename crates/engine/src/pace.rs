//! How fast runs change.
//!
//! A commit that waits for company makes many changes cheaper and each of them later. That is a
//! good bargain only while they come one upon the other, which the size of a single commit does not
//! tell: it depends on how long the commit had waited. Nor is it one for many changes of a single
//! run, which are one write as soon as they meet.

use std::time::Duration;

use steadfast_core::Timestamp;

/// Counts changed runs over a little while.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    since: Timestamp,
    changes: usize,
    is_fast: bool,
}

impl Pace {
    /// Takes note of runs that have changed until `now`.
    pub(crate) fn note(&mut self, runs: usize, now: Timestamp) {
        self.changes += runs;
        // A clock that was set back would take as long to tell.
        self.since = self.since.min(now);
        let span = now.since(self.since);
        if span >= SPAN {
            let changes = u32::try_from(self.changes).unwrap_or(u32::MAX);
            *self = Self { since: now, changes: 0, is_fast: span < FAST * changes };
        }
    }

    /// Whether changes come one upon the other.
    pub(crate) fn is_fast(&self) -> bool {
        self.is_fast
    }
}

/// How long it takes to tell.
const SPAN: Duration = Duration::from_millis(25);
/// From one change to the next.
const FAST: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_rate_that_counts_and_not_how_many_come_at_once() {
        let mut pace = Pace::default();
        let mut now = Timestamp(0);
        let mut come = |changes, every: u64, times| {
            for _ in 0..times {
                now = now.after(Duration::from_millis(every));
                pace.note(changes, now);
            }
            pace.is_fast()
        };
        assert!(!come(1, 1000, 3), "one a second");
        assert!(come(2, 1, 60), "two a millisecond, one by one");
        assert!(come(12, 6, 10), "the same, six milliseconds later");
        assert!(!come(30, 60, 3), "many at once, and then none for long");
        assert!(come(2, 1, 60));
        assert!(!come(1, 10_000, 1), "the night has come");
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_keep_it_waiting() {
        let mut pace = Pace::default();
        let hour = Duration::from_secs(3600);
        for millis in 0..60 {
            pace.note(2, Timestamp(0).after(hour + Duration::from_millis(millis)));
        }
        assert!(pace.is_fast());
        for millis in 0..60 {
            pace.note(1, Timestamp(0).after(Duration::from_millis(10 * millis)));
        }
        assert!(!pace.is_fast());
    }
}
