//! The runs of a shard that are due soon.
//!
//! Only a window of time is in memory: everything due up to the *horizon*. The rest sleeps in the
//! store and is read, page by page, before its time comes.

use std::{collections::BTreeSet, time::Duration};

use steadfast_core::Timestamp;
use steadfast_store::RunNumber;

/// A place in the order in which runs are due.
pub(crate) type Place = (Timestamp, RunNumber);

/// The runs that are due soon.
#[derive(Debug)]
pub(crate) struct Due {
    soon: BTreeSet<Place>,
    /// Everything due up to here is in `soon`.
    horizon: Place,
    /// Where the horizon will be when the reading that is under way ends.
    reading_to: Option<Place>,
    ahead: Duration,
    page_max: usize,
}

impl Due {
    pub(crate) fn new(ahead: Duration, page_max: usize) -> Self {
        let horizon = (Timestamp(i64::MIN), RunNumber(0));
        Self { soon: BTreeSet::new(), horizon, reading_to: None, ahead, page_max }
    }

    /// A run's deadline changed.
    pub(crate) fn set(
        &mut self,
        run: RunNumber,
        before: Option<Timestamp>,
        after: Option<Timestamp>,
    ) {
        if before == after {
            return;
        }
        if let Some(at) = before {
            self.soon.remove(&(at, run));
        }
        let covered = self.reading_to.map_or(self.horizon, |to| to.max(self.horizon));
        if let Some(at) = after
            && (at, run) <= covered
        {
            self.soon.insert((at, run));
        }
    }

    /// Takes out one run that is due.
    pub(crate) fn pop(&mut self, now: Timestamp) -> Option<RunNumber> {
        let first = *self.soon.first().filter(|(at, _)| *at <= now)?;
        self.soon.remove(&first);
        Some(first.1)
    }

    /// When to look again.
    pub(crate) fn next(&self) -> Timestamp {
        let first = self.soon.first().map_or(Timestamp::MAX, |(at, _)| *at);
        if self.wants_more() { first.min(self.halfway()) } else { first }
    }

    /// Begins to read the next page, if it is time. Gives the end of the last one, and the latest
    /// that the next one may hold.
    pub(crate) fn begin_reading(&mut self, now: Timestamp) -> Option<(Place, Timestamp)> {
        if !self.wants_more() || now < self.halfway() {
            return None;
        }
        let to = now.after(self.ahead);
        self.reading_to = Some((to, RunNumber(i64::MAX)));
        Some((self.horizon, to))
    }

    /// Takes a page in. If it was full there may be more: the horizon is where it ended.
    pub(crate) fn end_reading(&mut self, rows: Vec<Place>) {
        let to = self.reading_to.take().unwrap_or(self.horizon);
        let full = rows.len() >= self.page_max;
        self.horizon = rows.last().filter(|_| full).copied().unwrap_or(to);
        self.soon.extend(rows);
    }

    /// The reading failed: it is tried again.
    pub(crate) fn fail_reading(&mut self) {
        self.reading_to = None;
    }

    fn wants_more(&self) -> bool {
        self.reading_to.is_none() && self.soon.len() < self.page_max
    }

    /// The next page is read when half of what lies ahead is over.
    fn halfway(&self) -> Timestamp {
        let half = i64::try_from((self.ahead / 2).as_nanos()).unwrap_or(i64::MAX);
        Timestamp(self.horizon.0.nanos().saturating_sub(half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Duration = Duration::from_secs(60);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn what_lies_beyond_the_horizon_stays_in_the_store() {
        let mut due = Due::new(AHEAD, 10);
        assert!(due.begin_reading(at(0)).is_some());
        due.end_reading(vec![(at(50), RunNumber(1))]);
        due.set(RunNumber(2), None, Some(at(61)));
        due.set(RunNumber(3), None, Some(at(10)));
        assert_eq!(due.pop(at(100)), Some(RunNumber(3)));
        assert_eq!(due.pop(at(100)), Some(RunNumber(1)));
        assert_eq!(due.pop(at(100)), None);
    }

    #[test]
    fn a_deadline_set_while_its_window_is_read_is_not_missed() {
        let mut due = Due::new(AHEAD, 10);
        assert!(due.begin_reading(at(0)).is_some());
        due.set(RunNumber(2), None, Some(at(30)));
        due.end_reading(vec![]);
        assert_eq!(due.next(), at(30));
        assert_eq!(due.pop(at(30)), Some(RunNumber(2)));
    }

    #[test]
    fn a_full_page_is_followed_by_the_next_once_it_is_worked_off() {
        let mut due = Due::new(AHEAD, 2);
        assert!(due.begin_reading(at(0)).is_some());
        due.end_reading(vec![(at(1), RunNumber(1)), (at(1), RunNumber(2))]);
        assert_eq!(due.begin_reading(at(0)), None);
        assert_eq!(due.pop(at(1)), Some(RunNumber(1)));
        let (after, _) = due.begin_reading(at(1)).expect("there is room for more");
        assert_eq!(after, (at(1), RunNumber(2)));
    }
}
