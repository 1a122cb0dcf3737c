//! The row that lists and counts are made from.

use prost::Message as _;
use steadfast_core::{Run, Timestamp};
use steadfast_store::VisibilityRow;

use crate::{
    namespaces::Namespace,
    rows,
    visibility::{self, Schema},
};

/// What lists show of a run as it is now.
pub(crate) fn row(run: &Run, namespace: Option<&Namespace>) -> VisibilityRow {
    let state = run.state();
    let started = run.started();
    let attributes = run.search_attributes().cloned().unwrap_or_default();
    let schema = Schema::new(namespace.map(Namespace::search_attributes).unwrap_or_default());
    let pair = |execution: &steadfast_proto::common::WorkflowExecution| {
        (execution.workflow_id.clone(), execution.run_id.clone())
    };
    let identity = run.identity();
    let itself = (identity.workflow_id.clone(), identity.run_id.clone());
    let closed = |number| if run.is_open() { 0 } else { number };
    VisibilityRow {
        identity: rows::identity(identity),
        workflow_type: run.workflow_type().to_owned(),
        task_queue: run.task_queue().to_owned(),
        status: state.status,
        start_time: run.started_at(),
        execution_time: Timestamp(state.execution_at),
        close_time: run.closed_at(),
        history_length: closed(run.last_event_id()),
        history_size: closed(state.history_bytes),
        state_transitions: closed(state.transitions),
        parent: run.parent().as_ref().map(pair),
        root: Some(started.root_workflow_execution.as_ref().map_or(itself, pair)),
        memo: run.memo().map(prost::Message::encode_to_vec).unwrap_or_default(),
        search_values: visibility::known_values(&attributes, &schema),
        search_attributes: attributes.encode_to_vec(),
    }
}
