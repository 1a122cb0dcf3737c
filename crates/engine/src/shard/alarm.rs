//! What wakes a shard that gets no mail: one wait, kept from turn to turn.
//!
//! A busy shard turns thousands of times a second, and each time it is next due a little later. A wait
//! that ends earlier does as well: the shard looks, finds nothing, and waits again.

use steadfast_core::Timestamp;

use crate::clock::{Clock, Wait};

/// What wakes a shard.
#[derive(Default)]
pub(super) struct Alarm(Option<(Timestamp, Wait)>);

impl Alarm {
    /// Ends at `at`, or earlier if it was set to an earlier time. May be given up and asked again.
    pub(super) async fn ring(&mut self, clock: &dyn Clock, now: Timestamp, at: Timestamp) {
        // One that should have rung already was set before the clock jumped.
        let kept = self.0.take().filter(|(rings, _)| now < *rings && *rings <= at);
        let (_, wait) = self.0.insert(kept.unwrap_or_else(|| (at, clock.sleep(at.since(now)))));
        wait.await;
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future as _,
        pin::pin,
        sync::atomic::{AtomicUsize, Ordering},
        task::{Context, Poll, Waker},
        time::Duration,
    };

    use super::*;

    /// A clock whose waits end only if they are for nothing.
    #[derive(Debug, Default)]
    struct Still(AtomicUsize);

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::default()
        }

        fn sleep(&self, span: Duration) -> Wait {
            self.0.fetch_add(1, Ordering::Relaxed);
            if span.is_zero() {
                Box::pin(std::future::ready(()))
            } else {
                Box::pin(std::future::pending())
            }
        }
    }

    #[derive(Default)]
    struct Turns {
        alarm: Alarm,
        clock: Still,
    }

    impl Turns {
        /// Asks it to ring, and gives up unless it does. Tells that, and how many waits there were.
        fn turn(&mut self, now: i64, at: i64) -> (bool, usize) {
            let (now, at) = (Timestamp::from_secs(now), Timestamp::from_secs(at));
            let ring = pin!(self.alarm.ring(&self.clock, now, at));
            let rang = ring.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(());
            (rang, self.clock.0.load(Ordering::Relaxed))
        }
    }

    #[test]
    fn a_wait_is_kept_unless_it_would_end_too_late() {
        let mut turns = Turns::default();
        assert_eq!(turns.turn(10, 20), (false, 1));
        assert_eq!(turns.turn(11, 20), (false, 1));
        assert_eq!(turns.turn(12, 21), (false, 1), "it is woken for nothing, and waits again");
        assert_eq!(turns.turn(13, 19), (false, 2), "the wait there was would end too late");
        assert_eq!(turns.turn(19, 29), (false, 3), "a clock that jumped does not delay it");
        assert_eq!(turns.turn(20, 20), (true, 4));
        assert_eq!(turns.turn(20, 21), (false, 5), "one that is over is not asked again");
    }
}
