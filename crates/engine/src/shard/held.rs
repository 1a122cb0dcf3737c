//! How much all shards together hold in memory, for metrics.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How much is held in memory, about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Held {
    /// Runs.
    pub runs: usize,
    /// Bytes that they keep of what users sent: inputs, what is pending, newest events.
    pub run_bytes: usize,
    /// Schedules.
    pub schedules: usize,
    /// Those who wait for a history to grow or for an update.
    pub watchers: usize,
}

/// The sum of what the shards hold.
#[derive(Debug, Default)]
pub(crate) struct Sum {
    runs: AtomicUsize,
    run_bytes: AtomicUsize,
    schedules: AtomicUsize,
    watchers: AtomicUsize,
}

impl Sum {
    /// A shard holds so much now, and held so much when it told last.
    pub(crate) fn change(&self, before: Held, now: Held) {
        let change = |place: &AtomicUsize, before: usize, now: usize| {
            if now != before {
                place.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
            }
        };
        change(&self.runs, before.runs, now.runs);
        change(&self.run_bytes, before.run_bytes, now.run_bytes);
        change(&self.schedules, before.schedules, now.schedules);
        change(&self.watchers, before.watchers, now.watchers);
    }

    pub(crate) fn get(&self) -> Held {
        Held {
            runs: self.runs.load(Ordering::Relaxed),
            run_bytes: self.run_bytes.load(Ordering::Relaxed),
            schedules: self.schedules.load(Ordering::Relaxed),
            watchers: self.watchers.load(Ordering::Relaxed),
        }
    }
}
