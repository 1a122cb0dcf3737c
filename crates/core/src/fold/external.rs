//! Signals and cancel requests to other runs.

use std::sync::Arc;

use steadfast_proto::history;

use super::request_id;
use crate::{
    run::Run,
    state::{External, ExternalInitiated, ExternalRow},
};

pub(super) fn signal_initiated(
    run: &mut Run,
    id: i64,
    event: &history::SignalExternalWorkflowExecutionInitiatedEventAttributes,
) {
    initiated(run, id, ExternalInitiated::Signal(Arc::new(event.clone())));
}

pub(super) fn cancel_initiated(
    run: &mut Run,
    id: i64,
    event: &history::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes,
) {
    initiated(run, id, ExternalInitiated::Cancel(Arc::new(event.clone())));
}

pub(super) fn ended(run: &mut Run, initiated_event_id: i64) {
    run.externals.remove(&initiated_event_id);
}

fn initiated(run: &mut Run, id: i64, initiated: ExternalInitiated) {
    let request_id = request_id(&run.identity.run_id, id);
    run.externals.insert(id, External { initiated, row: ExternalRow { request_id } });
}

/// Those that were asked for by the run that this one was made from, and not by one before it.
pub(super) fn keep_request_ids(run: &mut Run, base_run_id: &str) {
    let own = run.identity.run_id.clone();
    let ids: Vec<i64> = run.externals.iter().map(|(id, _)| *id).collect();
    for id in ids {
        if let Some(external) = run.externals.get_mut(&id)
            && external.row.request_id == request_id(&own, id)
        {
            external.row.request_id = request_id(base_run_id, id);
        }
    }
}
