//! The same shapes on peers, and the ratios.
//!
//! Peers live in a workspace of their own, so that nothing of theirs is in the product's build.
//! They are built and run here as a process, after the engine and on the same disk.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    args::{Plan, Sync},
    build::{build, lines_of},
    cases::{self, SHARED},
    report::{Line, ratio},
};

const CHAIN: &str = "chain_100";
/// The name of the engine in its lines.
pub const ENGINE: &str = "steadfast";

/// Runs both sides, one after the other: the shared cases at the sync setting of the plan, and the
/// chain with `synchronous=NORMAL` too.
pub async fn run(plan: &Plan, tell: &mut (dyn FnMut(&Line) + Send)) -> Result<Vec<Line>> {
    let program = build_peers()?;
    let asked = |case: &&str| plan.wants(case);
    let shared: Vec<String> = SHARED.iter().filter(|it| asked(it)).map(|&it| it.into()).collect();
    let mut plans = vec![Plan { only: shared, ..plan.clone() }];
    if plan.sync == Sync::Full && plan.wants(CHAIN) {
        let only = vec![CHAIN.to_owned()];
        plans.push(Plan { only, sync: Sync::Normal, ..plan.clone() });
    }
    let mut lines = Vec::new();
    for plan in plans.iter().filter(|plan| !plan.only.is_empty()) {
        lines.extend(cases::run(plan, tell).await?);
        for line in peers(&program, plan)? {
            tell(&line);
            lines.push(line);
        }
    }
    Ok(lines)
}

/// How `us` stand to each peer: throughput by throughput and memory by memory, and for a chain our time
/// a step by theirs.
pub fn ratios(lines: &[Line], us: &str) -> Value {
    let mut found: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for ours in lines.iter().filter(|line| line.system == us) {
        let peers = lines.iter().filter(|line| line.system != us);
        for peer in peers.filter(|it| it.case == ours.case && it.sync == ours.sync) {
            let shown = if ours.case == CHAIN {
                vec![("time_per_step", ratio(ours.p50_ms, peer.p50_ms))]
            } else {
                let throughput = ratio(ours.throughput_per_s, peer.throughput_per_s);
                vec![("throughput", throughput), ("memory", ratio(ours.rss_mib, peer.rss_mib))]
            };
            for (what, value) in shown {
                let name = format!("{}_{}_{what}", ours.case, ours.sync);
                found.entry(name).or_default().insert(peer.system.clone(), value);
            }
        }
    }
    json!({ "ratios": found })
}

/// Builds the peers, and says where they are.
pub(crate) fn build_peers() -> Result<PathBuf> {
    build("bench/peers/Cargo.toml", "target/peers", "steadfast-bench-peers")
}

/// Has the peers run the cases that the plan names.
pub(crate) fn peers(program: &Path, plan: &Plan) -> Result<Vec<Line>> {
    let mut command = Command::new(program);
    command.arg("--only").arg(plan.only.join(","));
    command.arg("--dir").arg(&plan.dir).args(["--sync", plan.sync.name()]);
    command.arg("--workflows").arg(plan.sizes.peer_workflows.to_string());
    command.arg("--chains").arg(plan.sizes.peer_chains.to_string());
    // What a peer logs goes to its standard output too, and costs it time.
    lines_of(command.env("RUST_LOG", "error"))
}

#[cfg(test)]
mod tests {
    use super::{ENGINE, ratios};
    use crate::report::{Counted, Line};

    #[test]
    fn a_ratio_is_taken_only_between_equals() {
        let line = |system: &str, sync: &str, throughput_per_s, rss_mib| Line {
            system: system.to_owned(),
            throughput_per_s,
            ..Line::new("fan_out_20", sync, Counted::default(), rss_mib)
        };
        let lines = [
            line("steadfast", "full", 300.0, 6.0),
            line("peer", "full", 10.0, 12.0),
            line("peer", "normal", 20.0, 12.0),
        ];
        let expected = serde_json::json!({
            "ratios": {
                "fan_out_20_full_throughput": { "peer": 30.0 },
                "fan_out_20_full_memory": { "peer": 0.5 },
            }
        });
        assert_eq!(ratios(&lines, ENGINE), expected);
    }
}
