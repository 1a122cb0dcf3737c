//! Since when workers are heard.
//!
//! A shard looks at the clock every second. If much more has passed it was not there: the machine slept,
//! the process was stopped, the clock was set. Who was silent meanwhile may have spoken to nobody, or was
//! stopped too.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use steadfast_core::Timestamp;

use super::LONGEST_SLEEP;

/// Since when workers are heard, for all shards of an engine.
#[derive(Debug)]
pub(crate) struct Listening(AtomicI64);

impl Listening {
    /// The engine has taken the store over. Nobody was heard for a while before.
    pub(crate) fn from(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.0))
    }

    pub(super) fn since(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed))
    }

    /// A shard that looked at the clock at `before` looks again.
    pub(super) fn look(&self, before: Timestamp, now: Timestamp) {
        let absence = now.since(before);
        if absence <= LONGEST_SLEEP + SLACK {
            return;
        }
        let since = Timestamp(self.0.fetch_max(now.0, Ordering::Relaxed));
        if now.since(since) > SLACK {
            // The first shard to notice tells it.
            tracing::warn!(
                ?absence,
                "nothing was done for a while: the machine slept, the process was stopped, or the clock \
                 was set; workers that were not heard meanwhile have their time again"
            );
        }
    }
}

/// By how much a shard may be late that has much to do.
const SLACK: Duration = Duration::from_secs(1);
