//! The shapes of `crates/bench` on duroxide: the same cases, the same JSON lines.
//!
//! Run by `cargo run --release -p steadfast-bench -- compare`, or by itself.

mod duroxide_system;
mod large;
#[path = "../../../crates/bench/src/sdk/payloads.rs"]
mod payloads;
mod usage;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

use duroxide_system::{System, Tuning};

/// The shapes of crates/bench on other engines.
#[derive(Debug, Parser)]
struct Args {
    /// Only these cases.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The folder for the data files.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// What a commit waits for: `full` or `normal`.
    #[arg(long, default_value = "full")]
    sync: String,
    /// Workflows in the concurrent cases; a fan-out takes a quarter, and
    /// large payloads a tenth.
    #[arg(long, default_value_t = 500)]
    workflows: usize,
    /// Chains of 100 steps.
    #[arg(long, default_value_t = 2)]
    chains: usize,
}

/// What a case does.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    name: &'static str,
    orchestration: &'static str,
    workflows: usize,
    concurrency: usize,
    /// Whether a unit is a step of a chain, rather than a workflow.
    by_step: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    std::fs::create_dir_all(&args.dir)?;
    for tuning in [Tuning::Default, Tuning::Tuned] {
        for case in cases(&args) {
            if !args.only.is_empty() && !args.only.iter().any(|name| name == case.name) {
                continue;
            }
            let folder = tempfile::tempdir_in(&args.dir)?;
            let system = System::open(folder.path(), &args.sync, tuning).await?;
            println!("{}", system.run(case, &args.sync).await?);
            system.close().await;
        }
    }
    Ok(())
}

fn cases(args: &Args) -> [Case; 7] {
    let concurrent = |name, orchestration, workflows: usize, concurrency| Case {
        name,
        orchestration,
        workflows: workflows.max(1),
        concurrency,
        by_step: false,
    };
    let workflows = args.workflows;
    [
        concurrent("one_activity_c64", "One", workflows, 64),
        concurrent("one_activity_c256", "One", workflows, 256),
        Case { by_step: true, ..concurrent("chain_100", "Chain", args.chains, 1) },
        concurrent("fan_out_20", "FanOut", workflows / 4, 64),
        concurrent("fail_twice", "FailTwice", workflows, 256),
        // As duroxide's own stress tests have it by default.
        concurrent("stress_5", "Stress", workflows, 20),
        concurrent("stress_large", "Shelf", workflows / 10, 5),
    ]
}
