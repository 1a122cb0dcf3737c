//! One workflow, one activity after the other: what a step takes beside the disk, and whether a late
//! one takes longer than an early one.

use anyhow::Result;
use steadfast::{App, Client};

use super::{
    place::Place,
    shapes::{self, Times, chain},
};
use crate::{
    cases::{ends, gaps},
    probe,
    report::{Counted, Line, ms, percentile, ratio},
    usage::{self, Stopwatch},
};

const STEPS: usize = 100;
/// Times that the disk is asked before each chain.
const PROBES: usize = 20;

impl Place<'_> {
    pub(super) async fn chain(&self, case: &str, chains: usize) -> Result<Line> {
        let opened = self.open().await?;
        run(opened.client(), &opened.times, STEPS).await?;
        usage::reset_peak();
        let mut counted = Counted::default();
        let mut disk = Vec::new();
        for _ in 0..chains.max(1) {
            disk.extend(probe::fdatasyncs(self.folder, PROBES)?);
            let commits = opened.commits();
            let chain = run(opened.client(), &opened.times, STEPS).await?;
            counted.add(Counted { commits: opened.commits() - commits, ..chain });
        }
        let rss = usage::peak_rss_mib();
        opened.close().await?;
        let disk = ms(percentile(&mut disk, 50));
        let line = Line::new(case, self.sync.name(), counted, rss);
        let over = line.p50_ms - disk;
        Ok(line.with("fdatasync_p50_ms", disk).with("over_fdatasync_ms", over))
    }
}

/// A long chain in memory, where no disk hides what a step costs. The workflow stays in the worker's
/// cache, so its history is not read again.
pub(super) async fn cached(case: &str, steps: usize) -> Result<Line> {
    let times = Times::default();
    let app = shapes::register(App::builder("memory:"), &times).start().await?;
    run(app.client(), &times, steps.min(STEPS)).await?;
    usage::reset_peak();
    let counted = run(app.client(), &times, steps.max(2)).await?;
    let rss = usage::peak_rss_mib();
    app.shutdown().await;
    let (early, late) = ends(&counted.spans);
    Ok(Line::new(case, "none", counted, rss)
        .with("early_step_ms", early)
        .with("late_step_ms", late)
        .with("late_to_early", ratio(late, early)))
}

/// Runs one chain. A unit is a step, from activity to activity.
async fn run(client: &Client, times: &Times, steps: usize) -> Result<Counted> {
    times.take();
    let watch = Stopwatch::start();
    client.start(chain, steps).await?.result().await?;
    Ok(Counted {
        workflows: 1,
        steps,
        units: steps,
        elapsed: watch.elapsed(),
        cpu: watch.cpu(),
        commits: 0,
        spans: gaps(&times.take()).collect(),
    })
}
