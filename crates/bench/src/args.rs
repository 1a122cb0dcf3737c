//! What is to be measured.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

/// Benchmarks of the engine, of the server, and side by side with peers.
#[derive(Debug, Parser)]
#[command(name = "steadfast-bench")]
pub struct Command {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Measure the engine in this process, on a file.
    Engine(Plan),
    /// Measure the engine and then the peers, on the same disk, and print the ratios.
    Compare(Plan),
    /// Measure the Rust SDK, embedded, and then the peers, on the same disk, and print the ratios.
    Sdk(SdkPlan),
    /// Measure a server with the official Rust SDK: ours on a new file, or one that serves already.
    Server(ServerPlan),
    /// Measure many failures at once: matching, parking, looking at them, resuming them.
    Failures(FailuresPlan),
    /// Start workflows and wait to be killed: the first half of the case `crash_recovery`.
    #[command(hide = true)]
    Victim {
        /// The data file.
        file: PathBuf,
        /// How many workflows.
        workflows: usize,
        /// What a commit waits for.
        #[arg(long, value_enum, default_value_t)]
        sync: Sync,
    },
}

/// Which cases, where, and how much of each.
#[derive(Args, Clone, Debug, Deserialize, Serialize)]
pub struct Plan {
    /// Only these cases.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// One JSON object a case, and a last one with the ratios.
    #[arg(long)]
    pub json: bool,
    /// The folder for the data files, made if need be; a new one inside it is used and removed.
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
    /// What a commit waits for.
    #[arg(long, value_enum, default_value_t)]
    pub sync: Sync,
    /// How much of each case.
    #[command(flatten)]
    pub sizes: Sizes,
}

/// Which cases of the SDK, and whether peers run them too.
#[derive(Args, Clone, Debug)]
pub struct SdkPlan {
    /// Which cases, where, and how much of each.
    #[command(flatten)]
    pub plan: Plan,
    /// Without the peers, which have to be built.
    #[arg(long)]
    pub alone: bool,
    /// A program that is built already, as by `cargo xtask dist embedded`; if there is none, it is built.
    #[arg(long)]
    pub program: Option<PathBuf>,
}

/// How many failures, and where.
#[derive(Args, Clone, Debug)]
pub struct FailuresPlan {
    /// One JSON object a case, and a last one with what was wanted.
    #[arg(long)]
    pub json: bool,
    /// The folder for the data files, made if need be; a new one inside it is used and removed.
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
    /// What a commit waits for.
    #[arg(long, value_enum, default_value_t)]
    pub sync: Sync,
    /// Errors.
    #[arg(long, default_value_t = 100_000)]
    pub errors: usize,
    /// Resume policies, none of which matches but the last.
    #[arg(long, default_value_t = 50)]
    pub policies: usize,
    /// How often each view is asked for.
    #[arg(long, default_value_t = 50)]
    pub looks: usize,
    /// Errors that are resumed a second; a tenth of all are resumed.
    #[arg(long, default_value_t = 1_000)]
    pub rate: u32,
}

/// Which server, which cases, and how much of each.
#[derive(Args, Clone, Debug)]
pub struct ServerPlan {
    /// Only these cases.
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// One JSON object a case.
    #[arg(long)]
    pub json: bool,
    /// The folder for the data files, made if need be; a new one inside it is used and removed.
    #[arg(long, default_value = ".")]
    pub dir: PathBuf,
    /// A server that serves already, as HOST:PORT; if there is none, ours is built and started.
    #[arg(long)]
    pub address: Option<String>,
    /// The process of that server, if it is on this machine, for its CPU and memory.
    #[arg(long, requires = "address")]
    pub pid: Option<u32>,
    /// A binary of ours that is built already.
    #[arg(long, conflicts_with = "address")]
    pub binary: Option<PathBuf>,
    /// Workflows in the concurrent cases. Concurrency 1 takes a twentieth.
    #[arg(long, default_value_t = 4_000)]
    pub workflows: usize,
    /// Chains of 100 steps.
    #[arg(long, default_value_t = 5)]
    pub chains: usize,
    /// Signals to one workflow.
    #[arg(long, default_value_t = 5_000)]
    pub signals: usize,
}

/// How much of each case.
#[derive(Args, Clone, Debug, Deserialize, Serialize)]
pub struct Sizes {
    /// Workflows in the concurrent cases. A fan-out takes a tenth, concurrency 1 a twentieth, and large
    /// payloads a hundredth.
    #[arg(long, default_value_t = 20_000)]
    pub workflows: usize,
    /// Chains of 100 steps.
    #[arg(long, default_value_t = 20)]
    pub chains: usize,
    /// Steps of the long chain.
    #[arg(long, default_value_t = 5_000)]
    pub long_steps: usize,
    /// Events of the history that is replayed.
    #[arg(long, default_value_t = 10_000)]
    pub events: usize,
    /// Workflows that sleep.
    #[arg(long, default_value_t = 1_000_000)]
    pub sleeping: usize,
    /// Workflows that are open at the crash.
    #[arg(long, default_value_t = 100_000)]
    pub open: usize,
    /// Workflows that a peer gets in the concurrent cases: they are slower, and throughput is what
    /// counts.
    #[arg(long, default_value_t = 500)]
    pub peer_workflows: usize,
    /// Chains of 100 steps that a peer gets.
    #[arg(long, default_value_t = 2)]
    pub peer_chains: usize,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize, ValueEnum)]
pub enum Sync {
    /// The disk.
    #[default]
    Full,
    /// The operating system.
    Normal,
}

impl Sync {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Normal => "normal",
        }
    }
}

/// Makes the folder for the data files, if it is not there.
pub fn make_dir(dir: &Path) -> Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("the folder {}", dir.display()))
}

impl Plan {
    /// Whether a case is asked for.
    pub fn wants(&self, case: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == case)
    }
}
