//! Many failures at once: how fast they are matched and parked, how long it takes to look at them,
//! and whether a bulk resume keeps its pace.

mod matching;
mod resuming;
mod views;

use std::time::Duration;

use anyhow::Result;
use steadfast_engine::failures::{EndingSetting, Settings, Who};
use steadfast_retry::Ending;
use steadfast_store::ErrorFilter;

use crate::{
    args::{FailuresPlan, make_dir},
    cases::synchronous,
    client,
    report::{Counted, Line},
    rig::Rig,
    shape::{Shape, number},
    usage::{self, Stopwatch, pause},
    worker::{NAMESPACE, Pollers, Worker},
};

/// What a case is to show: its name, a field of its line, and the most that this may be.
const WANTED: [(&str, &str, f64); 8] = [
    (matching::MATCHING, "p50_us", 20.0),
    ("view_page", "p50_ms", 100.0),
    ("view_parked", "p50_ms", 100.0),
    ("view_by_type", "p50_ms", 100.0),
    ("view_by_activity", "p50_ms", 100.0),
    ("view_by_cause", "p50_ms", 100.0),
    ("view_by_fingerprint", "p50_ms", 100.0),
    (resuming::RESUMING, "rate_off_percent", 5.0),
];

/// Runs all cases, on one file, and tells what each found as soon as it has.
pub async fn run(plan: &FailuresPlan, tell: &mut (dyn FnMut(&Line) + Send)) -> Result<Vec<Line>> {
    make_dir(&plan.dir)?;
    let mut lines = Vec::new();
    let mut found = |line: Line| {
        tell(&line);
        lines.push(line);
    };
    found(matching::run(plan)?);
    let folder = tempfile::Builder::new().prefix("steadfast-bench-").tempdir_in(&plan.dir)?;
    let rig = Rig::open(&folder.path().join("bench.db"), synchronous(plan.sync)).await?;
    let pollers = Pollers { tasks: 32, activities: 256 };
    let worker = Worker::start(&rig.engine, Shape::Troubled, pollers, false);
    found(park(plan, &rig).await?);
    for line in views::run(plan, &rig.engine).await? {
        found(line);
    }
    found(resuming::run(plan, &rig, &worker).await?);
    drop(worker);
    rig.close().await?;
    Ok(lines)
}

/// What was wanted of the cases, what was found, and whether that is good.
pub fn wanted(lines: &[Line]) -> serde_json::Value {
    let mut all = serde_json::Map::new();
    for (case, field, most) in WANTED {
        let line = lines.iter().find(|line| line.case == case);
        if let Some(found) = line.and_then(|line| serde_json::json!(line)[field].as_f64()) {
            let entry = serde_json::json!({ "found": found, "most": most, "good": found <= most });
            all.insert(format!("{case}_{field}"), entry);
        }
    }
    serde_json::json!({ "wanted": all })
}

/// Starts workflows whose activity fails for good, which parks it.
async fn park(plan: &FailuresPlan, rig: &Rig) -> Result<Line> {
    let setting = EndingSetting {
        workflow_type: None,
        activity: None,
        ending: Ending::Park,
        ttl: None,
        then: Ending::Fail,
    };
    let settings = Settings { endings: vec![setting], ..Settings::default() };
    rig.engine.set_failure_settings(NAMESPACE, settings, Who::default()).await?;
    usage::reset_peak();
    let (watch, commits) = (Stopwatch::start(), rig.commits());
    let engine = rig.engine.clone();
    let each = move |id: String| {
        let engine = engine.clone();
        async move {
            let name = format!("Order{}", number(&id) % TYPES);
            client::start_as(&engine, &id, &name).await.map(drop)
        }
    };
    client::for_all("order", plan.errors, 256, each).await?;
    let all = u64::try_from(plan.errors)?;
    while rig.engine.count_errors(NAMESPACE, ErrorFilter::default()).await? < all {
        pause(Duration::from_millis(20)).await;
    }
    let counted = Counted {
        workflows: plan.errors,
        steps: plan.errors,
        units: plan.errors,
        elapsed: watch.elapsed(),
        cpu: watch.cpu(),
        commits: rig.commits() - commits,
        spans: Vec::new(),
    };
    Ok(Line::new("park", plan.sync.name(), counted, usage::peak_rss_mib()))
}

/// How many types of workflows there are.
const TYPES: usize = 10;
