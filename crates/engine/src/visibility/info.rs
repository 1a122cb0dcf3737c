//! Listings and counts as clients see them.

use prost::Message;
use steadfast_core::span::{instant_to_wire, to_wire};
use steadfast_proto::{
    common::{Memo, Payload, SearchAttributes, WorkflowExecution, WorkflowType},
    enums::WorkflowExecutionStatus as Status,
    workflow::WorkflowExecutionInfo,
    workflowservice::{
        CountWorkflowExecutionsResponse, count_workflow_executions_response::AggregationGroup,
    },
};
use steadfast_store::{Group, SearchType, Value, VisibilityRow};

use super::{
    literal::status_name,
    schema::Schema,
    values::{payload, with_types},
};
use crate::error::{Code, Error};

/// A run in a listing. What is known only once it closed is zero until then.
pub(crate) fn execution_info(
    row: &VisibilityRow,
    schema: &Schema,
) -> Result<WorkflowExecutionInfo, Error> {
    let memo: Memo = decode(&row.memo)?;
    let attributes: SearchAttributes = decode(&row.search_attributes)?;
    let parent_namespace = row.parent.as_ref().map(|_| row.identity.namespace.clone());
    let when_closed = |number: i64| row.close_time.map_or(0, |_| number);
    Ok(WorkflowExecutionInfo {
        execution: Some(execution(&row.identity.workflow_id, &row.identity.run_id)),
        r#type: Some(WorkflowType { name: row.workflow_type.clone() }),
        start_time: Some(instant_to_wire(row.start_time)),
        close_time: row.close_time.map(instant_to_wire),
        status: row.status,
        history_length: when_closed(row.history_length),
        parent_namespace_id: parent_namespace.unwrap_or_default(),
        parent_execution: row.parent.as_ref().map(|(id, run)| execution(id, run)),
        execution_time: Some(instant_to_wire(row.execution_time)),
        memo: Some(memo),
        search_attributes: Some(with_types(attributes, schema)),
        task_queue: row.task_queue.clone(),
        state_transition_count: when_closed(row.state_transitions),
        history_size_bytes: when_closed(row.history_size),
        execution_duration: row.close_time.and_then(|end| to_wire(end.since(row.execution_time))),
        root_execution: row.root.as_ref().map(|(id, run)| execution(id, run)),
        ..WorkflowExecutionInfo::default()
    })
}

/// The answer to a count; `grouped` if its query said `GROUP BY ExecutionStatus`.
pub(crate) fn count_response(groups: &[Group], grouped: bool) -> CountWorkflowExecutionsResponse {
    let count = groups.iter().fold(0_i64, |sum, group| sum.saturating_add(signed(group.count)));
    let groups = if grouped { groups.iter().map(group).collect() } else { Vec::new() };
    CountWorkflowExecutionsResponse { count, groups }
}

fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Error> {
    let damaged =
        |error| Error::new(Code::Internal, format!("a visibility row is damaged: {error}"));
    M::decode(bytes).map_err(damaged)
}

fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}

fn group(group: &Group) -> AggregationGroup {
    AggregationGroup {
        group_values: vec![group_value(group.value.as_ref())],
        count: signed(group.count),
    }
}

/// A status is counted by its number and shown by its name.
fn group_value(value: Option<&Value>) -> Payload {
    let number = match value {
        Some(Value::Int(number)) => i32::try_from(*number).unwrap_or_default(),
        Some(Value::Bool(_) | Value::Double(_) | Value::Time(_) | Value::Text(_)) | None => 0,
    };
    let status = Status::try_from(number).unwrap_or_default();
    payload(&status_name(status).into(), SearchType::Keyword)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
