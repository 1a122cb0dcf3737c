//! A process is killed with open workflows; the next one completes them all.
//!
//! When the victim dies, about half of its workflows have their activity waiting in the queue and
//! the others their first workflow task.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use steadfast_proto::workflowservice::CountWorkflowExecutionsRequest;

use super::{ONE, Place, synchronous};
use crate::{
    args::Sync,
    client,
    report::{Counted, Line, real},
    rig::Rig,
    usage::{self, Stopwatch, pause},
    worker::{NAMESPACE, Pollers, Worker},
};

/// The line by which a victim says that everything it promised is durable.
const READY: &str = "ready";

impl Place<'_> {
    pub(super) async fn crash(&self, case: &str, workflows: usize) -> Result<Line> {
        let mut child = spawn(&self.file(), workflows, self.sync)?;
        let said = wait(&mut child);
        child.kill()?;
        child.wait()?;
        said?;
        usage::reset_peak();
        let watch = Stopwatch::start();
        let rig = self.open().await?;
        let (opened, commits) = (watch.elapsed(), rig.commits());
        ensure!(running(&rig).await? == whole(workflows), "workflows were lost in the crash");
        let pollers = Pollers { tasks: 32, activities: 256 };
        let worker = Worker::start(&rig.engine, ONE, pollers, false);
        while running(&rig).await? > 0 {
            pause(Duration::from_millis(100)).await;
        }
        let counted = Counted {
            workflows,
            steps: workflows,
            units: workflows,
            elapsed: watch.elapsed(),
            cpu: watch.cpu(),
            commits: rig.commits() - commits,
            spans: vec![watch.elapsed()],
        };
        let line = Line::new(case, self.sync.name(), counted, usage::peak_rss_mib());
        ensure!(worker.closed() >= workflows, "some workflows were never completed");
        drop(worker);
        rig.close().await?;
        Ok(line.with("open_s", opened.as_secs_f64()).with("completed", real(workflows)))
    }
}

/// Starts workflows, says so, and works on until it is killed.
pub async fn victim(file: &Path, workflows: usize, sync: Sync) -> Result<()> {
    let rig = Rig::open(file, synchronous(sync)).await?;
    client::start_all(&rig.engine, "order", workflows, 256).await?;
    let worker = Worker::start(&rig.engine, ONE, Pollers { tasks: 32, activities: 0 }, false);
    while worker.tasks() < workflows / 2 {
        pause(Duration::from_millis(1)).await;
    }
    let mut out = std::io::stdout();
    writeln!(out, "{READY}")?;
    out.flush()?;
    loop {
        pause(Duration::from_secs(1)).await;
    }
}

fn spawn(file: &Path, workflows: usize, sync: Sync) -> Result<Child> {
    let program = std::env::var_os("CARGO_BIN_EXE_steadfast-bench").map_or_else(
        || std::env::current_exe().context("the path of this program"),
        |path| Ok(path.into()),
    )?;
    let mut command = Command::new(program);
    command.arg("victim").arg(file).arg(workflows.to_string());
    command.args(["--sync", sync.name()]).stdout(Stdio::piped());
    Ok(command.spawn()?)
}

fn wait(child: &mut Child) -> Result<()> {
    let out = child.stdout.take().context("the victim has an output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    ensure!(line.trim() == READY, "the victim died by itself");
    Ok(())
}

async fn running(rig: &Rig) -> Result<i64> {
    let request = CountWorkflowExecutionsRequest {
        namespace: NAMESPACE.to_owned(),
        query: "ExecutionStatus = 'Running'".to_owned(),
    };
    Ok(rig.engine.count_workflow_executions(request).await?.count)
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
