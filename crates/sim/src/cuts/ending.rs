//! What became of everything in the small world, in words that do not depend on when it happened.

use std::collections::BTreeMap;

use steadfast_proto::history::history_event::Attributes;
use steadfast_store::{ErrorFilter, Order};

use super::story::{JOB, LISTENER, WORKFLOWS};
use crate::{
    oracle::{self, Run, Runs},
    wire,
    world::World,
};

/// How it ended.
pub(super) async fn of(world: &World) -> String {
    let runs = oracle::read(world).await;
    let mut lines = Vec::new();
    for (workflow_id, _) in WORKFLOWS {
        let mut ends: Vec<String> =
            runs.values().filter(|run| run.workflow_id == workflow_id).map(end).collect();
        ends.sort();
        lines.push(format!("{workflow_id}: {}", ends.join(" / ")));
    }
    lines.push(job(world).await);
    lines.extend(resumes(world));
    lines.extend(errors(world).await);
    lines.extend(signals(&runs));
    lines.extend(documents(world));
    let faults = world.ledger.book().faults.clone();
    lines.extend(faults.iter().map(|it| format!("fault: {} {}", it.workflow_id, it.what)));
    lines.join("\n")
}

/// How a run ended, and how its step did.
fn end(run: &Run) -> String {
    let mut words = Vec::new();
    for attributes in run.events.iter().filter_map(|event| event.attributes.as_ref()) {
        match attributes {
            Attributes::ActivityTaskCompletedEventAttributes(_) => {
                words.push("step done".to_owned());
            }
            Attributes::ActivityTaskFailedEventAttributes(_) => {
                words.push("step failed".to_owned());
            }
            Attributes::WorkflowExecutionCompletedEventAttributes(it) => {
                words.push(format!("completed {:?}", wire::text(it.result.as_ref())));
            }
            Attributes::WorkflowExecutionFailedEventAttributes(_) => {
                words.push("failed".to_owned());
            }
            _ => {}
        }
    }
    if words.is_empty() { "open".to_owned() } else { words.join(" ") }
}

async fn job(world: &World) -> String {
    let job =
        world.insist(6, |engine| async move { engine.describe_resume_job(wire::NAMESPACE, JOB) });
    match job.await {
        Ok(it) => format!(
            "job: {:?}, {} of {} resumed, {} refused, {} succeeded, {} failed again",
            it.state, it.resumed, it.total, it.refused, it.succeeded, it.failed
        ),
        Err(trouble) => format!("job: {trouble}"),
    }
}

/// Who resumed how many activities, and the most often that one was.
fn resumes(world: &World) -> Vec<String> {
    let mut by: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for ((_, _, who), times) in world.host.resumes() {
        let (count, most) = by.entry(who).or_default();
        *count += 1;
        *most = (*most).max(times);
    }
    by.into_iter()
        .map(|(who, (count, most))| format!("resumed by {who}: {count}, {most} at most each"))
        .collect()
}

async fn errors(world: &World) -> Vec<String> {
    let errors = world.insist(6, |engine| async move {
        let all = ErrorFilter::default();
        engine.list_errors(wire::NAMESPACE, all, Order::Forward, None, 0).await
    });
    let errors = errors.await.map(|listing| listing.errors).unwrap_or_default();
    let show = |it: &steadfast_store::ErrorEntry| {
        format!("error: {} {}", it.identity.workflow_id, it.row.state.name())
    };
    errors.iter().map(show).collect()
}

/// What the workflow that listens was told: each once.
fn signals(runs: &Runs) -> Vec<String> {
    let listener = runs.values().filter(|run| run.workflow_id == LISTENER);
    let events = listener.flat_map(|run| &run.events).filter_map(|it| it.attributes.as_ref());
    let mut told: Vec<String> = events
        .filter_map(|attributes| {
            let Attributes::WorkflowExecutionSignaledEventAttributes(it) = attributes else {
                return None;
            };
            let payload = it.input.as_ref()?.payloads.first()?;
            let document = serde_json::from_slice(&payload.data).ok()?;
            Some(format!("signal: {}", about(&document)))
        })
        .collect();
    told.sort();
    told
}

/// What whoever is outside was told: each at least once.
fn documents(world: &World) -> Vec<String> {
    let mut told: Vec<String> =
        world.host.heard().iter().map(|it| format!("document: {}", about(it))).collect();
    told.sort();
    told.dedup();
    told
}

fn about(document: &serde_json::Value) -> String {
    let text = |name: &str| document[name].as_str().unwrap_or("?").to_owned();
    format!("{} {}", text("workflowId"), text("event"))
}
