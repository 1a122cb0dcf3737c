//! How many attempts begin in a second: tokens, which come at a rate, and of which each takes one.
//!
//! A token that a poll holds has its place in the bucket until it is spent. Otherwise polls that wait
//! for long would hold as many as there are polls, beside a bucket that is full again, and all of them
//! would begin at the same moment.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use steadfast_engine::{Clock, Timestamp};
use tokio::sync::{Mutex as Turn, Notify};

use crate::span::FOREVER;

/// Tokens that come at a rate.
#[derive(Debug)]
pub(super) struct Pace {
    bucket: Mutex<Bucket>,
    clock: Arc<dyn Clock>,
    /// Held by the one that is to have the next token; the others wait for their turn, not for time.
    turn: Turn<()>,
    /// A token was spent or came back.
    changed: Notify,
}

/// Leave to begin one attempt. Dropped, it goes back.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pace: &'a Pace,
    spent: bool,
}

#[derive(Debug)]
struct Bucket {
    rate: f64,
    /// A second's worth, and at least one.
    size: f64,
    left: f64,
    held: u32,
    /// Until when tokens have come.
    at: Timestamp,
}

impl Pace {
    pub(super) fn new(rate: f64, clock: Arc<dyn Clock>) -> Self {
        let bucket = Mutex::new(Bucket::full(rate, clock.now()));
        Self { bucket, clock, turn: Turn::new(()), changed: Notify::new() }
    }

    /// Waits for a token.
    pub(super) async fn token(&self) -> Token<'_> {
        let _turn = self.turn.lock().await;
        loop {
            let Err(wait) = self.lock().take() else {
                return Token { pace: self, spent: false };
            };
            tokio::select! {
                () = self.changed.notified() => {}
                () = self.clock.sleep(wait) => {}
            }
        }
    }

    /// The bucket as it is now.
    fn lock(&self) -> MutexGuard<'_, Bucket> {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.fill(self.clock.now());
        bucket
    }
}

impl Token<'_> {
    /// An attempt begins with it.
    pub(super) fn spend(mut self) {
        self.spent = true;
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        let mut bucket = self.pace.lock();
        bucket.held -= 1;
        if !self.spent {
            bucket.left += 1.0;
        }
        self.pace.changed.notify_one();
    }
}

impl Bucket {
    fn full(rate: f64, at: Timestamp) -> Self {
        let size = rate.floor().max(1.0);
        Self { rate, size, left: size, held: 0, at }
    }

    /// Lets tokens come until now, as far as there is place for them.
    fn fill(&mut self, now: Timestamp) {
        let come = now.since(self.at).as_secs_f64() * self.rate;
        let place = self.size - f64::from(self.held);
        self.left = (self.left + come).min(place);
        self.at = now;
    }

    /// Takes a token, or says for how long there will be none.
    fn take(&mut self) -> Result<(), Duration> {
        if self.left >= WHOLE {
            self.left -= 1.0;
            self.held += 1;
            return Ok(());
        }
        if f64::from(self.held) + WHOLE > self.size {
            // Time brings none while all are held.
            return Err(FOREVER);
        }
        let wait = Duration::try_from_secs_f64((1.0 - self.left) / self.rate);
        Err(wait.map_or(FOREVER, |wait| wait.min(FOREVER)))
    }
}

/// A token, but for what is lost in counting parts of it.
const WHOLE: f64 = 1.0 - 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(rate: f64) -> Bucket {
        Bucket::full(rate, Timestamp::from_secs(0))
    }

    #[test]
    fn tokens_that_are_held_leave_no_place_for_others() {
        let mut bucket = bucket(2.0);
        assert_eq!((bucket.take(), bucket.take()), (Ok(()), Ok(())));
        bucket.fill(Timestamp::from_secs(60));
        assert_eq!(bucket.take(), Err(FOREVER), "a minute brought none");
        // Both are spent: the next ones come from here on.
        bucket.held = 0;
        assert_eq!(bucket.take(), Err(Duration::from_millis(500)));
        bucket.fill(Timestamp::from_millis(60_500));
        assert_eq!(bucket.take(), Ok(()));
    }

    #[test]
    fn a_clock_that_goes_back_brings_nothing_and_costs_nothing() {
        let mut bucket = bucket(0.5);
        assert_eq!(bucket.take(), Ok(()));
        bucket.held = 0;
        bucket.fill(Timestamp::from_secs(-60));
        assert_eq!(bucket.take(), Err(Duration::from_secs(2)));
        bucket.fill(Timestamp::from_secs(-58));
        assert_eq!(bucket.take(), Ok(()));
    }
}
