//! One run: what it is, what fails in it, what it waits for, its attempts and its history.

use axum::response::Response;
use maud::{Markup, html};
use steadfast_engine::Error;
use steadfast_proto::{
    causes::one_line,
    common::WorkflowExecution,
    enums::{PendingActivityState, WorkflowExecutionStatus},
    names::shown,
    taskqueue::TaskQueue,
    waiting::{Side, is_attended, places},
    workflow::{PendingActivityInfo, WorkflowExecutionInfo},
    workflowservice::{
        DescribeTaskQueueRequest, DescribeWorkflowExecutionRequest,
        DescribeWorkflowExecutionResponse,
    },
};
use steadfast_store::{AttemptLog, ErrorEntry, ErrorFilter, Order};

use super::{
    attempts, deeds, errors,
    frame::{Frame, Section, page},
    history::{self, Events},
    link,
    visit::{Visit, refused},
    words, workflows,
};

/// What is known of a run.
#[derive(Debug)]
struct Seen {
    info: WorkflowExecutionInfo,
    execution: WorkflowExecution,
    described: DescribeWorkflowExecutionResponse,
    unattended: Vec<Side>,
    errors: Vec<ErrorEntry>,
    attempts: Vec<AttemptLog>,
    events: Events,
}

/// Shows it.
pub(super) async fn show(visit: Visit) -> Response {
    let seen = match seen(&visit).await {
        Ok(seen) => seen,
        Err(error) => return refused(&visit, &error),
    };
    let is_open = seen.info.status == i32::from(WorkflowExecutionStatus::Running);
    let is_live = is_open && visit.asked("live").is_some();
    let body = html! {
        h1 { (seen.execution.workflow_id) " " (words::status(seen.info.status)) }
        (facts(&visit, &seen))
        @if is_open {
            (live(&visit, &seen.execution, is_live))
            (deeds::stopping(&visit, &seen.execution))
        }
        @if !seen.errors.is_empty() {
            h2 { "What fails" }
            (errors::table(&visit, &seen.errors))
        }
        @if is_open { (waits_for(&visit, &seen)) }
        @if !seen.attempts.is_empty() {
            h2 { "Attempts" }
            @for log in &seen.attempts { (attempts::of(&visit, log)) }
        }
        (history::ends(&seen.events))
        h2 { "History" }
        (history::table(&visit, &seen.execution, &seen.events))
    };
    let (title, section) = (&*seen.execution.workflow_id, Some(Section::Workflows));
    page(Frame { title, namespace: &visit.namespace, section, is_live }, &body)
}

async fn seen(visit: &Visit) -> Result<Seen, Error> {
    let asked = WorkflowExecution {
        workflow_id: visit.part("workflow").to_owned(),
        run_id: visit.part("run").to_owned(),
    };
    let request = DescribeWorkflowExecutionRequest {
        namespace: visit.namespace.clone(),
        execution: Some(asked.clone()),
    };
    let mut described = visit.engine.describe_workflow_execution(request).await?;
    let info = described.workflow_execution_info.take().unwrap_or_default();
    let execution = info.execution.clone().unwrap_or(asked);
    let filter =
        ErrorFilter { workflow_id: Some(execution.workflow_id.clone()), ..ErrorFilter::default() };
    let listed =
        visit.engine.list_errors(&visit.namespace, filter, Order::Backward, None, ERRORS).await?;
    let errors = listed.errors.into_iter().filter(|it| it.identity.run_id == execution.run_id);
    let mut attempts = visit.engine.workflow_attempts(&visit.namespace, &execution).await?;
    if info.close_time.is_some() {
        // What had been decided is not done any more.
        let rows = attempts.iter_mut().flat_map(|log| &mut log.rows);
        rows.for_each(|row| row.next_at = None);
    }
    Ok(Seen {
        errors: errors.collect(),
        attempts,
        events: history::read(visit, &execution, &info).await?,
        unattended: unattended(visit, &info, &described).await?,
        info,
        execution,
        described,
    })
}

/// Where the run waits and no worker comes.
async fn unattended(
    visit: &Visit,
    info: &WorkflowExecutionInfo,
    described: &DescribeWorkflowExecutionResponse,
) -> Result<Vec<Side>, Error> {
    let now = visit.now.nanos().div_euclid(1_000_000_000);
    let mut unattended = Vec::new();
    for place in places(info, described) {
        let request = DescribeTaskQueueRequest {
            namespace: visit.namespace.clone(),
            task_queue: Some(TaskQueue { name: place.queue.clone(), ..TaskQueue::default() }),
            task_queue_type: place.kind.into(),
            ..DescribeTaskQueueRequest::default()
        };
        let queue = visit.engine.describe_task_queue(request).await?;
        if !is_attended(&queue, now) {
            unattended.push(place);
        }
    }
    Ok(unattended)
}

fn facts(visit: &Visit, seen: &Seen) -> Markup {
    let Seen { info, execution, described, .. } = seen;
    let extended = described.workflow_extended_info.as_ref();
    let at = |at: Option<&_>| {
        let time = at.map(|at| words::clock(words::instant(at)));
        html! { (time.unwrap_or_default()) " " span.faint { (words::moment_of(visit.now, at)) } }
    };
    html! {
        dl.facts {
            dt { "Type" } dd { (info.r#type.as_ref().map_or("", |kind| &kind.name)) }
            dt { "Run" } dd { code { (execution.run_id) } }
            dt { "Task queue" } dd { (info.task_queue) }
            dt { "Started" } dd { (at(info.start_time.as_ref())) }
            @if info.close_time.is_some() { dt { "Closed" } dd { (at(info.close_time.as_ref())) } }
            dt { "Took" } dd { (workflows::took(visit, info)) }
            dt { "History" } dd { (info.history_length) " events, " (info.history_size_bytes) " bytes" }
            @if let Some(parent) = &info.parent_execution {
                dt { "Child of" }
                dd { a href=(link::run(&visit.namespace, &parent.workflow_id, &parent.run_id)) { (parent.workflow_id) } }
            }
            @if !info.first_run_id.is_empty() && info.first_run_id != execution.run_id {
                dt { "First run" }
                dd { a href=(link::run(&visit.namespace, &execution.workflow_id, &info.first_run_id)) { code { (info.first_run_id) } } }
            }
            @if extended.is_some_and(|it| it.cancel_requested) { dt { "Cancellation" } dd { "requested" } }
        }
    }
}

/// A run that goes on can be watched.
fn live(visit: &Visit, execution: &WorkflowExecution, is_live: bool) -> Markup {
    let here = link::run(&visit.namespace, &execution.workflow_id, &execution.run_id);
    html! {
        p {
            @if is_live { a.chip.here href=(here) { "Live" } } @else {
                a.chip href=(link::asking(&here, &[("live", "1")])) { "Live" }
            }
        }
    }
}

/// What the run cannot go on without.
fn waits_for(visit: &Visit, seen: &Seen) -> Markup {
    let DescribeWorkflowExecutionResponse { pending_activities, pending_children, .. } =
        &seen.described;
    let task = seen.described.pending_workflow_task.as_ref();
    html! {
        @if !pending_activities.is_empty() {
            h2 { "Activities under way" }
            table {
                thead { tr { th { "Activity" } th { "State" } th.number { "Attempt" } th { "Next" } th { "Heartbeat" } th { "Worker" } th { "Last failure" } } }
                tbody { @for activity in pending_activities { (pending(visit, activity)) } }
            }
        }
        @if !pending_children.is_empty() {
            h2 { "Children under way" }
            ul {
                @for child in pending_children {
                    li {
                        a href=(link::run(&visit.namespace, &child.workflow_id, &child.run_id)) { (child.workflow_id) }
                        " " span.faint { (child.workflow_type_name) }
                    }
                }
            }
        }
        @if let Some(task) = task {
            p {
                "A workflow task waits for its worker since " (words::moment_of(visit.now, task.scheduled_time.as_ref()))
                @if task.attempt > 1 { ", attempt " (task.attempt) }
                "."
            }
        }
        @for place in &seen.unattended { p.odd { "Unattended: " (place.unattended()) "." } }
    }
}

fn pending(visit: &Visit, activity: &PendingActivityInfo) -> Markup {
    let state = PendingActivityState::try_from(activity.state).unwrap_or_default();
    let state = shown(state.as_str_name(), "PENDING_ACTIVITY_STATE_");
    html! {
        tr {
            td { (activity.activity_type.as_ref().map_or("", |kind| &kind.name)) " " span.faint { (activity.activity_id) } }
            td { (words::badge(&state)) }
            td.number { (activity.attempt) @if activity.maximum_attempts > 0 { " of " (activity.maximum_attempts) } }
            td { (words::moment_of(visit.now, activity.next_attempt_schedule_time.as_ref())) }
            td { (words::moment_of(visit.now, activity.last_heartbeat_time.as_ref())) }
            td { (activity.last_worker_identity) }
            td.said { @if let Some(failure) = &activity.last_failure { (words::cut(&one_line(failure), SAID)) } }
        }
    }
}

/// Errors of a run on its page.
const ERRORS: i32 = 100;
/// Characters of a message in a table.
pub(super) const SAID: usize = 300;
