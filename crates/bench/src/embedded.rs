//! A program that embeds the SDK and does nothing else, so that what it takes is what the SDK takes.
//!
//! It has the allocator that a Rust program has if it names none, as the peers do. `steadfast-bench sdk`
//! runs it, a process for each case, and tells it what to do as JSON.

use std::{env, thread::available_parallelism};

use anyhow::{Context as _, Result};
use steadfast_bench::{args::Plan, report::show, sdk};
use tokio::runtime::{Builder, Runtime};

fn main() -> Result<()> {
    let asked =
        env::args().nth(1).context("there is no plan; run `steadfast-bench sdk` instead")?;
    let plan: Plan = serde_json::from_str(&asked).context("the plan")?;
    runtime()?.block_on(sdk::cases(&plan, &mut |line| show(plan.json, line)))
}

/// Programs that embed the SDK are advised to leave a core to the thread that writes the file, as the
/// server does.
fn runtime() -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if let Ok(cores) = available_parallelism() {
        builder.worker_threads((cores.get() - 1).max(1));
    }
    Ok(builder.enable_all().build()?)
}
