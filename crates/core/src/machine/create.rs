//! A run begins.
//!
//! ```text
//!             start now                      start later (delay, cron, retry)
//!  (none) ──────────────▶ task scheduled   (none) ──────▶ waiting ──due──▶ task scheduled
//! ```

use steadfast_proto::enums::WorkflowExecutionStatus as Status;

use crate::{
    input::Start,
    machine::{signal, workflow_task},
    run::Run,
    state::State,
    transition::Transition,
    tx::{Context, Note, Tx},
};

/// Creates a run and its first events.
pub(crate) fn create(start: Start, context: Context<'_>) -> (Run, Transition) {
    let mut run = Run {
        identity: start.identity,
        state: State {
            next_event_id: 1,
            status: Status::Running.into(),
            create_request_id: start.request_id,
            scheduled_by: start.scheduled_by,
            ..State::default()
        },
        ..Run::default()
    };
    let mut tx = Tx::begin(&mut run, context);
    tx.append_noted(start.started, Note::of_start(start.user_metadata, start.links));
    tx.run.state.cadence = start.cadence;
    expire(&mut tx.run.state, tx.run.started.attempt);
    if let Some(signal) = start.signal {
        signal::write(&mut tx, signal);
    }
    workflow_task::want(&mut tx);
    workflow_task::schedule_wanted(&mut tx);
    tx.out.visible = true;
    let transition = tx.commit();
    (run, transition)
}

/// In Cadence's terms a chain of retries has an end of its own, counted from its first run, to which
/// the runs after that are cut.
fn expire(state: &mut State, attempt: i32) {
    let Some(terms) = state.cadence.as_mut().filter(|terms| terms.expiration > 0) else { return };
    if terms.expires_at == 0 {
        terms.expires_at = state.execution_at.saturating_add(terms.expiration);
    }
    if attempt > 1 {
        state.run_expires_at = match state.run_expires_at {
            0 => terms.expires_at,
            end => end.min(terms.expires_at),
        };
    }
}
