//! Reading a history, page by page, and waiting for more of it.

use anyhow::{Context as _, Result};
use steadfast_proto::{
    common::WorkflowExecution, enums::HistoryEventFilterType, history::HistoryEvent,
    workflowservice::GetWorkflowExecutionHistoryRequest,
};

use crate::client::{Client, patient};

/// Gives all events of a run to `each`, in order; with `follow` also those that come, until the
/// run has closed.
pub(super) async fn each(
    client: &Client,
    run: &WorkflowExecution,
    follow: bool,
    mut each: impl FnMut(HistoryEvent) -> Result<()>,
) -> Result<()> {
    let mut next_page_token = Vec::new();
    loop {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: client.namespace.clone(),
            execution: Some(run.clone()),
            wait_new_event: follow,
            next_page_token,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let mut call = client.workflow.clone();
        let page = client.answer(call.get_workflow_execution_history(patient(request))).await?;
        page.history.unwrap_or_default().events.into_iter().try_for_each(&mut each)?;
        next_page_token = page.next_page_token;
        if next_page_token.is_empty() {
            return Ok(());
        }
    }
}

/// Waits for a run to close and gives its last event.
pub(super) async fn last(client: &Client, run: &WorkflowExecution) -> Result<HistoryEvent> {
    let mut next_page_token = Vec::new();
    loop {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: client.namespace.clone(),
            execution: Some(run.clone()),
            wait_new_event: true,
            history_event_filter_type: HistoryEventFilterType::CloseEvent.into(),
            next_page_token,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let mut call = client.workflow.clone();
        let page = client.answer(call.get_workflow_execution_history(patient(request))).await?;
        if let Some(last) = page.history.unwrap_or_default().events.pop() {
            return Ok(last);
        }
        next_page_token = page.next_page_token;
        (!next_page_token.is_empty()).then_some(()).context("the run closed without an event")?;
    }
}
