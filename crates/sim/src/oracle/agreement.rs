//! The doors agree with each other: description, history, listing, and what replay makes of it.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{Identity, Run as Rules};
use steadfast_proto::{
    enums::WorkflowExecutionStatus as Status, history::HistoryEvent,
    workflow::WorkflowExecutionInfo, workflowservice as ws,
};

use super::Run;
use crate::{host::Trouble, wire, world::World};

/// Looks at a workflow in the middle of things: if nothing happened between the looks, they agree.
pub(crate) async fn glance(world: &World, workflow_id: &str) {
    let Some(before) = describe(world, workflow_id, "").await else { return };
    let info = before.workflow_execution_info.clone().unwrap_or_default();
    let run_id = info.execution.clone().unwrap_or_default().run_id;
    let Some(events) = history(world, workflow_id, &run_id).await else { return };
    let Some(after) = describe(world, workflow_id, &run_id).await else { return };
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

/// What a workflow looked like just now.
#[derive(Clone, Debug)]
pub(crate) struct Glance {
    workflow_id: String,
    described: ws::DescribeWorkflowExecutionResponse,
}

impl Glance {
    /// Looks.
    pub(crate) async fn at(world: &World, workflow_id: &str) -> Option<Self> {
        let described = describe(world, workflow_id, "").await?;
        Some(Self { workflow_id: workflow_id.to_owned(), described })
    }

    /// Looks again: if nothing has happened to the run, it is the same, also after a restart.
    pub(crate) async fn again(self, world: &World) {
        let run_id = run_id(&self.described);
        let Some(now) = describe(world, &self.workflow_id, &run_id).await else { return };
        if steps(&now) == steps(&self.described) && now != self.described {
            let (before, now) = (self.described, now);
            let what = format!("it was {before:?} and is {now:?}, although nothing happened");
            world.ledger.fault(&self.workflow_id, what);
        }
    }
}

pub(super) fn run_id(described: &ws::DescribeWorkflowExecutionResponse) -> String {
    let info = described.workflow_execution_info.clone().unwrap_or_default();
    info.execution.unwrap_or_default().run_id
}

pub(super) fn steps(described: &ws::DescribeWorkflowExecutionResponse) -> i64 {
    described.workflow_execution_info.as_ref().map_or(0, |info| info.state_transition_count)
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
    if let Some((id, _)) = (1..).zip(events).find(|(id, event)| event.event_id != *id) {
        return Err(format!("event {id} is missing"));
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

/// Lets all activities of a run go on.
pub(crate) async fn unpause(world: &World, workflow_id: &str, run_id: &str) -> Result<(), Trouble> {
    let request = ws::UnpauseActivityRequest {
        namespace: wire::NAMESPACE.to_owned(),
        execution: Some(wire::execution(workflow_id, run_id)),
        activity: Some(ws::unpause_activity_request::Activity::UnpauseAll(true)),
        ..ws::UnpauseActivityRequest::default()
    };
    let answer = world.insist(TRIES, |engine| {
        let request = request.clone();
        async move { engine.unpause_activity(request).await }
    });
    answer.await.map(drop)
}

/// How many runs there are in each group.
pub(super) async fn count(world: &World, query: &str) -> Option<BTreeMap<String, i64>> {
    let request = ws::CountWorkflowExecutionsRequest {
        namespace: wire::NAMESPACE.to_owned(),
        query: query.to_owned(),
    };
    let answer = world.insist(TRIES, |engine| {
        let request = request.clone();
        async move { engine.count_workflow_executions(request).await }
    });
    let groups = answer.await.ok()?.groups.into_iter().map(|group| {
        let value = group.group_values.first();
        let name = value.map(|it| String::from_utf8_lossy(&it.data).trim_matches('"').to_owned());
        (name.unwrap_or_default(), group.count)
    });
    Some(groups.collect())
}

/// The name of a status in a listing.
pub(super) fn status(status: Status) -> String {
    let name = status.as_str_name().trim_start_matches("WORKFLOW_EXECUTION_STATUS_");
    let word = |word: &str| format!("{}{}", &word[..1], word[1..].to_lowercase());
    name.split('_').map(word).collect()
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
pub(crate) async fn history(
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
