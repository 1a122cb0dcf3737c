//! Many workflows at once.

use anyhow::Result;

use super::{place::Place, shapes::Shape};
use crate::{
    report::{Counted, Line, ratio, real},
    usage::{self, Stopwatch},
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
        let opened = self.open().await?;
        // Caches fill and threads start before anything is measured.
        opened.run(shape, "warm", concurrency.min(workflows), concurrency).await?;
        usage::reset_peak();
        let (watch, commits) = (Stopwatch::start(), opened.commits());
        let spans = opened.run(shape, "order", workflows, concurrency).await?;
        let counted = Counted {
            workflows,
            steps: workflows * shape.steps(),
            units: workflows,
            elapsed: watch.elapsed(),
            cpu: watch.cpu(),
            commits: opened.commits() - commits,
            spans,
        };
        let steps_per_fsync = ratio(real(counted.steps), real(counted.commits));
        let line = Line::new(case, self.sync.name(), counted, usage::peak_rss_mib());
        opened.close().await?;
        Ok(line.with("steps_per_fsync", steps_per_fsync))
    }
}
