//! Many workflows at once: how many a second, and how many share an fsync.

use anyhow::Result;

use super::Place;
use crate::{
    client,
    report::{Counted, Line, ratio, real},
    shape::Shape,
    usage::{self, Stopwatch},
    worker::{Pollers, Worker},
};

impl Place<'_> {
    pub(super) async fn concurrent(
        &self,
        case: &str,
        shape: Shape,
        workflows: usize,
        concurrency: usize,
    ) -> Result<Line> {
        let workflows = workflows.max(1);
        let rig = self.open().await?;
        let activities = concurrency * shape.steps();
        let worker = Worker::start(&rig.engine, shape, Pollers { tasks: 32, activities }, false);
        // Caches fill and threads start before anything is measured.
        client::run(&rig.engine, "warm", concurrency.min(workflows), concurrency).await?;
        usage::reset_peak();
        let (watch, commits, steps) = (Stopwatch::start(), rig.commits(), worker.steps());
        let spans = client::run(&rig.engine, "order", workflows, concurrency).await?;
        let counted = Counted {
            workflows,
            steps: workflows * shape.steps(),
            units: workflows,
            elapsed: watch.elapsed(),
            cpu: watch.cpu(),
            commits: rig.commits() - commits,
            spans,
        };
        let steps_per_fsync = ratio(real(worker.steps() - steps), real(counted.commits));
        let line = Line::new(case, self.sync.name(), counted, usage::peak_rss_mib());
        drop(worker);
        rig.close().await?;
        Ok(line.with("steps_per_fsync", steps_per_fsync))
    }
}
