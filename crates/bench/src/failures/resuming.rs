//! A bulk resume of one type of workflow, at a chosen pace.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use steadfast_engine::failures::{JobOrder, JobRate, JobState, NewResumeJob, Resume, Selection};
use steadfast_store::ErrorFilter;

use crate::{
    args::FailuresPlan,
    report::{Counted, Line, ratio, real},
    rig::Rig,
    usage::{self, Stopwatch, now, pause},
    worker::{NAMESPACE, Worker},
};

/// The name of the case.
pub(super) const RESUMING: &str = "bulk_resume";

/// Resumes the errors of one type, and watches how fast it goes.
pub(super) async fn run(plan: &FailuresPlan, rig: &Rig, worker: &Worker) -> Result<Line> {
    let rate = f64::from(plan.rate);
    let filter = ErrorFilter { workflow_type: Some("Order0".to_owned()), ..ErrorFilter::default() };
    let new = NewResumeJob {
        id: "bench".to_owned(),
        selection: Selection::Matching(filter),
        resume: Resume::default(),
        canary: 0,
        rate: JobRate::Fixed(rate),
        max_failures: 1.0,
        order: JobOrder::Oldest,
    };
    usage::reset_peak();
    let (steps, commits) = (worker.steps(), rig.commits());
    let job = rig.engine.start_resume_job(NAMESPACE, new).await?;
    let watch = Stopwatch::start();
    let seen = watched(rig, job.total).await?;
    let ended = rig.engine.describe_resume_job(NAMESPACE, "bench")?;
    ensure!(ended.state == JobState::Completed, "the job is {:?}", ended.state);
    let units = usize::try_from(ended.resumed)?;
    let counted = Counted {
        workflows: units,
        steps: worker.steps() - steps,
        units,
        elapsed: watch.elapsed(),
        cpu: watch.cpu(),
        commits: rig.commits() - commits,
        spans: Vec::new(),
    };
    let found = pace(&seen);
    let line = Line::new(RESUMING, plan.sync.name(), counted, usage::peak_rss_mib());
    Ok(line
        .with("wanted_per_s", rate)
        .with("resumed_per_s", found)
        .with("rate_off_percent", (found - rate).abs() / rate * 100.0))
}

/// How many were resumed when, until all are and have settled.
async fn watched(rig: &Rig, total: u64) -> Result<Vec<(Instant, u64)>> {
    let mut seen: Vec<(Instant, u64)> = Vec::new();
    loop {
        let job = rig.engine.describe_resume_job(NAMESPACE, "bench")?;
        if seen.last().is_none_or(|(_, resumed)| *resumed < job.resumed) {
            seen.push((now(), job.resumed));
        }
        if job.state != JobState::Running {
            ensure!(job.resumed == total, "{} of {total} were resumed", job.resumed);
            return Ok(seen);
        }
        pause(Duration::from_millis(2)).await;
    }
}

/// How many were resumed a second, from the first that were to the last.
fn pace(seen: &[(Instant, u64)]) -> f64 {
    let (Some((began, first)), Some((ended, last))) = (seen.get(1), seen.last()) else {
        return 0.0;
    };
    ratio(real(last - first), ended.duration_since(*began).as_secs_f64())
}
