//! The doors agree with each other: description, history, listing, and what replay makes of it.

use std::collections::BTreeSet;

use steadfast_core::{Identity, Run as Rules};
use steadfast_proto::{
    history::HistoryEvent, workflow::WorkflowExecutionInfo, workflowservice as ws,
};

use super::Run;
use crate::{wire, world::World};

/// Looks at a workflow in the middle of things: if nothing happened between the looks, they agree.
pub(crate) async fn glance(world: &World, workflow_id: &str) {
    let Some(before) = describe(world, workflow_id, "").await else { return };
    let info = before.workflow_execution_info.clone().unwrap_or_default();
    let run_id = info.execution.clone().unwrap_or_default().run_id;
    let Some(events) = history(world, workflow_id, &run_id).await else { return };
    let Some(after) = describe(world, workflow_id, &run_id).await else { return };
    let steps = |it: &ws::DescribeWorkflowExecutionResponse| {
        it.workflow_execution_info.as_ref().map(|info| info.state_transition_count)
    };
    if steps(&before) != steps(&after) {
        return;
    }
    world.note("glance", &format!("{workflow_id} at event {}", info.history_length));
    if before != after {
        world.ledger.fault(workflow_id, "nothing happened, and its description changed");
    }
    if let Err(what) = compare(&after, &events) {
        world.ledger.fault(workflow_id, what);
    }
}

/// Checks that the doors agree on a run, at the end.
pub(super) fn check(run: &Run, broken: &mut impl FnMut(&Run, String)) {
    if let Err(what) = compare(&run.described, &run.events) {
        broken(run, what);
    }
    let (info, listed) = (run.info(), &run.listed);
    let same = listed.status == info.status
        && listed.start_time == info.start_time
        && listed.close_time == info.close_time
        && listed.execution_time == info.execution_time
        && listed.r#type == info.r#type
        && (run.is_open() || listed.history_length == info.history_length);
    if !same {
        broken(run, format!("it is listed as {listed:?} and described as {info:?}"));
    }
}

/// What replay makes of a history is what the description says.
fn compare(
    described: &ws::DescribeWorkflowExecutionResponse,
    events: &[HistoryEvent],
) -> Result<(), String> {
    let info = described.workflow_execution_info.clone().unwrap_or_default();
    let execution = info.execution.clone().unwrap_or_default();
    let last = events.last().map_or(0, |event| event.event_id);
    if last != info.history_length {
        return Err(format!("{last} events are read and {} are told", info.history_length));
    }
    let identity = Identity {
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        ..Identity::default()
    };
    let replayed = Rules::replay(identity, events);
    if replayed.info().status != info.status {
        return Err(format!("replay makes {:?} of it", replayed.status()));
    }
    // What has ended while a worker has the workflow task is told in the history later.
    let told: BTreeSet<&str> =
        described.pending_activities.iter().map(|it| it.activity_id.as_str()).collect();
    let made = replayed.pending_activities();
    let made: BTreeSet<&str> = made.iter().map(|it| it.activity_id.as_str()).collect();
    let buffered = described.pending_workflow_task.is_some();
    if !(told == made || buffered && told.is_subset(&made)) {
        return Err(format!("activities {told:?} are told and replay makes {made:?}"));
    }
    let told: BTreeSet<i64> = described.pending_children.iter().map(|it| it.initiated_id).collect();
    let made: BTreeSet<i64> =
        replayed.pending_children().iter().map(|it| it.initiated_id).collect();
    if !(told == made || buffered && told.is_subset(&made)) {
        return Err(format!("children {told:?} are told and replay makes {made:?}"));
    }
    Ok(())
}

/// All runs that match a query.
pub(super) async fn list(world: &World, query: &str) -> Vec<WorkflowExecutionInfo> {
    let mut all = Vec::new();
    let mut token = Vec::new();
    loop {
        let request = ws::ListWorkflowExecutionsRequest {
            namespace: wire::NAMESPACE.to_owned(),
            query: query.to_owned(),
            next_page_token: token,
            ..ws::ListWorkflowExecutionsRequest::default()
        };
        let page = world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.list_workflow_executions(request).await }
        });
        let page = match page.await {
            Ok(page) => page,
            Err(trouble) => {
                world.ledger.fault("", format!("a listing failed: {trouble}"));
                return all;
            }
        };
        all.extend(page.executions);
        token = page.next_page_token;
        if token.is_empty() {
            return all;
        }
    }
}

/// What a run is described as; `None` if it is not found or nobody answers.
pub(super) async fn describe(
    world: &World,
    workflow_id: &str,
    run_id: &str,
) -> Option<ws::DescribeWorkflowExecutionResponse> {
    let request = ws::DescribeWorkflowExecutionRequest {
        namespace: wire::NAMESPACE.to_owned(),
        execution: Some(wire::execution(workflow_id, run_id)),
    };
    let look = world.insist(TRIES, |engine| {
        let request = request.clone();
        async move { engine.describe_workflow_execution(request).await }
    });
    look.await.ok()
}

/// The whole history of a run; `None` if it is not found or nobody answers.
pub(super) async fn history(
    world: &World,
    workflow_id: &str,
    run_id: &str,
) -> Option<Vec<HistoryEvent>> {
    let mut events = Vec::new();
    let mut token = Vec::new();
    loop {
        let request = ws::GetWorkflowExecutionHistoryRequest {
            namespace: wire::NAMESPACE.to_owned(),
            execution: Some(wire::execution(workflow_id, run_id)),
            next_page_token: token,
            ..ws::GetWorkflowExecutionHistoryRequest::default()
        };
        let read = world.insist(TRIES, |engine| {
            let request = request.clone();
            async move { engine.get_workflow_execution_history(request).await }
        });
        let page = read.await.ok()?;
        events.extend(page.history.unwrap_or_default().events);
        token = page.next_page_token;
        if token.is_empty() {
            return Some(events);
        }
    }
}

/// How often a reader asks before it gives up.
const TRIES: u32 = 6;
