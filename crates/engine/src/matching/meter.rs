//! How often something happened lately.

use steadfast_core::Timestamp;

/// Counts by the second, for the last half minute.
#[derive(Clone, Debug, Default)]
pub(super) struct Meter {
    counts: [u32; SECONDS],
    /// The second of the newest count.
    newest: i64,
}

impl Meter {
    pub(super) fn count(&mut self, now: Timestamp) {
        self.forget(now);
        self.counts[place(self.newest)] += 1;
    }

    /// How often a second.
    pub(super) fn rate(&self, now: Timestamp) -> f32 {
        let mut lately = self.clone();
        lately.forget(now);
        let sum: u32 = lately.counts.iter().sum();
        // Small enough for a rough number.
        f32::from(u16::try_from(sum / 30).unwrap_or(u16::MAX))
            + f32::from(u8::try_from(sum % 30).unwrap_or_default()) / 30.0
    }

    /// Forgets what is older than the counts that are kept.
    fn forget(&mut self, now: Timestamp) {
        let second = now.nanos().div_euclid(1_000_000_000);
        let passed = usize::try_from(second.saturating_sub(self.newest)).unwrap_or(0);
        for back in 0..passed.min(SECONDS) {
            let offset = i64::try_from(back).unwrap_or_default();
            self.counts[place(second - offset)] = 0;
        }
        self.newest = self.newest.max(second);
    }
}

fn place(second: i64) -> usize {
    let seconds = i64::try_from(SECONDS).unwrap_or(1);
    usize::try_from(second.rem_euclid(seconds)).unwrap_or_default()
}

const SECONDS: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_older_than_half_a_minute_is_forgotten() {
        let at = Timestamp::from_secs;
        let mut meter = Meter::default();
        (0..60).for_each(|_| meter.count(at(100)));
        (0..15).for_each(|_| meter.count(at(110)));
        assert!((meter.rate(at(110)) - 2.5).abs() < 1e-3);
        assert!((meter.rate(at(131)) - 0.5).abs() < 1e-3);
        assert!(meter.rate(at(1_000)).abs() < 1e-3);
    }
}
