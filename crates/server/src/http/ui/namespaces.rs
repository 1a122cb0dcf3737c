//! The namespaces, and how much there is in each.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::html;
use steadfast_engine::Error;
use steadfast_proto::{
    common::Payload,
    workflowservice::{CountWorkflowExecutionsRequest, ListNamespacesRequest},
};
use steadfast_store::ErrorFilter;

use super::{
    frame::{Frame, page},
    link,
    visit::{Visit, refused},
    words,
};

/// What is known of a namespace.
#[derive(Debug)]
struct Known {
    name: String,
    description: String,
    open: i64,
    failing: u64,
}

/// A namespace begins with its workflows.
pub(super) async fn enter(visit: Visit) -> Response {
    Redirect::to(&link::workflows(&visit.namespace)).into_response()
}

/// Shows them.
pub(super) async fn show(visit: Visit) -> Response {
    let all = match all(&visit).await {
        Ok(all) => all,
        Err(error) => return refused(&visit, &error),
    };
    let body = html! {
        h1 { "Namespaces" }
        table {
            thead { tr { th { "Namespace" } th.number { "Open" } th.number { "Failing" } th { "About" } } }
            tbody {
                @for it in &all {
                    tr {
                        td { a href=(link::workflows(&it.name)) { (it.name) } }
                        td.number { (it.open) }
                        td.number {
                            @if it.failing > 0 { a.bad href=(link::errors(&it.name)) { (it.failing) } } @else { "0" }
                        }
                        td { (it.description) }
                    }
                }
            }
        }
    };
    page(Frame { title: "Namespaces", namespace: "", section: None, is_live: false }, &body)
}

async fn all(visit: &Visit) -> Result<Vec<Known>, Error> {
    let mut known = Vec::new();
    let mut request = ListNamespacesRequest::default();
    loop {
        let answer = visit.engine.list_namespaces(request.clone()).await?;
        let infos = answer.namespaces.into_iter().filter_map(|it| it.namespace_info);
        for info in infos.filter(|info| visit.may_see(&info.name)) {
            let failing = visit.engine.count_errors(&info.name, ErrorFilter::default()).await?;
            let open = count(visit, &info.name, "ExecutionStatus = 'Running'").await?;
            let open = open.iter().map(|(_, count)| count).sum();
            let description = words::cut(&info.description, 200);
            known.push(Known { name: info.name, description, open, failing });
        }
        if answer.next_page_token.is_empty() {
            return Ok(known);
        }
        request.next_page_token = answer.next_page_token;
    }
}

/// How many workflows there are of each status, or in all if the query does not group them.
pub(super) async fn count(
    visit: &Visit,
    namespace: &str,
    query: &str,
) -> Result<Vec<(String, i64)>, Error> {
    let request =
        CountWorkflowExecutionsRequest { namespace: namespace.to_owned(), query: query.to_owned() };
    let counted = visit.engine.count_workflow_executions(request).await?;
    if counted.groups.is_empty() {
        return Ok(vec![(String::new(), counted.count)]);
    }
    let name = |value: &Payload| serde_json::from_slice(&value.data).unwrap_or_default();
    let groups = counted.groups.iter();
    Ok(groups.map(|it| (it.group_values.first().map(name).unwrap_or_default(), it.count)).collect())
}
