//! The threads on which a server answers.

use std::{num::NonZeroUsize, thread::available_parallelism};

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Runtime};

/// A runtime with so many threads. If nobody says how many, one core is left to the thread that
/// writes the data file: when both are busy, more threads would only take it from each other.
pub(crate) fn runtime(threads: Option<NonZeroUsize>) -> Result<Runtime> {
    let threads = threads.map_or_else(usual, NonZeroUsize::get);
    Builder::new_multi_thread().worker_threads(threads).enable_all().build().context("starting up")
}

fn usual() -> usize {
    available_parallelism().map_or(1, |cores| (cores.get() - 1).max(1))
}
