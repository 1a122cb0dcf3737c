//! Histories, page by page.

use steadfast_engine::Error;
use steadfast_proto::{
    common::WorkflowExecution, history::HistoryEvent,
    workflowservice::GetWorkflowExecutionHistoryRequest,
};

use super::Door;

impl Door {
    /// All events of a run.
    pub(crate) async fn history(
        &self,
        namespace: &str,
        run: &WorkflowExecution,
    ) -> Result<Vec<HistoryEvent>, Error> {
        let mut events = Vec::new();
        let token = self.page(namespace, run, Vec::new(), &mut events).await?;
        self.read_on(namespace, run, token, &mut events).await?;
        Ok(events)
    }

    /// Adds the pages that follow; none, if the token is empty.
    pub(crate) async fn read_on(
        &self,
        namespace: &str,
        run: &WorkflowExecution,
        mut token: Vec<u8>,
        events: &mut Vec<HistoryEvent>,
    ) -> Result<(), Error> {
        while !token.is_empty() {
            token = self.page(namespace, run, token, events).await?;
        }
        Ok(())
    }

    /// Adds one page; gives where the next one begins.
    async fn page(
        &self,
        namespace: &str,
        run: &WorkflowExecution,
        next_page_token: Vec<u8>,
        events: &mut Vec<HistoryEvent>,
    ) -> Result<Vec<u8>, Error> {
        let request = GetWorkflowExecutionHistoryRequest {
            namespace: namespace.to_owned(),
            execution: Some(run.clone()),
            next_page_token,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let page = self.get_workflow_execution_history(request).await?;
        events.extend(page.history.map(|history| history.events).unwrap_or_default());
        Ok(page.next_page_token)
    }
}
