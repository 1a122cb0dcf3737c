//! `steadfast-sim`: runs seeds, and says how to run a bad one again.
#![expect(clippy::print_stdout, reason = "telling what happened is what this program is for")]

use std::{
    fmt,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Parser, Subcommand};
use steadfast_sim::{Cut, Report, pull_the_plug, show_engine, simulate, writes};

/// The engine on virtual time, with workers that crash and stores that fail.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Clone, Debug, Subcommand)]
enum Verb {
    /// Runs seeds, one after the other, and stops at the first bad one
    Run {
        /// How many
        #[arg(long, default_value_t = 1)]
        seeds: u64,
        /// The first of them
        #[arg(long, default_value_t = 1)]
        from: u64,
        /// This one only
        #[arg(long, conflicts_with_all = ["seeds", "from"])]
        seed: Option<u64>,
        /// Shows what happens as it happens
        #[arg(long)]
        verbose: bool,
        /// Goes on after a bad seed
        #[arg(long)]
        keep_going: bool,
    },
    /// Runs some seeds twice: the same seed must give the same run, byte for byte
    Meta {
        /// How many
        #[arg(long, default_value_t = 10)]
        seeds: u64,
    },
    /// Runs a small world once for each write to its disk, with the plug pulled just before and just
    /// after it: everything must end the same
    Cuts,
    /// Runs seed after seed for so long
    Long {
        /// How long
        #[arg(long, default_value_t = 60)]
        minutes: u64,
        /// The first seed
        #[arg(long, default_value_t = 1_000_000)]
        from: u64,
    },
}

fn main() -> ExitCode {
    let good = match Arguments::parse().verb {
        Verb::Run { seed: Some(seed), verbose, .. } => {
            announce(&format!("seed {seed}"));
            if verbose {
                show_engine();
            }
            told(&simulate(seed, verbose))
        }
        Verb::Run { seeds, from, verbose, keep_going, .. } => {
            announce(&format!("seeds {from} to {}", from + seeds.max(1) - 1));
            run(from..from + seeds, verbose, keep_going)
        }
        Verb::Meta { seeds } => {
            announce(&format!("seeds 1 to {seeds}, twice each"));
            (1..=seeds).all(is_repeatable)
        }
        Verb::Cuts => {
            announce("a small world, cut at each of its writes");
            cuts()
        }
        Verb::Long { minutes, from } => {
            announce(&format!("seeds from {from}, for {minutes} minutes"));
            let end = now() + Duration::from_secs(minutes * 60);
            run((from..).take_while(|_| now() < end), false, true)
        }
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn announce(what: &str) {
    println!("steadfast-sim {}: {what}", env!("CARGO_PKG_VERSION"));
}

fn run(seeds: impl Iterator<Item = u64>, verbose: bool, keep_going: bool) -> bool {
    let begin = now();
    let mut sums = Sums::default();
    for seed in seeds {
        let report = simulate(seed, verbose);
        sums.add(&report, told(&report));
        if sums.bad > 0 && !keep_going {
            break;
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    let pace = f64::from(sums.seeds) / seconds.max(0.001);
    println!("{sums}, {seconds:.1} s ({pace:.1} seeds/s)");
    sums.bad == 0
}

/// What came of many seeds.
#[derive(Debug, Default)]
struct Sums {
    seeds: u32,
    bad: u32,
    runs: usize,
    events: usize,
    disk_faults: u64,
    lost_attempts: usize,
    effects: usize,
}

impl Sums {
    fn add(&mut self, report: &Report, is_good: bool) {
        self.seeds += 1;
        self.bad += u32::from(!is_good);
        self.runs += report.runs;
        self.events += report.events;
        self.disk_faults += report.disk_faults;
        self.lost_attempts += report.lost_attempts;
        self.effects += report.effects;
    }
}

impl fmt::Display for Sums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seeds, bad, runs, events, disk_faults, lost_attempts, effects } = self;
        write!(
            f,
            "{seeds} seeds, {bad} bad: {runs} runs, {events} events, {disk_faults} disk faults, \
             {lost_attempts} attempts lost with their process, {effects} effects written"
        )
    }
}

/// Says what was wrong, if anything was, and how to see it again.
fn told(report: &Report) -> bool {
    if report.faults.is_empty() {
        return true;
    }
    println!("seed {} is bad:", report.seed);
    for fault in &report.faults {
        println!("  {}: {}", fault.workflow_id, fault.what);
    }
    println!("{}", report.histories);
    println!("rerun: cargo run -p steadfast-sim -- run --seed {} --verbose", report.seed);
    false
}

/// Says at which writes a cut makes a difference.
fn cuts() -> bool {
    let straight = writes();
    println!("{}", straight.text);
    let mut bad = 0_u32;
    for write in 1..=straight.writes {
        for cut in [Cut::Before, Cut::After] {
            let ended = pull_the_plug(write, cut);
            if ended.text != straight.text {
                bad += 1;
                println!("cut {cut:?} write {write}, it ends otherwise:\n{}", ended.text);
            }
        }
    }
    println!("{} writes, each cut twice: {bad} ended otherwise", straight.writes);
    bad == 0
}

fn is_repeatable(seed: u64) -> bool {
    let (first, second) = (simulate(seed, false).log, simulate(seed, false).log);
    if first == second {
        println!("seed {seed}: {} bytes, the same twice", first.len());
        return true;
    }
    let lines = first.lines().zip(second.lines());
    let differ = lines.enumerate().find(|(_, (first, second))| first != second);
    println!("seed {seed} gives two different runs");
    if let Some((number, (first, second))) = differ {
        println!("  line {}\n    {first}\n    {second}", number + 1);
    }
    false
}

#[expect(clippy::disallowed_methods, reason = "how long it took is told to a person")]
fn now() -> Instant {
    Instant::now()
}
