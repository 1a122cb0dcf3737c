//! Chance, handed in: all ids and random numbers of a transition come from one number.

use steadfast_retry::Timestamp;
use uuid::Builder;
use xxhash_rust::xxh3::xxh3_128;

/// The source of a transition's ids.
#[derive(Clone, Debug)]
pub struct Entropy {
    seed: u128,
    drawn: u64,
}

impl Entropy {
    /// From a number that was not used before.
    pub fn new(seed: u128) -> Self {
        Self { seed, drawn: 0 }
    }

    /// A number that names one start of one task.
    pub fn nonce(&mut self) -> u64 {
        let [_, low] = self.halves();
        low.max(1)
    }

    /// The id of a new run. Ids that are made later sort later, which databases like.
    pub fn run_id(&mut self, now: Timestamp) -> String {
        let millis = u64::try_from(now.nanos() / 1_000_000).unwrap_or_default();
        let mut random = [0; 10];
        random.copy_from_slice(&self.draw()[..10]);
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string()
    }

    /// Any other id.
    pub fn id(&mut self) -> String {
        Builder::from_random_bytes(self.draw()).into_uuid().to_string()
    }

    /// Another source, whose numbers are not those that this one gives.
    pub(crate) fn split(&mut self) -> Self {
        Self::new(u128::from_be_bytes(self.draw()))
    }

    fn halves(&mut self) -> [u64; 2] {
        let bytes = self.draw();
        let half = |at: usize| bytes[at..at + 8].iter().fold(0, |n, b| n << 8 | u64::from(*b));
        [half(0), half(8)]
    }

    fn draw(&mut self) -> [u8; 16] {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.seed.to_be_bytes());
        bytes[16..].copy_from_slice(&self.drawn.to_be_bytes());
        self.drawn += 1;
        xxh3_128(&bytes).to_be_bytes()
    }
}
