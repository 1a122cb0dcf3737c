//! The table of errors agrees with what runs say of themselves: whatever waits for a resume is in it,
//! and nothing that is settled.

use std::collections::BTreeSet;

use steadfast_proto::{
    enums::WorkflowExecutionStatus as Status,
    workflow::{
        PendingActivityInfo, WorkflowExecutionInfo, pending_activity_info::pause_info::PausedBy,
    },
    workflowservice as ws,
};
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorGroup, ErrorState, Order};

use super::{Run, Runs, agreement};
use crate::{host::Trouble, ledger::Fault, wire, world::World};

/// Looks at the errors of a workflow in the middle of things: if nothing happened to its newest run
/// meanwhile, they are what the run says.
pub(crate) async fn look(world: &World, workflow_id: &str) {
    let Some(before) = agreement::describe(world, workflow_id, "").await else { return };
    let run_id = agreement::run_id(&before);
    let filter =
        ErrorFilter { workflow_id: Some(workflow_id.to_owned()), ..ErrorFilter::default() };
    let Ok(errors) = read(world, filter).await else { return };
    let Some(after) = agreement::describe(world, workflow_id, &run_id).await else { return };
    if agreement::steps(&before) != agreement::steps(&after) {
        return;
    }
    let mut listed = waiting(errors.iter().filter(|error| error.identity.run_id == run_id));
    let mut told = troubled(&after);
    world.note("look", &format!("{workflow_id} has {} errors", listed.len()));
    // What is held back by hand says so, and not whether it is parked besides.
    let held: Vec<_> = after.pending_activities.iter().filter(|it| is_held(it)).collect();
    for all in [&mut listed, &mut told] {
        all.retain(|(id, _)| held.iter().all(|it| it.activity_id != *id));
    }
    if listed != told {
        world.ledger.fault(workflow_id, format!("errors {listed:?} are listed, and {told:?} told"));
    }
}

/// Checks all errors at the end, when all runs have closed. Gives them back.
pub(crate) async fn check(world: &World, runs: &Runs) -> Vec<ErrorEntry> {
    let errors = match read(world, ErrorFilter::default()).await {
        Ok(errors) => errors,
        Err(trouble) => {
            world.ledger.fault("", format!("errors cannot be listed: {trouble}"));
            return Vec::new();
        }
    };
    for error in &errors {
        let workflow_id = &error.identity.workflow_id;
        let Some(run) = runs.get(&error.identity.run_id) else {
            world.ledger.fault(workflow_id, format!("an error of a run that is gone: {error:?}"));
            continue;
        };
        if let Err(what) = judge(run, error) {
            world.ledger.fault(workflow_id, format!("{what}: {error:?}"));
        }
    }
    counts_agree(world, &errors).await;
    errors
}

/// What a restart changed, which it must not.
pub(crate) async fn compare(world: &World, before: &[ErrorEntry]) -> Vec<Fault> {
    let after = read(world, ErrorFilter::default()).await.unwrap_or_default();
    if after == before {
        return Vec::new();
    }
    let what = format!("errors were {before:?} and are {after:?} after a restart");
    vec![Fault { what, workflow_id: String::new() }]
}

/// Whether a closed run may have such an error.
fn judge(run: &Run, error: &ErrorEntry) -> Result<(), &'static str> {
    let status = run.info().status();
    let failed = matches!(status, Status::Failed | Status::TimedOut);
    let may = match error.row.state {
        // Whoever could not be brought to an end was told of already.
        ErrorState::Retrying | ErrorState::Parked => run.is_open(),
        ErrorState::Failed => error.subject == 0 && failed && run.next_run_id().is_none(),
        ErrorState::Dead => error.subject > 0,
    };
    if may { Ok(()) } else { Err("an error that is none") }
}

async fn counts_agree(world: &World, errors: &[ErrorEntry]) {
    let counted = world.insist(TRIES, |engine| async move {
        let all = ErrorFilter::default();
        let count = engine.count_errors(wire::NAMESPACE, all.clone()).await?;
        let groups = engine.group_errors(wire::NAMESPACE, all, ErrorGroup::Activity, 99).await?;
        Ok((count, groups.iter().map(|group| group.count).sum::<u64>()))
    });
    let listed = u64::try_from(errors.len()).unwrap_or(u64::MAX);
    match counted.await {
        Ok(counts) if counts == (listed, listed) => {}
        counts => {
            let what = format!("{listed} errors are listed, and {counts:?} counted");
            world.ledger.fault("", what);
        }
    }
}

/// The activities that wait for their next attempt or for a resume.
fn waiting<'a>(errors: impl Iterator<Item = &'a ErrorEntry>) -> BTreeSet<(String, ErrorState)> {
    let is_waiting = |state| matches!(state, ErrorState::Retrying | ErrorState::Parked);
    errors
        .filter(|error| error.subject > 0 && is_waiting(error.row.state))
        .map(|error| (error.row.activity_id.clone(), error.row.state))
        .collect()
}

/// The same as a description tells it. What a closed run has left behind waits for nothing.
fn troubled(run: &ws::DescribeWorkflowExecutionResponse) -> BTreeSet<(String, ErrorState)> {
    let status = run.workflow_execution_info.as_ref().map(WorkflowExecutionInfo::status);
    if status != Some(Status::Running) {
        return BTreeSet::new();
    }
    let state = |activity: &PendingActivityInfo| {
        if is_parked(activity) {
            return Some(ErrorState::Parked);
        }
        activity.last_failure.as_ref().map(|_| ErrorState::Retrying)
    };
    let activities = run.pending_activities.iter();
    activities.filter_map(|it| Some((it.activity_id.clone(), state(it)?))).collect()
}

fn is_held(activity: &PendingActivityInfo) -> bool {
    activity.pause_info.is_some() && !is_parked(activity)
}

fn is_parked(activity: &PendingActivityInfo) -> bool {
    let by = activity.pause_info.as_ref().and_then(|info| info.paused_by.as_ref());
    matches!(by, Some(PausedBy::Rule(rule)) if rule.rule_id == "parked")
}

/// All errors that match, page by page.
async fn read(world: &World, filter: ErrorFilter) -> Result<Vec<ErrorEntry>, Trouble> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page =
            world.insist(TRIES, |engine| {
                let filter = filter.clone();
                async move {
                    engine.list_errors(wire::NAMESPACE, filter, Order::Forward, after, 0).await
                }
            });
        let page = page.await?;
        all.extend(page.errors);
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
    }
}

/// How often a reader asks before it gives up.
const TRIES: u32 = 6;
