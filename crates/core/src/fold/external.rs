//! Signals and cancel requests to other runs.

use std::sync::Arc;

use steadfast_proto::history;

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

/// The request id is made of what the history holds, so that a repetition has the same one.
fn initiated(run: &mut Run, id: i64, initiated: ExternalInitiated) {
    let request_id = format!("{}/{id}", run.identity.run_id);
    run.externals.insert(id, External { initiated, row: ExternalRow { request_id } });
}
