//! Children.

use std::sync::Arc;

use steadfast_proto::{history, sdk};

use super::request_id;
use crate::{
    run::Run,
    state::{Child, ChildRow},
};

pub(super) fn initiated(
    run: &mut Run,
    id: i64,
    event: &history::StartChildWorkflowExecutionInitiatedEventAttributes,
    metadata: Option<&sdk::UserMetadata>,
) {
    let request_id = request_id(&run.identity.run_id, id);
    let row = ChildRow { request_id, ..ChildRow::default() };
    let user_metadata = metadata.cloned().map(Arc::new);
    run.children.insert(id, Child { initiated: Arc::new(event.clone()), user_metadata, row });
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

/// Those that were asked for by the run that this one was made from, and not by one before it.
pub(super) fn keep_request_ids(run: &mut Run, base_run_id: &str) {
    let own = run.identity.run_id.clone();
    let ids: Vec<i64> = run.children.iter().map(|(id, _)| *id).collect();
    for id in ids {
        if let Some(child) = run.children.get_mut(&id)
            && child.row.request_id == request_id(&own, id)
        {
            child.row.request_id = request_id(base_run_id, id);
        }
    }
}
