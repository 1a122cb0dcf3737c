//! Updates, as far as they are in the history.

use steadfast_proto::history;

use crate::{run::Run, state::Update};

/// A new update is under way.
pub(crate) fn begin(run: &mut Run, id: String, update: Update) {
    let last = run.in_flight.iter().next_back().map_or(0, |(number, _)| *number);
    run.in_flight.insert(last + 1, id.clone());
    run.updates.insert(id, update);
}

/// An update is no longer under way. Few are at once, so that looking for it costs little.
pub(crate) fn end(run: &mut Run, id: &str) {
    let found = run.in_flight.iter().find(|(_, known)| *known == id).map(|(number, _)| *number);
    if let Some(number) = found {
        run.in_flight.remove(&number);
    }
}

/// Those of a run that was read from its rows, in the order of their events.
pub(crate) fn restore_in_flight(run: &mut Run) {
    let mut open: Vec<(i64, String)> = run
        .updates
        .iter()
        .filter(|(_, update)| !update.is_completed())
        .map(|(id, update)| {
            let row = &update.row;
            (row.admitted_event_id.max(row.accepted_event_id), id.clone())
        })
        .collect();
    open.sort_unstable();
    for (number, (_, id)) in (1..).zip(open) {
        run.in_flight.insert(number, id);
    }
}

pub(super) fn admitted(
    run: &mut Run,
    id: i64,
    event: &history::WorkflowExecutionUpdateAdmittedEventAttributes,
) {
    let Some(request) = &event.request else { return };
    let Some(meta) = &request.meta else { return };
    let mut update = Update { request: Some(request.clone()), ..Update::default() };
    update.row.admitted_event_id = id;
    begin(run, meta.update_id.clone(), update);
}

pub(super) fn accepted(
    run: &mut Run,
    id: i64,
    event: &history::WorkflowExecutionUpdateAcceptedEventAttributes,
) {
    let key = &event.protocol_instance_id;
    if run.updates.get(key).is_none() {
        begin(run, key.clone(), Update::default());
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
        end(run, &meta.update_id);
    }
}
