//! Workflows that sleep: they cost disk, not memory, and a restart does not read them all.

use anyhow::Result;

use super::{ONE, Place};
use crate::{
    client,
    report::{Counted, Line},
    shape::Shape,
    usage::{self, Stopwatch, pause},
    worker::{Pollers, Worker},
};

impl Place<'_> {
    pub(super) async fn sleeping(&self, case: &str, workflows: usize) -> Result<Line> {
        let rig = self.open().await?;
        usage::reset_peak();
        let pollers = Pollers { tasks: 32, activities: 1 };
        let worker = Worker::start(&rig.engine, Shape::Sleep, pollers, false);
        let (watch, commits) = (Stopwatch::start(), rig.commits());
        client::start_all(&rig.engine, "sleeper", workflows, 256).await?;
        while worker.tasks() < workflows {
            pause(std::time::Duration::from_millis(1)).await;
        }
        let mut counted = Counted {
            workflows,
            steps: workflows,
            units: workflows,
            elapsed: watch.elapsed(),
            cpu: watch.cpu(),
            commits: rig.commits() - commits,
            spans: Vec::new(),
        };
        let held = usage::rss_mib();
        drop(worker);
        rig.close().await?;
        let (restart, after) = self.restart().await?;
        counted.spans.push(restart.elapsed());
        let line = Line::new(case, self.sync.name(), counted, usage::peak_rss_mib());
        Ok(line
            .with("held_rss_mib", held)
            .with("restarted_rss_mib", after)
            .with("restart_s", restart.elapsed().as_secs_f64()))
    }

    /// Opens the file again and serves: a new workflow runs to its end.
    async fn restart(&self) -> Result<(Served, f64)> {
        let watch = Stopwatch::start();
        let rig = self.open().await?;
        let worker = Worker::start(&rig.engine, ONE, Pollers { tasks: 1, activities: 1 }, false);
        client::run(&rig.engine, "first", 1, 1).await?;
        let served = Served(watch.elapsed());
        let after = usage::rss_mib();
        drop(worker);
        rig.close().await?;
        Ok((served, after))
    }
}

struct Served(std::time::Duration);

impl Served {
    fn elapsed(&self) -> std::time::Duration {
        self.0
    }
}
