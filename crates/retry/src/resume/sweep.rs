//! The periodic search for errors whose resume is due.

use std::time::Duration;

use crate::time::Timestamp;

/// A search that comes round every `period`. The period may change between two searches.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sweep {
    /// Time between two searches: the `autoResumeCheckFrequency`.
    pub period: Duration,
    /// When the last search was.
    pub last: Timestamp,
}

impl Sweep {
    /// When the next search is.
    #[must_use]
    pub fn next(&self) -> Timestamp {
        self.last.after(self.period)
    }

    /// The search at `now`: which of these resumes are due, the earliest first, none before its time.
    pub fn search<T>(
        &mut self,
        now: Timestamp,
        scheduled: impl IntoIterator<Item = (Timestamp, T)>,
    ) -> Vec<T> {
        self.last = now;
        let mut due: Vec<_> = scheduled.into_iter().filter(|(at, _)| *at <= now).collect();
        due.sort_by_key(|(at, _)| *at);
        due.into_iter().map(|(_, work)| work).collect()
    }
}
