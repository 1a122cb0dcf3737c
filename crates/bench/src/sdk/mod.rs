//! The Rust SDK as an embedding program uses it: the shapes of the engine's cases, and two about
//! replay, in an application as it comes.

mod concurrent;
mod place;
mod replay;
mod sequence;
mod shapes;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use self::{place::Place, shapes::Shape};
use crate::{
    args::{Plan, make_dir},
    cases::SHARED,
    compare,
    report::Line,
};

/// The name of the SDK in its lines.
pub const SDK: &str = "steadfast-sdk";

/// The names of all cases, in the order in which they run.
pub const NAMES: [&str; 9] = [
    "one_activity_c1",
    "one_activity_c64",
    "one_activity_c256",
    CHAIN,
    "fan_out_20",
    "fail_twice",
    STRESS,
    REPLAY,
    CACHED,
];

const CHAIN: &str = "chain_100";
const STRESS: &str = "stress_5";
const REPLAY: &str = "replay_10000";
const CACHED: &str = "cached_step";

/// Runs the cases that are asked for, and then, unless it is to run alone, has the peers run those
/// that they have too.
pub async fn run(
    plan: &Plan,
    alone: bool,
    tell: &mut (dyn FnMut(&Line) + Send),
) -> Result<Vec<Line>> {
    for name in &plan.only {
        ensure!(NAMES.contains(&name.as_str()), "no case {name:?}; there are {}", NAMES.join(", "));
    }
    make_dir(&plan.dir)?;
    // Built before anything is measured.
    let peers = if alone { None } else { Some(compare::build_peers()?) };
    let mut lines = Vec::new();
    for name in NAMES.into_iter().filter(|name| plan.wants(name)) {
        let folder = tempfile::Builder::new().prefix("steadfast-bench-").tempdir_in(&plan.dir)?;
        let place = Place { folder: folder.path(), sync: plan.sync };
        let line = Line { system: SDK.to_owned(), ..case(&place, name, plan).await? };
        tell(&line);
        lines.push(line);
    }
    let shared = SHARED.into_iter().chain([STRESS]).filter(|name| plan.wants(name));
    let only: Vec<String> = shared.map(str::to_owned).collect();
    if let Some(program) = peers.filter(|_| !only.is_empty()) {
        for line in compare::peers(&program, &Plan { only, ..plan.clone() })? {
            tell(&line);
            lines.push(line);
        }
    }
    Ok(lines)
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
