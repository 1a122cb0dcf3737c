//! The Rust SDK as an embedding program uses it: the shapes of the engine's cases, and two about
//! replay, in an application as it comes.
//!
//! The program is one of its own (`embedded.rs`), and each case has a process of its own: what it takes
//! is what such a program takes, and what one case leaves in memory is not counted to the next.

mod concurrent;
mod large;
mod payloads;
mod place;
mod replay;
mod sequence;
mod shapes;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use self::{place::Place, shapes::Shape};
use crate::{
    args::{Plan, SdkPlan, make_dir},
    build::{build, lines_of},
    cases::SHARED,
    compare,
    report::Line,
};

/// The name of the SDK in its lines.
pub const SDK: &str = "steadfast-sdk";

/// The names of all cases, in the order in which they run.
pub const NAMES: [&str; 10] = [
    "one_activity_c1",
    "one_activity_c64",
    "one_activity_c256",
    CHAIN,
    "fan_out_20",
    "fail_twice",
    STRESS,
    LARGE,
    REPLAY,
    CACHED,
];

const CHAIN: &str = "chain_100";
const STRESS: &str = "stress_5";
const LARGE: &str = "stress_large";
const REPLAY: &str = "replay_10000";
const CACHED: &str = "cached_step";

/// Has a program run the cases that are asked for, and then, unless it is to run alone, has the peers run
/// those that they have too.
pub fn run(asked: &SdkPlan, tell: &mut dyn FnMut(&Line)) -> Result<Vec<Line>> {
    let SdkPlan { plan, alone, program } = asked;
    known(plan)?;
    make_dir(&plan.dir)?;
    // Built before anything is measured.
    let program = program.clone().map_or_else(build_program, Ok)?;
    let peers = if *alone { None } else { Some(compare::build_peers()?) };
    let mut lines = Vec::new();
    let mut add = |found: Vec<Line>| {
        found.iter().for_each(&mut *tell);
        lines.extend(found);
    };
    for name in NAMES.into_iter().filter(|name| plan.wants(name)) {
        add(run_one(&program, plan, name)?);
        let shared = SHARED.contains(&name) || [STRESS, LARGE].contains(&name);
        if let Some(peers) = peers.as_ref().filter(|_| shared) {
            add(compare::peers(peers, &Plan { only: vec![name.to_owned()], ..plan.clone() })?);
        }
    }
    Ok(lines)
}

/// Runs the cases that are asked for in this process.
pub async fn cases(plan: &Plan, tell: &mut dyn FnMut(&Line)) -> Result<()> {
    known(plan)?;
    make_dir(&plan.dir)?;
    for name in NAMES.into_iter().filter(|name| plan.wants(name)) {
        let folder = tempfile::Builder::new().prefix("steadfast-bench-").tempdir_in(&plan.dir)?;
        let place = Place { folder: folder.path(), sync: plan.sync };
        tell(&Line { system: SDK.to_owned(), ..case(&place, name, plan).await? });
    }
    Ok(())
}

fn known(plan: &Plan) -> Result<()> {
    for name in &plan.only {
        ensure!(NAMES.contains(&name.as_str()), "no case {name:?}; there are {}", NAMES.join(", "));
    }
    Ok(())
}

fn build_program() -> Result<PathBuf> {
    build("crates/bench/Cargo.toml", "target", "steadfast-bench-embedded")
}

/// Has a process run one case.
fn run_one(program: &Path, plan: &Plan, name: &str) -> Result<Vec<Line>> {
    let plan = Plan { only: vec![name.to_owned()], json: true, ..plan.clone() };
    lines_of(Command::new(program).arg(serde_json::to_string(&plan)?))
}

async fn case(place: &Place<'_>, name: &str, plan: &Plan) -> Result<Line> {
    let sizes = &plan.sizes;
    let all = sizes.workflows;
    match name {
        "one_activity_c1" => place.concurrent(name, Shape::One, all / 20, 1).await,
        "one_activity_c64" => place.concurrent(name, Shape::One, all, 64).await,
        "one_activity_c256" => place.concurrent(name, Shape::One, all, 256).await,
        CHAIN => place.chain(name, sizes.chains).await,
        "fan_out_20" => place.concurrent(name, Shape::FanOut, all / 10, 64).await,
        "fail_twice" => place.concurrent(name, Shape::FailTwice, all, 256).await,
        STRESS => place.concurrent(name, Shape::Stress, all / 10, 20).await,
        LARGE => place.concurrent(name, Shape::Large, all / 100, 5).await,
        REPLAY => replay::run(name, sizes.events).await,
        _ => sequence::cached(name, sizes.long_steps).await,
    }
}

/// How the SDK stands to each peer, and what the other cases are to show.
pub fn ratios(lines: &[Line]) -> Value {
    const SHOWN: [(&str, &str); 4] = [
        (CHAIN, "fsyncs_per_step"),
        (CHAIN, "over_fdatasync_ms"),
        (REPLAY, "p50_ms"),
        (CACHED, "late_to_early"),
    ];
    let mut found = compare::ratios(lines, SDK)["ratios"].clone();
    let ours = |case| lines.iter().find(|line| line.system == SDK && line.case == case);
    for (case, field) in SHOWN {
        if let Some(line) = ours(case) {
            found[format!("{case}_{field}")] = json!(line)[field].clone();
        }
    }
    json!({ "ratios": found })
}
