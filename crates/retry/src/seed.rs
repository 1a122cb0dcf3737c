//! Randomness that can be replayed: a hash of who is retrying, not a generator with a memory.

use xxhash_rust::xxh3::Xxh3;

/// Who is retrying. The same parts give the same waits, on every machine and at every replay.
///
/// Hashing happens only when a jitter asks for a number, so a policy without jitter pays nothing.
///
/// ```
/// # use steadfast_retry::Seed;
/// let parts = ["shop", "order-7", "run-1", "charge"];
/// let seed = Seed::new(&parts);
/// assert_eq!(seed.unit(3, 0), Seed::new(&parts).unit(3, 0));
/// assert_ne!(seed.unit(3, 0), seed.unit(4, 0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Seed<'a> {
    parts: &'a [&'a str],
}

impl<'a> Seed<'a> {
    /// A seed over namespace, workflow id, run id, activity id, or whatever names the work.
    #[must_use]
    pub const fn new(parts: &'a [&'a str]) -> Self {
        Self { parts }
    }

    /// Uniform in [0, 1): the top 53 bits of the hash of the parts, the failure's number and
    /// a stream, for those who need more than one number for the same failure.
    #[must_use]
    pub fn unit(&self, failure: u64, stream: u64) -> Unit {
        let mut hash = Xxh3::new();
        for part in self.parts {
            hash.update(part.as_bytes());
            hash.update(&SEPARATOR);
        }
        hash.update(&failure.to_le_bytes());
        hash.update(&stream.to_le_bytes());
        Unit(hash.digest() >> 11)
    }
}

/// A number in [0, 1) kept as 53 bits, so that arithmetic with nanoseconds stays exact.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Unit(u64);

impl Unit {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The largest below one.
    pub const MAX: Self = Self((1 << 53) - 1);

    /// As a float; exact.
    #[must_use]
    pub fn get(self) -> f64 {
        crate::number::float(u128::from(self.0)) / 9_007_199_254_740_992.0
    }

    /// The nearest to `x`; outside [0, 1) is brought inside.
    #[must_use]
    pub fn from_f64(x: f64) -> Self {
        let bits = crate::number::nanos(x * 9_007_199_254_740_992.0);
        u64::try_from(bits).map_or(Self::MAX, |bits| Self(bits.min(Self::MAX.0)))
    }

    /// This fraction of `nanos`, rounded down.
    #[must_use]
    pub fn of(self, nanos: u128) -> u128 {
        match nanos.checked_mul(u128::from(self.0)) {
            Some(product) => product >> 53,
            None => (nanos >> 53).saturating_mul(u128::from(self.0)),
        }
    }
}

/// Never part of UTF-8 text, so `["a|b", "c"]` and `["a", "b|c"]` differ.
const SEPARATOR: [u8; 1] = [0xff];
