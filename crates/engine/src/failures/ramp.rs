//! How fast a bulk resume may go when nobody has said it: as fast as what it resumes goes well.
//!
//! ```text
//!   rate   ·            ×1.5 every ten seconds, while nothing fails
//!    │            ·     ÷2 when one in twenty fails again, and half a minute's rest
//!    │        ·  · ·    past half of what was too fast: a hundredth of it at a time
//!    │    ·  ·
//!    └──────────────▶   what says nothing yet changes nothing
//! ```
//!
//! It is not kept: whoever goes on after a crash begins at the floor again.

use std::time::Duration;

use steadfast_core::Timestamp;

use super::count;

/// The speed of one job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ramp {
    rate: f64,
    /// The rate at which too many failed last.
    too_fast: Option<f64>,
    /// When it may change next.
    next_at: Timestamp,
    /// How many had succeeded and failed when it changed last.
    seen: (u64, u64),
}

impl Ramp {
    /// At the floor, with so many known to have succeeded and failed.
    pub(crate) fn new(now: Timestamp, seen: (u64, u64)) -> Self {
        Self { rate: FLOOR, too_fast: None, next_at: now.after(EVERY), seen }
    }

    /// How many a second.
    pub(crate) fn rate(&self) -> f64 {
        self.rate
    }

    /// Takes note of how many have succeeded and failed by now.
    pub(crate) fn look(&mut self, now: Timestamp, seen: (u64, u64)) {
        let succeeded = seen.0.saturating_sub(self.seen.0);
        let failed = seen.1.saturating_sub(self.seen.1);
        if now < self.next_at || succeeded + failed == 0 {
            return;
        }
        self.seen = seen;
        self.next_at = now.after(EVERY);
        if count(failed) >= FAILING * count(succeeded + failed) {
            self.too_fast = Some(self.rate);
            self.rate = (self.rate / 2.0).max(FLOOR);
            self.next_at = now.after(REST);
        } else {
            self.rate = self.faster().min(CEILING);
        }
    }

    fn faster(&self) -> f64 {
        match self.too_fast {
            Some(limit) if self.rate >= limit / 2.0 => self.rate + (limit / 100.0).max(STEP),
            _ => self.rate * 1.5,
        }
    }
}

/// Where it begins, and the least: one a second.
pub(crate) const FLOOR: f64 = 1.0;

/// The most.
const CEILING: f64 = 1_000.0;

/// The least that it grows.
const STEP: f64 = 0.1;

/// The share of failures that is too many.
const FAILING: f64 = 0.05;

const EVERY: Duration = Duration::from_secs(10);
const REST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_secs(seconds)
    }

    #[test]
    fn it_grows_while_all_goes_well_and_has_an_end() {
        let mut ramp = Ramp::new(at(0), (0, 0));
        let mut rates = Vec::new();
        for n in 1..=20_u32 {
            ramp.look(at(i64::from(n) * 10), (u64::from(n), 0));
            rates.push(ramp.rate());
        }
        assert!(rates.iter().is_sorted(), "{rates:?}");
        assert!((rates[0] - 1.5).abs() < 1e-9 && (rates[19] - CEILING).abs() < 1e-9, "{rates:?}");
    }

    #[test]
    fn it_halves_when_one_in_twenty_fails_rests_and_then_creeps() {
        let mut ramp = Ramp { rate: 100.0, ..Ramp::new(at(0), (0, 0)) };
        ramp.look(at(10), (95, 5));
        assert!((ramp.rate() - 50.0).abs() < 1e-9);
        ramp.look(at(30), (200, 5));
        assert!((ramp.rate() - 50.0).abs() < 1e-9, "it rests");
        ramp.look(at(40), (300, 5));
        assert!((ramp.rate() - 51.0).abs() < 1e-9, "a hundredth of what was too fast");
        ramp.look(at(50), (301, 100));
        ramp.look(at(80), (301, 101));
        assert!((ramp.rate() - 12.75).abs() < 1e-9);
        ramp.look(at(110), (401, 101));
        assert!((ramp.rate() - 13.005).abs() < 0.3, "{}", ramp.rate());
    }

    #[test]
    fn it_never_stands_still_and_does_not_grow_on_silence() {
        let mut ramp = Ramp::new(at(0), (7, 7));
        ramp.look(at(1_000), (7, 7));
        assert!((ramp.rate() - FLOOR).abs() < 1e-9);
        ramp.look(at(1_010), (7, 99));
        assert!((ramp.rate() - FLOOR).abs() < 1e-9);
    }
}
