//! Bulk resumes end, and take each error once; whoever wants to hear of what was parked has.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_engine::failures::{JobProgress, JobState};
use steadfast_proto::history::history_event::Attributes;

use super::{Run, Runs};
use crate::{scenario::Part, wire, world::World};

/// Checks what a foreman has begun and what the hook has heard, once nothing happens any more.
pub(crate) async fn check(world: &World, runs: &Runs) {
    if !world.has(Part::Foreman) {
        return;
    }
    let jobs = world.insist(6, |engine| async move { engine.list_resume_jobs(wire::NAMESPACE) });
    for job in jobs.await.unwrap_or_default() {
        if let Err(what) = judge(&job) {
            world.ledger.fault("", format!("{what}: {job:?}"));
        }
    }
    for ((run, subject, by), times) in world.host.resumes() {
        if by.starts_with("job-") && times != 1 {
            world.ledger.fault("", format!("{by} has resumed {run}-{subject} {times} times"));
        }
    }
    for ((by, base), times) in resets(runs) {
        if by.starts_with("job-") && times != 1 {
            world.ledger.fault("", format!("{by} has had {base} go on {times} times"));
        }
    }
    all_is_told(world, runs).await;
}

fn judge(job: &JobProgress) -> Result<(), &'static str> {
    match job.state {
        JobState::Running | JobState::Paused => Err("a job does not end"),
        JobState::Completed if job.resumed + job.refused != job.total => {
            Err("a job is done and not all had their turn")
        }
        JobState::Completed | JobState::Stopped | JobState::TooManyFailures => {
            let is_sound = job.resumed + job.refused <= job.total;
            if is_sound { Ok(()) } else { Err("a job had more turns than errors") }
        }
    }
}

/// How often each run was reset by each who did.
fn resets(runs: &Runs) -> BTreeMap<(String, String), usize> {
    let mut resets = BTreeMap::new();
    for run in runs.values() {
        // A run has the resets of those before it in its history, too: the last one is its own.
        let own = run.attributes().filter_map(|(_, attributes)| reset(attributes)).last();
        if let Some((by, base)) = own {
            *resets.entry((by.to_owned(), base.to_owned())).or_default() += 1;
        }
    }
    resets
}

fn reset(attributes: &Attributes) -> Option<(&str, &str)> {
    let Attributes::WorkflowTaskFailedEventAttributes(it) = attributes else { return None };
    (!it.base_run_id.is_empty()).then_some((it.identity.as_str(), it.base_run_id.as_str()))
}

/// Whatever an attempt was parked by was told to whoever wants to hear of it.
async fn all_is_told(world: &World, runs: &Runs) {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let told: BTreeSet<(String, String)> = world
        .host
        .heard()
        .iter()
        .filter(|told| told["event"] == "parked")
        .map(|told| (text(&told["runId"]), text(&told["activityId"])))
        .collect();
    for run in runs.values() {
        for activity_id in parked(world, run).await {
            if !told.contains(&(run.id.clone(), activity_id.clone())) {
                let what = format!("{} {activity_id} was parked, and nobody was told", run.id);
                world.ledger.fault(&run.workflow_id, what);
            }
        }
    }
}

/// The activities of a run that were parked when an attempt failed, and still were when that step
/// was done: one whose run ends in the same step waits for nobody.
async fn parked(world: &World, run: &Run) -> BTreeSet<String> {
    let execution = wire::execution(&run.workflow_id, &run.id);
    let logs = world.insist(4, |engine| {
        let execution = execution.clone();
        async move { engine.workflow_attempts(wire::NAMESPACE, &execution).await }
    });
    let logs = logs.await.unwrap_or_default();
    let rows = logs.into_iter().flat_map(|log| log.rows);
    let closed_at = run.events.last().filter(|_| !run.is_open());
    let closed_at = closed_at.map(|event| wire::instant(event.event_time.as_ref()));
    rows.filter(|row| row.parked && row.activity > 0 && Some(row.ended_at) != closed_at)
        .map(|row| row.activity_id)
        .collect()
}
