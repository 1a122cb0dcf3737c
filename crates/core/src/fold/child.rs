//! Children.

use std::sync::Arc;

use steadfast_proto::history;

use crate::{
    run::Run,
    state::{Child, ChildRow},
};

pub(super) fn initiated(
    run: &mut Run,
    id: i64,
    event: &history::StartChildWorkflowExecutionInitiatedEventAttributes,
) {
    let request_id = format!("{}/{id}", run.identity.run_id);
    let row = ChildRow { request_id, ..ChildRow::default() };
    run.children.insert(id, Child { initiated: Arc::new(event.clone()), row });
}

pub(super) fn started(
    run: &mut Run,
    id: i64,
    event: &history::ChildWorkflowExecutionStartedEventAttributes,
) {
    if let Some(child) = run.children.get_mut(&event.initiated_event_id) {
        child.row.started_event_id = id;
        if let Some(execution) = &event.workflow_execution {
            child.row.run_id.clone_from(&execution.run_id);
        }
    }
}

pub(super) fn ended(run: &mut Run, initiated_event_id: i64) {
    run.children.remove(&initiated_event_id);
}
