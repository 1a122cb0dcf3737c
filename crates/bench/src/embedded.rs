//! A program that embeds the SDK and does nothing else, so that what it takes is what the SDK takes.
//!
//! It has the allocator that a Rust program has if it names none, as the peers do. Run by
//! `steadfast-bench sdk`, a process for each case, or by itself.

use std::thread::available_parallelism;

use anyhow::Result;
use clap::Parser;
use steadfast_bench::{args::Plan, report::show, sdk};
use tokio::runtime::{Builder, Runtime};

/// Cases of the Rust SDK, embedded.
#[derive(Debug, Parser)]
struct Program {
    #[command(flatten)]
    plan: Plan,
}

fn main() -> Result<()> {
    let plan = Program::parse().plan;
    runtime()?.block_on(async { sdk::cases(&plan, &mut |line| show(plan.json, line)).await })
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
