//! Workers that tell of themselves: where they are, what they work for.

use axum::response::Response;
use maud::{Markup, html};
use steadfast_engine::Error;
use steadfast_proto::{
    names::shown,
    worker::WorkerListInfo,
    workflowservice::{ListWorkersRequest, ListWorkersResponse},
};

use super::{
    frame::{Section, rest},
    link,
    visit::{Visit, answered},
    words,
};

/// Shows them.
pub(super) async fn show(visit: Visit) -> Response {
    answered(&visit, Section::Workers, "Workers", all(&visit).await)
}

async fn all(visit: &Visit) -> Result<Markup, Error> {
    let found = found(visit).await?;
    Ok(html! {
        h1 { "Workers" }
        @if found.workers.is_empty() {
            p.empty {
                "No worker has told of itself in the last minutes. They do once a minute, those of older SDKs never; "
                code { "steadfast task-queue describe" } " knows who polls a queue."
            }
        } @else {
            table {
                thead { tr { th { "Status" } th { "Worker" } th { "Queue" } th { "SDK" } th { "Host" } th { "Process" } th { "Started" } } }
                tbody { @for worker in &found.workers { (line(visit, worker)) } }
            }
        }
        (rest(&link::workers(&visit.namespace), &[], &found.next_page_token, "More"))
    })
}

async fn found(visit: &Visit) -> Result<ListWorkersResponse, Error> {
    let request = ListWorkersRequest {
        namespace: visit.namespace.clone(),
        page_size: PAGE,
        next_page_token: visit.token("page"),
        ..ListWorkersRequest::default()
    };
    visit.engine.list_workers(request).await
}

fn line(visit: &Visit, worker: &WorkerListInfo) -> Markup {
    let queue = format!("TaskQueue = {}", link::quoted(&worker.task_queue));
    let workflows = link::asking(&link::workflows(&visit.namespace), &[("query", &queue)]);
    html! {
        tr {
            td { (words::badge(&shown(worker.status().as_str_name(), "WORKER_STATUS_"))) }
            td { (worker.worker_identity) }
            td { a href=(workflows) { (worker.task_queue) } }
            td { (worker.sdk_name) " " (worker.sdk_version) }
            td { (worker.host_name) }
            td { (worker.process_id) }
            td { (words::moment_of(visit.now, worker.start_time.as_ref())) }
        }
    }
}

/// Workers on a page.
const PAGE: i32 = 200;
