//! A rate: so many a second, and no more than one second's worth (but at least one) at once.

use std::time::Duration;

use steadfast_core::Timestamp;

/// What may go now, and when more may.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bucket {
    rate: f64,
    tokens: f64,
    /// When `tokens` was right.
    at: Timestamp,
}

impl Bucket {
    /// A bucket that is full.
    pub(super) fn new(rate: f64, now: Timestamp) -> Self {
        Self { rate, tokens: burst(rate), at: now }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// The same bucket with another rate; what is in it stays, as far as there is room.
    pub(super) fn with_rate(mut self, rate: f64, now: Timestamp) -> Self {
        self.fill(now);
        Self { rate, tokens: self.tokens.min(burst(rate)), at: self.at }
    }

    /// Takes one out, if there is one.
    pub(super) fn take(&mut self, now: Timestamp) -> bool {
        let there = self.has_one(now);
        if there {
            self.tokens -= 1.0;
        }
        there
    }

    pub(super) fn has_one(&mut self, now: Timestamp) -> bool {
        self.fill(now);
        self.tokens >= ONE
    }

    /// How long until there is one; `None` if there never will be.
    pub(super) fn wait(&self) -> Option<Duration> {
        let missing = (1.0 - self.tokens).max(0.0);
        Duration::try_from_secs_f64(missing / self.rate).ok()
    }

    fn fill(&mut self, now: Timestamp) {
        let passed = now.since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * self.rate).min(burst(self.rate));
        self.at = self.at.max(now);
    }
}

fn burst(rate: f64) -> f64 {
    if rate > 0.0 { rate.ceil() } else { 0.0 }
}

/// As good as one: sums of fractions fall short of it.
const ONE: f64 = 1.0 - 1e-6;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn a_rate_below_one_lets_one_go_now_and_then() {
        let mut bucket = Bucket::new(0.5, at(0));
        assert!(bucket.take(at(0)));
        assert!(!bucket.take(at(1)));
        assert_eq!(bucket.wait(), Some(Duration::from_secs(1)));
        assert!(bucket.take(at(2)));
        assert!(bucket.take(at(100)) && !bucket.take(at(100)), "it does not save up");
    }

    #[test]
    fn a_rate_of_nothing_lets_nothing_go_until_it_changes() {
        let mut bucket = Bucket::new(0.0, at(0));
        assert!(!bucket.take(at(1_000)));
        assert_eq!(bucket.wait(), None);
        let mut bucket = bucket.with_rate(2.0, at(1_000));
        assert!(!bucket.take(at(1_000)), "not at once");
        assert!(bucket.take(at(1_001)) && bucket.take(at(1_001)) && !bucket.take(at(1_001)));
    }

    #[test]
    fn a_clock_that_jumps_back_takes_nothing_away() {
        let mut bucket = Bucket::new(1.0, at(10));
        assert!(bucket.take(at(10)));
        assert!(!bucket.take(at(5)));
        assert!(bucket.take(at(11)));
    }
}
