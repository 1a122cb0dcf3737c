//! Lists and counts.

use prost::Message as _;
use steadfast_core::Timestamp;
use steadfast_proto::workflowservice::{
    CountWorkflowExecutionsRequest, CountWorkflowExecutionsResponse, ListWorkflowExecutionsRequest,
    ListWorkflowExecutionsResponse,
};
use steadfast_store::{AttemptLog, RunNumber, VisibilityPosition};

use super::{Engine, address};
use crate::{
    error::Error,
    token::{ListToken, page},
    visibility::{self, Schema},
};

impl Engine {
    /// Lists workflows that match a query.
    pub async fn list_workflow_executions(
        &self,
        request: ListWorkflowExecutionsRequest,
    ) -> Result<ListWorkflowExecutionsResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let schema = Schema::new(namespace.search_attributes());
        let filter = visibility::without_internal(visibility::parse_list(&request.query, &schema)?);
        let after = page::<ListToken>(&request.next_page_token)?.map(|token| VisibilityPosition {
            close_time: (token.close_time != OPEN).then_some(Timestamp(token.close_time)),
            start_time: Timestamp(token.start_time),
            run: RunNumber(token.run),
        });
        let page_max = self.shared().limits.list_page_max;
        let limit = match usize::try_from(request.page_size) {
            Ok(size) if size > 0 => size.min(page_max),
            _ => page_max,
        };
        let listing = self.store().list(namespace.id.clone(), filter, after, limit).await?;
        let next_page_token = listing.next.map(|position| {
            let close_time = position.close_time.map_or(OPEN, Timestamp::nanos);
            let start_time = position.start_time.nanos();
            ListToken { close_time, start_time, run: position.run.0 }.encode_to_vec()
        });
        let executions: Result<Vec<_>, Error> =
            listing.rows.iter().map(|(_, row)| visibility::execution_info(row, &schema)).collect();
        Ok(ListWorkflowExecutionsResponse {
            executions: executions?,
            next_page_token: next_page_token.unwrap_or_default(),
        })
    }

    /// Counts workflows that match a query, perhaps by status.
    pub async fn count_workflow_executions(
        &self,
        request: CountWorkflowExecutionsRequest,
    ) -> Result<CountWorkflowExecutionsResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let schema = Schema::new(namespace.search_attributes());
        let query = visibility::parse_count(&request.query, &schema)?;
        let grouped = query.group_by.is_some();
        let filter = visibility::without_internal(query.filter);
        let counted = self.store().count(namespace.id.clone(), filter, query.group_by).await?;
        Ok(visibility::count_response(&counted, grouped))
    }

    /// Every attempt of an activity: when it ran, how it ended, why the next one came when it did.
    pub async fn activity_attempts(
        &self,
        namespace: &str,
        execution: &steadfast_proto::common::WorkflowExecution,
        scheduled_event_id: i64,
    ) -> Result<AttemptLog, Error> {
        let namespace = self.namespace(namespace)?;
        let address = address(&namespace, Some(execution))?;
        let number = self.look(address, |number, _| number).await?;
        Ok(self.store().attempts(number, scheduled_event_id).await?)
    }
}

/// The close time of a run that has none.
const OPEN: i64 = -1;
