//! The history of a run, one line an event, and what it was given and gave back.

use maud::{Markup, html};
use steadfast_engine::Error;
use steadfast_proto::{
    causes::chain,
    common::WorkflowExecution,
    enums::HistoryEventFilterType,
    history::{HistoryEvent, history_event::Attributes},
    telling::{Mood, Teller, Told},
    workflow::WorkflowExecutionInfo,
    workflowservice::GetWorkflowExecutionHistoryRequest,
};

use super::{link, run::SAID, visit::Visit, words};

/// A page of a history, and the event that closed it.
#[derive(Debug)]
pub(super) struct Events {
    page: Vec<HistoryEvent>,
    /// What to ask for the events after it with; empty if there are none.
    next: Vec<u8>,
    end: Option<HistoryEvent>,
}

/// Reads the page that was asked for; the first one, if none was.
pub(super) async fn read(
    visit: &Visit,
    execution: &WorkflowExecution,
    info: &WorkflowExecutionInfo,
) -> Result<Events, Error> {
    let request = GetWorkflowExecutionHistoryRequest {
        namespace: visit.namespace.clone(),
        execution: Some(execution.clone()),
        maximum_page_size: PAGE,
        ..GetWorkflowExecutionHistoryRequest::default()
    };
    let next_page_token = visit.token("after");
    let asked = GetWorkflowExecutionHistoryRequest { next_page_token, ..request.clone() };
    let read = visit.engine.get_workflow_execution_history(asked).await?;
    let end = if info.close_time.is_some() {
        let filter = HistoryEventFilterType::CloseEvent.into();
        let request =
            GetWorkflowExecutionHistoryRequest { history_event_filter_type: filter, ..request };
        let read = visit.engine.get_workflow_execution_history(request).await?;
        read.history.unwrap_or_default().events.pop()
    } else {
        None
    };
    Ok(Events { page: read.history.unwrap_or_default().events, next: read.next_page_token, end })
}

/// What the run was given, and what came of it.
pub(super) fn ends(events: &Events) -> Markup {
    let input = events.page.first().and_then(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(it)) => {
            words::values(it.input.as_ref())
        }
        _ => None,
    });
    let result = events.end.as_ref().and_then(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionCompletedEventAttributes(it)) => {
            words::values(it.result.as_ref())
        }
        Some(Attributes::WorkflowExecutionFailedEventAttributes(it)) => {
            it.failure.as_ref().map(chain)
        }
        _ => None,
    });
    html! {
        @if let Some(input) = input { h2 { "Input" } pre { (input) } }
        @if let Some(result) = result { h2 { "Result" } pre { (result) } }
    }
}

/// The events.
pub(super) fn table(visit: &Visit, execution: &WorkflowExecution, events: &Events) -> Markup {
    let mut teller = Teller::default();
    let here = link::run(&visit.namespace, &execution.workflow_id, &execution.run_id);
    let next = link::token(&events.next);
    html! {
        table.history {
            thead { tr { th.number { "#" } th { "Time" } th { "Event" } th { "About" } th { "Said" } } }
            tbody { @for event in &events.page { (line(&mut teller, event)) } }
        }
        @if !next.is_empty() { p { a href=(link::asking(&here, &[("after", &next)])) { "Later events" } } }
    }
}

fn line(teller: &mut Teller, event: &HistoryEvent) -> Markup {
    let told = teller.tell(event).unwrap_or_default();
    let at = event.event_time.as_ref().map(|at| words::clock(words::instant(at)));
    html! {
        tr {
            td.number { (event.event_id) }
            td.time { (at.unwrap_or_default()) }
            td { span class=(mood(&told)) { (told.kind) } }
            td { (told.subject) @if let Some(attempt) = told.attempt { " " span.faint { "attempt " (attempt) } } }
            td.said {
                details {
                    summary { (words::cut(&said(&told), SAID)) }
                    pre { (words::cut(&pretty(&told), WHOLE)) }
                }
            }
        }
    }
}

fn said(told: &Told) -> String {
    let parts = [told.reason.as_str(), told.outcome.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn pretty(told: &Told) -> String {
    serde_json::to_string_pretty(&told.attributes).unwrap_or_default()
}

fn mood(told: &Told) -> &'static str {
    match told.mood() {
        Mood::Bad => "bad",
        Mood::Odd => "odd",
        Mood::Good => "good",
        Mood::Faint => "faint",
        Mood::Plain => "",
    }
}

/// Events on a page.
const PAGE: i32 = 200;
/// Characters of what an event says in full.
const WHOLE: usize = 20_000;
