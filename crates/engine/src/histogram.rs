//! How values spread, counted without a lock.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts values by the smallest bound that holds them.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [u64],
    /// One for each bound, and one for what is above them all.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// Nothing counted yet. Bounds are inclusive and ascend.
    pub fn new(bounds: &'static [u64]) -> Self {
        assert!(bounds.is_sorted(), "the bounds of a histogram must ascend: {bounds:?}");
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicU64::new(0) }
    }

    /// Counts one value.
    pub fn record(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
            self.sum.fetch_add(value, Ordering::Relaxed);
        }
    }

    /// Each bound and how many values it holds that the one before does not; `None` is above all.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<u64>, u64)> {
        let bounds = self.bounds.iter().copied().map(Some).chain([None]);
        bounds.zip(self.counts.iter().map(|count| count.load(Ordering::Relaxed)))
    }

    /// All values together.
    pub fn sum(&self) -> u64 {
        self.sum.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_where_it_fits_first() {
        let histogram = Histogram::new(&[1, 10]);
        for value in [0, 1, 2, 10, 11, 500] {
            histogram.record(value);
        }
        let counted: Vec<_> = histogram.buckets().collect();
        assert_eq!(counted, [(Some(1), 2), (Some(10), 2), (None, 2)]);
        assert_eq!(histogram.sum(), 524);
    }
}
