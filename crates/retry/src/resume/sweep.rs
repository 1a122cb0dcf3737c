//! The periodic search for errors whose resume is due.
//!
//! ```text
//!  since      +period      +2 periods
//!    │           │     due      │
//!    ●───────────●──────▲───────●──▶        due is seen here ┘
//! ```
//!
//! When searches are is reckoned, not remembered: whoever knows the period and since when it holds
//! knows all of them.

use std::time::Duration;

use crate::time::Timestamp;

/// A search that comes round every `period`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sweep {
    /// Time between two searches: the `autoResumeCheckFrequency`.
    pub period: Duration,
    /// A search from which the others are counted.
    pub since: Timestamp,
}

impl Sweep {
    /// The last search by now.
    #[must_use]
    pub fn last(&self, now: Timestamp) -> Timestamp {
        let period = i64::try_from(self.period.as_nanos()).unwrap_or(i64::MAX).max(1);
        let gone = now.nanos().saturating_sub(self.since.nanos()).max(0);
        Timestamp(self.since.nanos().saturating_add(gone - gone % period))
    }

    /// The first search that is still to come.
    #[must_use]
    pub fn next(&self, now: Timestamp) -> Timestamp {
        self.last(now).after(self.period)
    }

    /// Until when a resume that was due must wait for a search to find it; `None` if one has.
    #[must_use]
    pub fn holds(&self, due: Timestamp, now: Timestamp) -> Option<Timestamp> {
        (self.last(now) < due).then(|| self.next(now))
    }

    /// The same search with another period from now on, counted from the last one.
    #[must_use]
    pub fn with_period(self, period: Duration, now: Timestamp) -> Self {
        Self { period, since: self.last(now) }
    }
}
