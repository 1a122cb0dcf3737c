//! What the retries of a program's orchestrations came to, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the retries of the orchestrations of one registry. What is replayed is not counted again.
#[derive(Debug, Default)]
pub struct Counters {
    retries: AtomicU64,
    exhausted: AtomicU64,
    timeouts: AtomicU64,
}

/// What was counted until now.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the names that metrics have")]
pub struct Counted {
    /// Attempts after a first one.
    pub activity_retry_total: u64,
    /// Calls whose last attempt failed.
    pub activity_retry_exhausted_total: u64,
    /// Attempts that took too long.
    pub activity_timeout_total: u64,
}

impl Counters {
    /// The numbers as they are now.
    pub fn read(&self) -> Counted {
        Counted {
            activity_retry_total: self.retries.load(Ordering::Relaxed),
            activity_retry_exhausted_total: self.exhausted.load(Ordering::Relaxed),
            activity_timeout_total: self.timeouts.load(Ordering::Relaxed),
        }
    }

    pub(super) fn retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn exhausted(&self) {
        self.exhausted.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn timeout(&self) {
        self.timeouts.fetch_add(1, Ordering::Relaxed);
    }
}
