//! How many attempts of an activity are kept as rows, so that a million retries stay small.

/// How many of the oldest are kept: how it began.
pub(crate) const FIRST: usize = 5;

/// How many of the newest are kept: how it goes.
pub(crate) const LAST: usize = 50;

/// How many are kept at most; of the others only the fingerprints are counted.
pub(crate) const KEPT: usize = FIRST + LAST;
