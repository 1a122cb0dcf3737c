//! Lists and counts.

use prost::Message as _;
use steadfast_core::{Timestamp, span::instant_from_wire};
use steadfast_proto::{
    enums::WorkflowExecutionStatus as Status,
    filter::{StartTimeFilter, WorkflowExecutionFilter},
    workflow::WorkflowExecutionInfo,
    workflowservice::{
        CountWorkflowExecutionsRequest, CountWorkflowExecutionsResponse,
        ListClosedWorkflowExecutionsRequest, ListClosedWorkflowExecutionsResponse,
        ListOpenWorkflowExecutionsRequest, ListOpenWorkflowExecutionsResponse,
        ListWorkflowExecutionsRequest, ListWorkflowExecutionsResponse,
        ScanWorkflowExecutionsRequest, ScanWorkflowExecutionsResponse,
        list_closed_workflow_executions_request, list_open_workflow_executions_request,
    },
};
use steadfast_store::{
    AttemptLog, Compare, Field, Filter, Retried, RunNumber, Value, VisibilityPosition,
};

use super::{Engine, address};
use crate::{
    error::Error,
    namespaces::Namespace,
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
        let page = Page { size: request.page_size, token: &request.next_page_token };
        let (executions, next_page_token) = self.page(&namespace, filter, page).await?;
        Ok(ListWorkflowExecutionsResponse { executions, next_page_token })
    }

    /// As [`list_workflow_executions`](Self::list_workflow_executions).
    pub async fn scan_workflow_executions(
        &self,
        request: ScanWorkflowExecutionsRequest,
    ) -> Result<ScanWorkflowExecutionsResponse, Error> {
        let listed = self.list_workflow_executions(ListWorkflowExecutionsRequest {
            namespace: request.namespace,
            page_size: request.page_size,
            next_page_token: request.next_page_token,
            query: request.query,
        });
        let ListWorkflowExecutionsResponse { executions, next_page_token } = listed.await?;
        Ok(ScanWorkflowExecutionsResponse { executions, next_page_token })
    }

    /// Lists workflows that run.
    pub async fn list_open_workflow_executions(
        &self,
        request: ListOpenWorkflowExecutionsRequest,
    ) -> Result<ListOpenWorkflowExecutionsResponse, Error> {
        use list_open_workflow_executions_request::Filters;
        let namespace = self.namespace(&request.namespace)?;
        let times = self.between(Field::StartTime, request.start_time_filter.as_ref())?;
        let more = match request.filters {
            None => Filter::All,
            Some(Filters::ExecutionFilter(wanted)) => of_execution(wanted),
            Some(Filters::TypeFilter(wanted)) => equals(Field::WorkflowType, wanted.name),
        };
        let filter = visibility::without_internal(all([running(), times, more]));
        let page = Page { size: request.maximum_page_size, token: &request.next_page_token };
        let (executions, next_page_token) = self.page(&namespace, filter, page).await?;
        Ok(ListOpenWorkflowExecutionsResponse { executions, next_page_token })
    }

    /// Lists workflows that have closed.
    pub async fn list_closed_workflow_executions(
        &self,
        request: ListClosedWorkflowExecutionsRequest,
    ) -> Result<ListClosedWorkflowExecutionsResponse, Error> {
        use list_closed_workflow_executions_request::Filters;
        let namespace = self.namespace(&request.namespace)?;
        let times = self.between(Field::CloseTime, request.start_time_filter.as_ref())?;
        let more = match request.filters {
            None => Filter::All,
            Some(Filters::ExecutionFilter(wanted)) => of_execution(wanted),
            Some(Filters::TypeFilter(wanted)) => equals(Field::WorkflowType, wanted.name),
            Some(Filters::StatusFilter(wanted)) => of_status(wanted.status())?,
        };
        let closed = Filter::Not(Box::new(running()));
        let filter = visibility::without_internal(all([closed, times, more]));
        let page = Page { size: request.maximum_page_size, token: &request.next_page_token };
        let (executions, next_page_token) = self.page(&namespace, filter, page).await?;
        Ok(ListClosedWorkflowExecutionsResponse { executions, next_page_token })
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

    /// The activities of a namespace of which more than `more_than` attempts have ended, over all
    /// its workflows, open or closed, the newest run first. A page begins after the last activity of
    /// the page before: its run's number and its scheduled event.
    ///
    /// Of an activity that succeeds at its first attempt nothing is kept, so `more_than` is at least
    /// one.
    pub async fn activities_tried_more_often(
        &self,
        namespace: &str,
        more_than: u32,
        after: Option<(RunNumber, i64)>,
        page_size: i32,
    ) -> Result<Vec<Retried>, Error> {
        let namespace = self.namespace(namespace)?;
        if more_than == 0 {
            let problem = "more_than must be at least 1: of an activity that succeeds at its first \
                           attempt, no attempts are kept";
            return Err(Error::invalid(problem));
        }
        let limit = self.page_size(page_size);
        Ok(self.store().retried(namespace.id.clone(), more_than, after, limit).await?)
    }
}

impl Engine {
    /// One page of a list, and where the next one begins.
    async fn page(
        &self,
        namespace: &Namespace,
        filter: Filter,
        asked: Page<'_>,
    ) -> Result<(Vec<WorkflowExecutionInfo>, Vec<u8>), Error> {
        let schema = Schema::new(namespace.search_attributes());
        let after = position(asked.token)?;
        let limit = self.page_size(asked.size);
        let listing = self.store().list(namespace.id.clone(), filter, after, limit).await?;
        let executions: Result<Vec<_>, Error> =
            listing.rows.iter().map(|(_, row)| visibility::execution_info(row, &schema)).collect();
        Ok((executions?, page_token(listing.next)))
    }

    /// How many rows a page has, of those that were asked for.
    pub(super) fn page_size(&self, asked: i32) -> usize {
        let page_max = self.shared().limits.list_page_max;
        match usize::try_from(asked) {
            Ok(size) if size > 0 => size.min(page_max),
            _ => page_max,
        }
    }

    /// A time in a range, which ends now if nothing is said.
    fn between(&self, field: Field, range: Option<&StartTimeFilter>) -> Result<Filter, Error> {
        let Some(range) = range else { return Ok(Filter::All) };
        let earliest = range.earliest_time.as_ref().map_or(Timestamp(0), instant_from_wire);
        let latest = range.latest_time.as_ref().map_or_else(|| self.now(), instant_from_wire);
        if earliest > latest {
            return Err(Error::invalid(
                "start_time_filter: EarliestTime should not be larger than LatestTime.",
            ));
        }
        Ok(Filter::Between(field, Value::Time(earliest), Value::Time(latest)))
    }
}

/// Which page is asked for.
struct Page<'a> {
    size: i32,
    token: &'a [u8],
}

fn all(parts: [Filter; 3]) -> Filter {
    let [first, second, third] = parts;
    Filter::And(Box::new(first), Box::new(Filter::And(Box::new(second), Box::new(third))))
}

fn running() -> Filter {
    Filter::IsNull(Field::CloseTime)
}

fn equals(field: Field, text: String) -> Filter {
    Filter::Compare(field, Compare::Equal, Value::Text(text))
}

fn of_execution(wanted: WorkflowExecutionFilter) -> Filter {
    let id = equals(Field::WorkflowId, wanted.workflow_id);
    if wanted.run_id.is_empty() {
        return id;
    }
    Filter::And(Box::new(id), Box::new(equals(Field::RunId, wanted.run_id)))
}

fn of_status(status: Status) -> Result<Filter, Error> {
    if matches!(status, Status::Running | Status::Paused | Status::Unspecified) {
        return Err(Error::invalid("status_filter: a closed workflow has another status."));
    }
    Ok(Filter::Compare(Field::Status, Compare::Equal, Value::Int(i32::from(status).into())))
}

/// Where a page begins; empty is the first one.
pub(super) fn position(token: &[u8]) -> Result<Option<VisibilityPosition>, Error> {
    let position = |token: ListToken| VisibilityPosition {
        close_time: (token.close_time != OPEN).then_some(Timestamp(token.close_time)),
        start_time: Timestamp(token.start_time),
        run: RunNumber(token.run),
    };
    Ok(page::<ListToken>(token)?.map(position))
}

/// What names the place where the next page begins; empty at the end.
pub(super) fn page_token(next: Option<VisibilityPosition>) -> Vec<u8> {
    let token = |position: VisibilityPosition| {
        let close_time = position.close_time.map_or(OPEN, Timestamp::nanos);
        let start_time = position.start_time.nanos();
        ListToken { close_time, start_time, run: position.run.0 }.encode_to_vec()
    };
    next.map(token).unwrap_or_default()
}

/// The close time of a run that has none.
const OPEN: i64 = -1;
