//! The cases, each in a fresh file.

mod chain;
mod concurrent;
mod crash;
mod long_chain;
mod sleeping;

pub(crate) use chain::gaps;
pub(crate) use long_chain::ends;

use std::path::Path;

use anyhow::{Result, ensure};
use steadfast_store::sqlite::Synchronous;

pub use crash::victim;

use crate::{
    args::{Plan, Sizes, Sync, make_dir},
    report::Line,
    rig::Rig,
    shape::Shape,
};

/// The names of all cases, in the order in which they run.
pub const NAMES: [&str; 9] = [
    "one_activity_c1",
    "one_activity_c64",
    "one_activity_c256",
    "chain_100",
    "fan_out_20",
    "fail_twice",
    "long_chain_5000",
    "sleeping",
    "crash_recovery",
];

/// The cases that peers run too.
pub const SHARED: [&str; 5] =
    ["one_activity_c64", "one_activity_c256", "chain_100", "fan_out_20", "fail_twice"];

/// Where a case runs, and how much of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    /// An empty folder.
    pub(crate) folder: &'a Path,
    pub(crate) sync: Sync,
    pub(crate) sizes: &'a Sizes,
}

/// Runs the cases that are asked for and tells what each found as soon as it has.
pub async fn run(plan: &Plan, tell: &mut (dyn FnMut(&Line) + Send)) -> Result<Vec<Line>> {
    for name in &plan.only {
        ensure!(NAMES.contains(&name.as_str()), "no case {name:?}; there are {}", NAMES.join(", "));
    }
    make_dir(&plan.dir)?;
    let mut lines = Vec::new();
    for name in NAMES.into_iter().filter(|name| plan.wants(name)) {
        let folder = tempfile::Builder::new().prefix("steadfast-bench-").tempdir_in(&plan.dir)?;
        let place = Place { folder: folder.path(), sync: plan.sync, sizes: &plan.sizes };
        let line = place.case(name).await?;
        tell(&line);
        lines.push(line);
    }
    Ok(lines)
}

/// What the cases are to show, by name: each is a field of one case's line.
pub fn ratios(lines: &[Line]) -> serde_json::Value {
    const SHOWN: [(&str, &str); 8] = [
        ("one_activity_c256", "steps_per_fsync"),
        ("chain_100", "fsyncs_per_step"),
        ("chain_100", "over_fdatasync_ms"),
        ("long_chain_5000", "late_to_early"),
        ("sleeping", "held_rss_mib"),
        ("sleeping", "restart_s"),
        ("crash_recovery", "completed"),
        ("crash_recovery", "open_s"),
    ];
    let mut found = serde_json::Map::new();
    for (case, field) in SHOWN {
        let line = lines.iter().find(|line| line.case == case);
        if let Some(value) = line.map(|line| serde_json::json!(line)[field].clone()) {
            found.insert(format!("{case}_{field}"), value);
        }
    }
    serde_json::json!({ "ratios": found })
}

impl Place<'_> {
    async fn case(&self, name: &str) -> Result<Line> {
        let sizes = self.sizes;
        match name {
            "one_activity_c1" => self.concurrent(name, ONE, sizes.workflows / 20, 1).await,
            "one_activity_c64" => self.concurrent(name, ONE, sizes.workflows, 64).await,
            "one_activity_c256" => self.concurrent(name, ONE, sizes.workflows, 256).await,
            "chain_100" => self.chain(name, sizes.chains).await,
            "fan_out_20" => {
                self.concurrent(name, Shape::FanOut { width: 20 }, sizes.workflows / 10, 64).await
            }
            "fail_twice" => {
                self.concurrent(name, Shape::Fails { times: 2 }, sizes.workflows, 256).await
            }
            "long_chain_5000" => self.long_chain(name, sizes.long_steps).await,
            "sleeping" => self.sleeping(name, sizes.sleeping).await,
            _ => self.crash(name, sizes.open).await,
        }
    }

    pub(crate) async fn open(&self) -> Result<Rig> {
        Rig::open(&self.file(), synchronous(self.sync)).await
    }

    pub(crate) fn file(&self) -> std::path::PathBuf {
        self.folder.join("bench.db")
    }
}

/// What a commit waits for, in the store's words.
pub(crate) fn synchronous(sync: Sync) -> Synchronous {
    match sync {
        Sync::Full => Synchronous::Full,
        Sync::Normal => Synchronous::Normal,
    }
}

/// The workflow that most cases are made of.
pub(crate) const ONE: Shape = Shape::Chain { steps: 1 };
