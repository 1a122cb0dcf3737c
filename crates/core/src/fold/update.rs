//! Updates, as far as they are in the history.

use steadfast_proto::history;

use crate::{run::Run, state::Update};

pub(super) fn admitted(
    run: &mut Run,
    id: i64,
    event: &history::WorkflowExecutionUpdateAdmittedEventAttributes,
) {
    let Some(request) = &event.request else { return };
    let Some(meta) = &request.meta else { return };
    let mut update = Update { request: Some(request.clone()), ..Update::default() };
    update.row.admitted_event_id = id;
    run.updates.insert(meta.update_id.clone(), update);
}

pub(super) fn accepted(
    run: &mut Run,
    id: i64,
    event: &history::WorkflowExecutionUpdateAcceptedEventAttributes,
) {
    let key = &event.protocol_instance_id;
    if run.updates.get(key).is_none() {
        run.updates.insert(key.clone(), Update::default());
    }
    if let Some(update) = run.updates.get_mut(key) {
        update.request = None;
        update.row.accepted_event_id = id;
    }
}

pub(super) fn completed(
    run: &mut Run,
    id: i64,
    event: &history::WorkflowExecutionUpdateCompletedEventAttributes,
) {
    let Some(meta) = &event.meta else { return };
    if let Some(update) = run.updates.get_mut(&meta.update_id) {
        update.outcome.clone_from(&event.outcome);
        update.row.completed_event_id = id;
    }
}
