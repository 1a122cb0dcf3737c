//! What the store wakes a run by, which is not always what the run itself would say.
//!
//! A run in the middle of its steps has a new deadline with each, mostly a little later than one it
//! had before, and each would move it in the store's index. So an earlier time does if it is not much
//! earlier: should the run still wait when it comes, it is looked at once for nothing, and written
//! with the time at which it is really due.

use std::time::Duration;

use steadfast_core::{Run, Timestamp};
use steadfast_store::Waking;

/// What wakes a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Woken {
    /// What the store has of it, or will have once it is written.
    pub(crate) by: Waking,
    /// The last two times at which it was due, newest first: workflow tasks and activities take
    /// turns, and so do their limits.
    known: [Option<Timestamp>; 2],
}

impl Woken {
    /// A run that was just read, where the store has `kept`.
    pub(crate) fn loaded(kept: Waking, run: &Run) -> Self {
        // It may have come to be due earlier only because the rules for that have changed.
        let due = kept.due.into_iter().chain(run.next_due()).min();
        Self { by: Waking { due, ..kept }, known: [due, None] }
    }

    /// What is to wake a run as it is now.
    pub(crate) fn next(self, run: &Run, now: Timestamp) -> Self {
        let due = run.next_due().map(|wanted| self.due(wanted, now));
        let [newest, _] = self.known;
        let known = if due.is_none() || due == newest { self.known } else { [due, newest] };
        Self { by: Waking { due, has_work: run.has_work() }, known }
    }

    /// When to look at a run that wants to be looked at then.
    fn due(self, wanted: Timestamp, now: Timestamp) -> Timestamp {
        let serves = |at: &Timestamp| {
            let until = at.since(now);
            *at <= wanted && until >= SOON && wanted.since(now) <= until.saturating_mul(PATIENCE)
        };
        self.known.into_iter().flatten().find(serves).unwrap_or(wanted)
    }
}

/// A run that is next looked at sooner than this is not in the middle of its steps.
const SOON: Duration = Duration::from_secs(1);

/// How many times as long a run may wait as until it is looked at for nothing. From a workflow task's
/// ten seconds to an activity's minute it is six; whoever sleeps for longer is not woken in between.
const PATIENCE: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    /// When a run is looked at that knows these times and wants that one, in the hundredth second.
    fn due(known: [i64; 2], wanted: i64) -> Timestamp {
        let known = known.map(|seconds| Some(at(seconds)));
        Woken { by: Waking::default(), known }.due(at(wanted), at(100))
    }

    #[test]
    fn a_deadline_that_is_a_little_later_changes_nothing() {
        assert_eq!(due([110, 0], 110), at(110));
        assert_eq!(due([110, 0], 111), at(110));
        assert_eq!(due([110, 0], 180), at(110));
    }

    #[test]
    fn a_run_is_never_looked_at_too_late() {
        assert_eq!(due([110, 120], 109), at(109));
        assert_eq!(Woken::default().due(at(109), at(100)), at(109));
    }

    #[test]
    fn whoever_sleeps_long_is_not_woken_before() {
        assert_eq!(due([110, 0], 181), at(181));
    }

    #[test]
    fn a_time_that_has_come_does_no_more() {
        assert_eq!(due([100, 90], 101), at(101));
        let soon = Woken { by: Waking::default(), known: [Some(at(101)), None] };
        assert_eq!(soon.due(at(102), Timestamp::from_millis(100_500)), at(102));
    }

    #[test]
    fn limits_that_take_turns_each_find_their_own_time_again() {
        assert_eq!(due([110, 86_500], 86_501), at(86_500));
        assert_eq!(due([86_500, 110], 111), at(110));
    }
}
