//! Load on a Steadfast server, or on any that speaks the same protocol; one JSON object a case.
//!
//! Run by `cargo run --release -p steadfast-bench -- server`, or by itself.

mod load;
mod target;
mod usage;
mod workflows;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, Result};
use clap::Parser;
use serde_json::{Value, json};

use load::{Case, Ran, Shape};
use target::{Begun, Choice, Target};
use usage::Process;

/// Load on a server.
#[derive(Debug, Parser)]
struct Args {
    /// Only these cases.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// A server that serves already, as HOST:PORT.
    #[arg(long)]
    address: Option<String>,
    /// Its process, if it is on this machine.
    #[arg(long, requires = "address")]
    pid: Option<u32>,
    /// Our binary, if there is no address: a new server for each case.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// The folder for the data files.
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Workflows in the concurrent cases; concurrency 1 takes a twentieth.
    #[arg(long, default_value_t = 4_000)]
    workflows: usize,
    /// Chains of 100 steps.
    #[arg(long, default_value_t = 5)]
    chains: usize,
    /// Signals to one workflow.
    #[arg(long, default_value_t = 5_000)]
    signals: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let choice = args.choice()?;
    for case in args.cases() {
        if args.only.is_empty() || args.only.iter().any(|name| name == case.name) {
            println!("{}", measure(&choice, case).await?);
        }
    }
    Ok(())
}

impl Args {
    fn choice(&self) -> Result<Choice> {
        if let Some(address) = &self.address {
            return Ok(Choice::Other { address: address.clone(), pid: self.pid });
        }
        let binary = self.binary.clone().context("--address or --binary must be given")?;
        Ok(Choice::Ours { binary, dir: self.dir.clone() })
    }

    fn cases(&self) -> [Case; 6] {
        let case = |name, shape, count: usize, concurrency| Case {
            name,
            shape,
            count: count.max(1),
            concurrency,
        };
        let workflows = self.workflows;
        [
            case("one_activity_c1", Shape::One, workflows / 20, 1),
            case("one_activity_c64", Shape::One, workflows, 64),
            case("one_activity_c256", Shape::One, workflows, 256),
            case("chain_100", Shape::Chain, self.chains, 1),
            case("signals", Shape::Signals, self.signals, 64),
            case("fail_twice", Shape::FailTwice, workflows, 256),
        ]
    }
}

/// What is counted outside, before and after.
#[derive(Clone, Copy, Debug)]
struct Count {
    server: Option<Duration>,
    own: Duration,
    commits: Option<u64>,
}

impl Count {
    fn take(target: &Target) -> Result<Self> {
        Ok(Self {
            server: target.process.map(Process::cpu).transpose()?,
            own: Process::own().cpu()?,
            commits: target.commits(),
        })
    }
}

async fn measure(choice: &Choice, case: Case) -> Result<Value> {
    let target = Target::open(choice).await?;
    let (client, worker_client) = (target.connect().await?, target.connect().await?);
    let ran = load::run(client, worker_client, case, || Count::take(&target)).await?;
    let Ran { mut spans, elapsed, before, after } = ran;

    let seconds = elapsed.as_secs_f64();
    let units = if case.shape == Shape::Chain { case.count * workflows::STEPS } else { case.count };
    let server = after.server.zip(before.server).map(|(after, before)| after - before);
    let own = (after.own - before.own).as_secs_f64();
    let commits = after.commits.zip(before.commits).map(|(after, before)| after - before);
    let mut line = json!({
        "case": case.name,
        "system": target.name(),
        "sync": "full",
        "throughput_per_s": units as f64 / seconds,
        "p50_ms": usage::percentile_ms(&mut spans, 50),
        "p99_ms": usage::percentile_ms(&mut spans, 99),
        "cpu_ms_per_workflow": server.map(|cpu| cpu.as_secs_f64() * 1e3 / case.count as f64),
        "fsyncs_per_step": commits.map(|commits| commits as f64 / units as f64),
        "rss_mib": target.process.map_or(0.0, Process::peak_rss_mib),
        "sdk_cpu_ms_per_workflow": own * 1e3 / case.count as f64,
        "load_average": usage::load(),
    });
    if let (Some(server), Some(object)) = (server, line.as_object_mut()) {
        let share = own / (own + server.as_secs_f64());
        object.insert("sdk_cpu_share".to_owned(), json!(share));
        object.insert("sdk_is_the_limit".to_owned(), json!(share > 0.5));
    }
    tell_how_it_began(&mut line, target.begun);
    Ok(line)
}

fn tell_how_it_began(line: &mut Value, begun: Option<Begun>) {
    let (Some(begun), Some(object)) = (begun, line.as_object_mut()) else { return };
    object.insert("startup_ms".to_owned(), json!(begun.startup.as_secs_f64() * 1e3));
    object.insert("idle_rss_mib".to_owned(), json!(begun.idle_rss_mib));
    object.insert("binary_mib".to_owned(), json!(begun.binary_mib));
}
