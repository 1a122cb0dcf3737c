//! Measures and prints.

use anyhow::Result;
use clap::Parser as _;
use steadfast_bench::{
    args::{Command, Verb},
    cases, compare, failures,
    report::{say, show},
    sdk, server,
};

/// As in the `steadfast` binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> Result<()> {
    match Command::parse().verb {
        Verb::Engine(plan) => {
            let lines = cases::run(&plan, &mut |line| show(plan.json, line)).await?;
            say(cases::ratios(&lines));
        }
        Verb::Compare(plan) => {
            let lines = compare::run(&plan, &mut |line| show(plan.json, line)).await?;
            say(compare::ratios(&lines, compare::ENGINE));
        }
        Verb::Sdk(plan) => {
            let lines = sdk::run(&plan, &mut |line| show(plan.plan.json, line))?;
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
