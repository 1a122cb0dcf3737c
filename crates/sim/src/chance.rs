//! Chance that can be repeated: one root seed, and from it a source of its own for everybody.
//!
//! Sources have names, so that a new actor, or one more draw of an old one, leaves all others as
//! they were: a seed that found something yesterday is likely to find it tomorrow.

use std::time::Duration;

/// A source of numbers that look random (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// The source that all others of a run come from.
    pub(crate) fn root(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The source of whoever has this name. It does not matter what else was drawn.
    pub(crate) fn child(&self, name: &str) -> Self {
        let mixed = name.bytes().fold(mix(self.state), |state, byte| mix(state ^ u64::from(byte)));
        Self { state: mixed }
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // The lean towards small numbers is far below what any scenario could notice.
        self.number() % end.max(1)
    }

    /// A number from `first` to `last`.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last.saturating_sub(first) + 1)
    }

    /// A small number from `first` to `last`.
    pub(crate) fn small(&mut self, first: u32, last: u32) -> u32 {
        u32::try_from(self.between(u64::from(first), u64::from(last))).unwrap_or(last)
    }

    /// True in so many cases of a hundred.
    pub(crate) fn percent(&mut self, cases: u64) -> bool {
        self.below(100) < cases
    }

    /// A span of so many milliseconds, from `first` to `last`.
    pub(crate) fn millis(&mut self, first: u64, last: u64) -> Duration {
        Duration::from_millis(self.between(first, last))
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).wrapping_add(STEP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut chance = Chance::root(seed).child("client");
            [chance.number(), chance.number(), chance.below(10)]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn names_keep_sources_apart() {
        let root = Chance::root(1);
        assert_ne!(root.child("a").number(), root.child("b").number());
    }
}
