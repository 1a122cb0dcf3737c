//! `workflow describe`: everything about one run.

use anyhow::Result;
use jiff::Timestamp;
use steadfast_proto::{
    enums::{ParentClosePolicy, PendingActivityState, PendingWorkflowTaskState},
    waiting::{Side, is_attended, places},
    workflow::{
        PendingActivityInfo, PendingChildExecutionInfo, pending_activity_info::pause_info::PausedBy,
    },
    workflowservice::{DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse},
};

use super::list::status;
use crate::{
    client::Client,
    names,
    output::{Card, Table, View, cut, one_line, show, show_all},
    target::One,
    task_queue, time,
};

/// What can be said to `describe`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: One,
}

/// `workflow describe`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let described = describe(&args.run, client).await?;
    let now = Timestamp::now();
    let mut unattended = Vec::new();
    if !view.is_json() {
        unattended = places_unattended(&described, client, now).await;
    }
    view.answer(&described, |described| text(described, &unattended, now))
}

/// What the server tells about a run.
pub(crate) async fn describe(
    run: &One,
    client: &Client,
) -> Result<DescribeWorkflowExecutionResponse> {
    let request = DescribeWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        execution: Some(run.execution()),
    };
    client.answer(client.workflow.clone().describe_workflow_execution(request)).await
}

/// Where the run waits and nobody comes. Servers that do not tell who does are believed to have somebody.
async fn places_unattended(
    described: &DescribeWorkflowExecutionResponse,
    client: &Client,
    now: Timestamp,
) -> Vec<Side> {
    let mut unattended = Vec::new();
    let Some(info) = &described.workflow_execution_info else { return unattended };
    for place in places(info, described) {
        let asked = task_queue::describe(&place.queue, place.kind, client).await;
        if asked.is_ok_and(|queue| !is_attended(&queue, now.as_second())) {
            unattended.push(place);
        }
    }
    unattended
}

fn text(
    described: &DescribeWorkflowExecutionResponse,
    unattended: &[Side],
    now: Timestamp,
) -> String {
    let mut card = run_card(described, now);
    for place in unattended {
        card.line("Unattended", place.unattended());
    }
    let mut text = card.text();
    let info = described.workflow_execution_info.as_ref();
    // Nobody works any more on what a closed run had pending.
    let closed = info.is_some_and(|info| info.close_time.is_some());
    let how = if closed { "Left behind," } else { "Pending" };
    let pending = |what: &str| format!("\n{how} {what}:\n");
    if !described.pending_activities.is_empty() {
        text.push_str(&pending("activities"));
        for pending in &described.pending_activities {
            text.push_str(&activity_card(pending, now).indented("  "));
            text.push('\n');
        }
    }
    if !described.pending_children.is_empty() {
        text.push_str(&pending("children"));
        text.push_str(&children(&described.pending_children));
    }
    text
}

fn run_card(described: &DescribeWorkflowExecutionResponse, now: Timestamp) -> Card {
    let mut card = Card::default();
    let info = described.workflow_execution_info.clone().unwrap_or_default();
    let execution = info.execution.unwrap_or_default();
    card.line("Workflow id", execution.workflow_id)
        .line("Run id", execution.run_id)
        .line("Type", info.r#type.unwrap_or_default().name)
        .line("Status", status(info.status))
        .line("Task queue", info.task_queue)
        .line("Started", time::relative(info.start_time.as_ref(), now))
        .line("Closed", time::relative(info.close_time.as_ref(), now))
        .line(
            "History",
            format!("{} events, {} bytes", info.history_length, info.history_size_bytes),
        )
        .line("Parent", info.parent_execution.unwrap_or_default().workflow_id);
    let extended = described.workflow_extended_info.clone().unwrap_or_default();
    if extended.cancel_requested {
        card.line("Cancel", "requested");
    }
    card.line("Ends by", time::relative(extended.run_expiration_time.as_ref(), now));
    for (name, payload) in sorted(info.memo.unwrap_or_default().fields) {
        card.line("Memo", format!("{name} = {}", show(&payload)));
    }
    for (name, payload) in sorted(info.search_attributes.unwrap_or_default().indexed_fields) {
        card.line("Search attribute", format!("{name} = {}", show(&payload)));
    }
    if let Some(task) = &described.pending_workflow_task {
        let state = PendingWorkflowTaskState::try_from(task.state).unwrap_or_default();
        let state = names::shown(state.as_str_name(), "PENDING_WORKFLOW_TASK_STATE_");
        let since = time::relative(task.scheduled_time.as_ref(), now);
        card.line("Workflow task", format!("{state}, attempt {}, scheduled {since}", task.attempt));
    }
    card
}

fn activity_card(pending: &PendingActivityInfo, now: Timestamp) -> Card {
    let mut card = Card::default();
    card.line("Activity", name(pending))
        .line("State", state(pending))
        .line("Attempt", attempt(pending))
        .line("Last failure", pending.last_failure.as_ref().map(one_line).unwrap_or_default())
        .line("Last started", time::relative(pending.last_started_time.as_ref(), now))
        .line("Next attempt", time::relative(pending.next_attempt_schedule_time.as_ref(), now))
        .line("Expires", time::relative(pending.expiration_time.as_ref(), now))
        .line("Heartbeat", time::relative(pending.last_heartbeat_time.as_ref(), now))
        .line("Details", cut(&show_all(pending.heartbeat_details.as_ref()), 100))
        .line("Worker", pending.last_worker_identity.clone())
        .line("Paused by", paused_by(pending));
    card
}

/// Pending activities, one a line.
pub(crate) fn activities_table(all: &[PendingActivityInfo]) -> String {
    let now = Timestamp::now();
    let mut table =
        Table::new(["ACTIVITY ID", "TYPE", "STATE", "ATTEMPT", "NEXT ATTEMPT", "LAST FAILURE"]);
    for pending in all {
        let failure = pending.last_failure.as_ref().map(one_line).unwrap_or_default();
        table.row([
            pending.activity_id.clone(),
            pending.activity_type.clone().unwrap_or_default().name,
            state(pending),
            attempt(pending),
            time::relative(pending.next_attempt_schedule_time.as_ref(), now),
            cut(&failure, 100),
        ]);
    }
    table.text_or("no pending activities")
}

fn name(pending: &PendingActivityInfo) -> String {
    let kind = pending.activity_type.clone().unwrap_or_default().name;
    format!("{kind} {}", pending.activity_id)
}

fn state(pending: &PendingActivityInfo) -> String {
    let state = PendingActivityState::try_from(pending.state).unwrap_or_default();
    let state = names::shown(state.as_str_name(), "PENDING_ACTIVITY_STATE_");
    if pending.paused && state != "Paused" { format!("{state}, paused") } else { state }
}

fn attempt(pending: &PendingActivityInfo) -> String {
    match pending.maximum_attempts {
        0 => pending.attempt.to_string(),
        most => format!("{} of {most}", pending.attempt),
    }
}

fn paused_by(pending: &PendingActivityInfo) -> String {
    let by = pending.pause_info.as_ref().and_then(|info| info.paused_by.as_ref());
    let (who, why) = match by {
        Some(PausedBy::Manual(it)) => (it.identity.as_str(), it.reason.as_str()),
        Some(PausedBy::Rule(it)) => (it.rule_id.as_str(), it.reason.as_str()),
        None => return String::new(),
    };
    if why.is_empty() { who.to_owned() } else { format!("{who}: {why}") }
}

fn children(all: &[PendingChildExecutionInfo]) -> String {
    let mut table = Table::new(["WORKFLOW ID", "TYPE", "RUN ID", "WHEN THE PARENT CLOSES"]);
    for child in all {
        let policy = ParentClosePolicy::try_from(child.parent_close_policy).unwrap_or_default();
        table.row([
            child.workflow_id.clone(),
            child.workflow_type_name.clone(),
            child.run_id.clone(),
            names::shown(policy.as_str_name(), "PARENT_CLOSE_POLICY_"),
        ]);
    }
    table.text_or("")
}

/// In the order of their names: maps have none.
fn sorted<T>(map: impl IntoIterator<Item = (String, T)>) -> Vec<(String, T)> {
    let mut all: Vec<_> = map.into_iter().collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}
