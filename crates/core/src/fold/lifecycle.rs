//! Start, signals and close.

use std::sync::Arc;

use steadfast_proto::{
    enums::WorkflowExecutionStatus as Status,
    history::WorkflowExecutionOptionsUpdatedEventAttributes as Updated, sdk,
};
use steadfast_retry::Timestamp;

use crate::{
    run::Run,
    span::{from_wire, instant_from_wire},
    state::{Request, Started},
};

pub(super) fn started(
    run: &mut Run,
    started: &Started,
    metadata: Option<&sdk::UserMetadata>,
    at: i64,
) {
    let backoff = from_wire(started.first_workflow_task_backoff.as_ref());
    let execution_at = Timestamp(at).after(backoff);
    let chain_expires_at =
        started.workflow_execution_expiration_time.as_ref().map_or(0, |at| instant_from_wire(at).0);
    let limit = from_wire(started.workflow_run_timeout.as_ref());
    let run_expires_at = if limit.is_zero() { 0 } else { execution_at.after(limit).0 };
    let state = &mut run.state;
    state.set_status(Status::Running);
    state.started_at = at;
    state.execution_at = execution_at.0;
    state.backoff_until = if backoff.is_zero() { 0 } else { execution_at.0 };
    state.chain_expires_at = chain_expires_at;
    state.run_expires_at = match (run_expires_at, chain_expires_at) {
        (0, _) | (_, 0) => run_expires_at,
        (run, chain) => run.min(chain),
    };
    state.task_attempt = 1;
    run.user_metadata = metadata.cloned().map(Arc::new);
    run.started = Arc::new(started.clone());
}

pub(super) fn signaled(run: &mut Run, request_id: &str) {
    run.state.signals += 1;
    if !request_id.is_empty() {
        run.requests.insert(request_id.to_owned(), Request::default());
    }
}

/// A start found the run open. It is kept for as long as the run, to be shown.
pub(super) fn attached(run: &mut Run, event_id: i64, updated: &Updated, at: i64) {
    if !updated.attached_request_id.is_empty() {
        let callbacks = updated.attached_completion_callbacks.clone();
        let request = Request { attached_at: at, event_id, callbacks };
        run.requests.insert(updated.attached_request_id.clone(), request);
    }
}

/// The event of such a start has its place.
pub(super) fn placed(run: &mut Run, event_id: i64, request_id: &str) {
    if let Some(request) = run.requests.get_mut(&request_id.to_owned()) {
        request.event_id = event_id;
    }
}

/// A closed run waits for nothing; what it must still tell others is in its messages. The activities
/// and children that it leaves behind stay to be shown.
pub(super) fn closed(run: &mut Run, status: Status, next_run_id: &str, at: i64) {
    let state = &mut run.state;
    state.set_status(status);
    next_run_id.clone_into(&mut state.next_run_id);
    state.closed_at = at;
    state.task = None;
    state.task_trouble = None;
    state.sticky = None;
    state.backoff_until = 0;
    run.timers.clear();
    run.externals.clear();
    forget_requests(run);
    run.buffer.clear();
    run.state.buffered_bytes = 0;
}

/// Nobody sends signals again to a closed run.
fn forget_requests(run: &mut Run) {
    let signals = run.requests.iter().filter(|(_, request)| request.attached_at == 0);
    let signals: Vec<String> = signals.map(|(id, _)| id.clone()).collect();
    for id in signals {
        run.requests.remove(&id);
    }
}
