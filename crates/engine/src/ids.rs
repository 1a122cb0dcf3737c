//! The one place where the engine draws chance from.

use std::sync::atomic::{AtomicU64, Ordering};

use steadfast_core::Entropy;
use xxhash_rust::xxh3::xxh3_128;

/// A source of ids that never gives the same one twice.
#[derive(Debug)]
pub(crate) struct Ids {
    seed: u128,
    drawn: AtomicU64,
}

impl Ids {
    /// From a seed, so that a simulation can be repeated; `None` asks the machine for one.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        let seed = seed.map_or_else(from_machine, u128::from);
        Self { seed, drawn: AtomicU64::new(0) }
    }

    /// What one transition draws its ids from.
    pub(crate) fn entropy(&self) -> Entropy {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.seed.to_be_bytes());
        bytes[16..].copy_from_slice(&self.drawn.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        Entropy::new(xxh3_128(&bytes))
    }

    /// One id.
    pub(crate) fn id(&self) -> String {
        self.entropy().id()
    }
}

fn from_machine() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the machine gives random numbers");
    u128::from_be_bytes(bytes)
}
