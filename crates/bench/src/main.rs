//! Measures and prints.

use std::{fmt::Display, io::Write as _, thread::available_parallelism};

use anyhow::Result;
use clap::Parser as _;
use steadfast_bench::{
    args::{Command, SdkPlan, Verb},
    cases, compare, failures,
    report::Line,
    sdk, server,
};
use tokio::runtime::{Builder, Runtime};

/// As in the `steadfast` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let verb = Command::parse().verb;
    runtime(&verb)?.block_on(run(verb))
}

/// Programs that embed the SDK are advised to leave a core to the thread that writes the file, as the
/// server does.
fn runtime(verb: &Verb) -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if let (Verb::Sdk(_), Ok(cores)) = (verb, available_parallelism()) {
        builder.worker_threads((cores.get() - 1).max(1));
    }
    Ok(builder.enable_all().build()?)
}

async fn run(verb: Verb) -> Result<()> {
    match verb {
        Verb::Engine(plan) => {
            let lines = cases::run(&plan, &mut |line| show(plan.json, line)).await?;
            say(cases::ratios(&lines));
        }
        Verb::Compare(plan) => {
            let lines = compare::run(&plan, &mut |line| show(plan.json, line)).await?;
            say(compare::ratios(&lines, compare::ENGINE));
        }
        Verb::Sdk(SdkPlan { plan, alone }) => {
            let lines = sdk::run(&plan, alone, &mut |line| show(plan.json, line)).await?;
            say(sdk::ratios(&lines));
        }
        Verb::Failures(plan) => {
            let lines = failures::run(&plan, &mut |line| show(plan.json, line)).await?;
            say(failures::wanted(&lines));
        }
        Verb::Server(plan) => server::run(&plan, &mut |line| show(plan.json, line))?,
        Verb::Victim { file, workflows, sync } => cases::victim(&file, workflows, sync).await?,
    }
    Ok(())
}

fn show(json: bool, line: &Line) {
    if json { say(serde_json::json!(line)) } else { say(line) }
}

/// Prints a line. Whoever reads may have gone, as `| head` does: what was begun comes to its end, and
/// leaves no files behind.
fn say(line: impl Display) {
    drop(writeln!(std::io::stdout(), "{line}"));
}
