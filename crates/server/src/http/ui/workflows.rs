//! Workflows, found by a query.

use axum::response::Response;
use maud::{Markup, html};
use steadfast_engine::Error;
use steadfast_proto::{
    workflow::WorkflowExecutionInfo,
    workflowservice::{ListWorkflowExecutionsRequest, ListWorkflowExecutionsResponse},
};

use super::{
    frame::{Section, rest},
    link, namespaces,
    visit::{Visit, answered},
    words,
};

/// Shows them.
pub(super) async fn show(visit: Visit) -> Response {
    answered(&visit, Section::Workflows, "Workflows", all(&visit).await)
}

async fn all(visit: &Visit) -> Result<Markup, Error> {
    let query = visit.asked("query").unwrap_or_default();
    let (counts, found) = tokio::try_join!(counts(visit), found(visit, query))?;
    let here = link::workflows(&visit.namespace);
    Ok(html! {
        h1 { "Workflows" }
        (search(query))
        (chips(&here, query, &counts))
        @if found.executions.is_empty() {
            p.empty {
                @if query.is_empty() { "Nothing was started here yet." } @else { "No workflow is like that." }
            }
        } @else {
            (table(visit, &found.executions))
        }
        (rest(&here, &[("query", query)], &found.next_page_token, "Older ones"))
    })
}

async fn counts(visit: &Visit) -> Result<Vec<(String, i64)>, Error> {
    let grouped = namespaces::count(visit, &visit.namespace, "GROUP BY ExecutionStatus").await?;
    Ok(grouped.into_iter().filter(|(status, _)| !status.is_empty()).collect())
}

async fn found(visit: &Visit, query: &str) -> Result<ListWorkflowExecutionsResponse, Error> {
    let request = ListWorkflowExecutionsRequest {
        namespace: visit.namespace.clone(),
        page_size: PAGE,
        next_page_token: visit.token("page"),
        query: query.to_owned(),
    };
    visit.engine.list_workflow_executions(request).await
}

fn search(query: &str) -> Markup {
    html! {
        form.search method="get" {
            input type="search" name="query" value=(query) size="60" aria-label="Query"
                placeholder="WorkflowType = 'Order' AND StartTime > '2026-01-31T08:00:00Z'";
            button { "Find" }
        }
    }
}

/// What there is of each status, and those that are failing.
fn chips(here: &str, query: &str, counts: &[(String, i64)]) -> Markup {
    let chip = |name: &str, wanted: &str, count: Option<i64>| {
        let class = if query == wanted { "chip here" } else { "chip" };
        html! {
            a class=(class) href=(link::asking(here, &[("query", wanted)])) {
                (name) @if let Some(count) = count { " " b { (count) } }
            }
        }
    };
    html! {
        p.chips {
            (chip("All", "", None))
            @for (status, count) in counts {
                (chip(status, &format!("ExecutionStatus = '{status}'"), Some(*count)))
            }
            (chip("Retrying", "RetryState = 'retrying'", None))
            (chip("Parked", "RetryState = 'parked'", None))
        }
    }
}

fn table(visit: &Visit, runs: &[WorkflowExecutionInfo]) -> Markup {
    html! {
        table {
            thead { tr { th { "Status" } th { "Workflow" } th { "Type" } th { "Queue" } th { "Started" } th { "Took" } th.number { "Events" } } }
            tbody { @for run in runs { (row(visit, run)) } }
        }
    }
}

fn row(visit: &Visit, run: &WorkflowExecutionInfo) -> Markup {
    let execution = run.execution.clone().unwrap_or_default();
    let kind = run.r#type.as_ref().map_or("", |kind| &kind.name);
    html! {
        tr {
            td { (words::status(run.status)) }
            td { a href=(link::run(&visit.namespace, &execution.workflow_id, &execution.run_id)) { (execution.workflow_id) } }
            td { (kind) }
            td { (run.task_queue) }
            td { (words::moment_of(visit.now, run.start_time.as_ref())) }
            td { (took(visit, run)) }
            // An open one tells its events on its own page.
            td.number { @if run.history_length > 0 { (run.history_length) } }
        }
    }
}

/// How long a run took, or has taken so far.
pub(super) fn took(visit: &Visit, run: &WorkflowExecutionInfo) -> String {
    let Some(start) = run.start_time.as_ref().map(words::instant) else { return String::new() };
    match run.close_time.as_ref().map(words::instant) {
        Some(end) => words::span(end.since(start)),
        None => format!("{} so far", words::span(visit.now.since(start))),
    }
}

/// Workflows on a page.
const PAGE: i32 = 50;
