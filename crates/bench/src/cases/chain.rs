//! One workflow, one activity after the other: what a step takes when nothing else goes on.
//!
//! The disk is asked for its own fdatasync time between the chains, because a step that waits for
//! the disk cannot be faster than that, and disks that others use too change from moment to moment.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::Place;
use crate::{
    client, probe,
    report::{Counted, Line, ms, percentile},
    rig::Rig,
    shape::Shape,
    usage::{self, Stopwatch},
    worker::{Pollers, Worker},
};

const STEPS: usize = 100;
/// Times that the disk is asked before each chain.
const PROBES: usize = 20;

impl Place<'_> {
    pub(super) async fn chain(&self, case: &str, chains: usize) -> Result<Line> {
        let rig = self.open().await?;
        run(&rig, "warm", 1, STEPS).await?;
        usage::reset_peak();
        let mut counted = Counted::default();
        let mut disk = Vec::new();
        for number in 0..chains.max(1) {
            disk.extend(probe::fdatasyncs(self.folder, PROBES)?);
            counted.add(run(&rig, &format!("chain-{number}"), 1, STEPS).await?);
        }
        let rss = usage::peak_rss_mib();
        rig.close().await?;
        let disk = ms(percentile(&mut disk, 50));
        let line = Line::new(case, self.sync.name(), counted, rss);
        let over = line.p50_ms - disk;
        Ok(line.with("fdatasync_p50_ms", disk).with("over_fdatasync_ms", over))
    }
}

/// Runs so many chains, one after the other. A unit is a step, from activity to activity.
pub(super) async fn run(rig: &Rig, prefix: &str, chains: usize, steps: usize) -> Result<Counted> {
    let pollers = Pollers { tasks: 2, activities: 2 };
    let worker = Worker::start(&rig.engine, Shape::Chain { steps }, pollers, true);
    let (watch, commits) = (Stopwatch::start(), rig.commits());
    client::run(&rig.engine, prefix, chains, 1).await?;
    let received = worker.received();
    Ok(Counted {
        workflows: chains,
        steps: chains * steps,
        units: chains * steps,
        elapsed: watch.elapsed(),
        cpu: watch.cpu(),
        commits: rig.commits() - commits,
        spans: received.chunks(steps).flat_map(gaps).collect(),
    })
}

/// The times between one moment and the next.
pub(crate) fn gaps(times: &[Instant]) -> impl Iterator<Item = Duration> + '_ {
    times.windows(2).map(|pair| pair[1] - pair[0])
}
