//! The log of attempts tells every attempt, once, and the last one as the history tells it.

use std::collections::BTreeMap;

use steadfast_core::failure::WORKER_LOST;
use steadfast_proto::history::history_event::Attributes;
use steadfast_store::{AttemptLog, AttemptOutcome};

use super::{Run, Runs};
use crate::{ledger::Attempt, wire, world::World};

/// Checks the attempts of all activities that completed.
pub(crate) async fn check(world: &World, runs: &Runs) {
    for run in runs.values().filter(|run| !run.is_reset()) {
        for (scheduled, attempt) in completed(run) {
            let Some(log) = read(world, run, scheduled).await else { continue };
            if let Err(what) = judge(&log, attempt) {
                let what = format!("{} activity {scheduled}: {what}", run.id);
                world.ledger.fault(&run.workflow_id, what);
            }
        }
    }
}

/// Checks the attempts whose worker died before it had an answer: whatever they ended as, it was not
/// what the worker said.
pub(crate) async fn check_lost(world: &World, runs: &Runs) {
    let lost = world.ledger.book().lost.clone();
    for Attempt { run_id, activity_id, number } in lost {
        let Some(run) = runs.get(&run_id) else { continue };
        let Some(scheduled) = scheduled(run, &activity_id) else { continue };
        let Some(log) = read(world, run, scheduled).await else { continue };
        let Some(row) = log.rows.iter().find(|row| row.attempt == number) else { continue };
        let may = match row.outcome {
            AttemptOutcome::Completed => false,
            AttemptOutcome::Failed => row.error_type == WORKER_LOST,
            AttemptOutcome::TimedOut | AttemptOutcome::Cancelled => true,
        };
        if !may {
            let (outcome, kind) = (row.outcome, &row.error_type);
            let what = format!("{activity_id} #{number} was lost, and told {outcome:?} {kind}");
            world.ledger.fault(&run.workflow_id, what);
        }
    }
}

/// The event that scheduled an activity.
fn scheduled(run: &Run, activity_id: &str) -> Option<i64> {
    run.attributes().find_map(|(id, it)| match it {
        Attributes::ActivityTaskScheduledEventAttributes(it) => {
            (it.activity_id == activity_id).then_some(id)
        }
        _ => None,
    })
}

/// Which activities completed, and at which attempt.
fn completed(run: &Run) -> BTreeMap<i64, u32> {
    let mut started = BTreeMap::new();
    let mut completed = BTreeMap::new();
    for (_, attributes) in run.attributes() {
        match attributes {
            Attributes::ActivityTaskStartedEventAttributes(it) => {
                started.insert(it.scheduled_event_id, u32::try_from(it.attempt).unwrap_or(0));
            }
            Attributes::ActivityTaskCompletedEventAttributes(it) => {
                let attempt = started.get(&it.scheduled_event_id).copied().unwrap_or(0);
                completed.insert(it.scheduled_event_id, attempt);
            }
            _ => {}
        }
    }
    completed
}

fn judge(log: &AttemptLog, attempt: u32) -> Result<(), String> {
    // What succeeds at once has nothing to tell that the history does not.
    if attempt == 1 && log.rows.is_empty() {
        return Ok(());
    }
    let told: Vec<u32> = log.rows.iter().map(|row| row.attempt).collect();
    if log.dropped.is_empty() && told != (1..=attempt).collect::<Vec<_>>() {
        return Err(format!("{attempt} attempts were made, and {told:?} are told"));
    }
    match log.rows.last().map(|row| row.outcome) {
        Some(AttemptOutcome::Completed) => Ok(()),
        other => Err(format!("it completed, and its last attempt {other:?}")),
    }
}

async fn read(world: &World, run: &Run, scheduled: i64) -> Option<AttemptLog> {
    let execution = wire::execution(&run.workflow_id, &run.id);
    let read = world.insist(4, |engine| {
        let execution = execution.clone();
        async move { engine.activity_attempts(wire::NAMESPACE, &execution, scheduled).await }
    });
    read.await.ok()
}
