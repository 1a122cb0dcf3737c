//! The workflow task of an update that nothing else needs.
//!
//! ```text
//!            an update waits              a worker takes it
//!  (none) ─────────────────▶ Speculative ──────────────────▶ Speculative, started
//!    ▲                            │ something happens             │ something happens, or it fails
//!    │                            ▼                               ▼
//!    │                        Scheduled                        Started
//!    │
//!    └── all updates refused, nothing else said: as if it had never been
//! ```
//!
//! It has the ids that its events would get, and they are written when the workflow takes the update
//! or does anything else. A workflow that refuses a thousand updates has no longer history for it, and
//! one whose start is delayed still starts when it should.

use crate::{
    input::CompleteWorkflowTask,
    machine::{update, workflow_task},
    refused::BadCommand,
    state::WorkflowTask,
    transition::Effect,
    tx::Tx,
};

/// Events that a worker is shown again, if it can bear that, after a task that has never been.
const SHOWN_AGAIN_MAX: i64 = 10;

/// Schedules the task of the updates that wait, unless there is a task. A delayed start is not waited
/// for.
pub(crate) fn schedule(tx: &mut Tx<'_>) {
    if tx.run.state.task.is_some() {
        return;
    }
    workflow_task::put_unwritten(tx, 1);
    let is_sticky = tx.run.state.sticky.is_some();
    if let Some(task) = &mut tx.run.state.task {
        task.speculative = true;
        task.sticky = is_sticky;
    }
    tx.effect(Effect::WorkflowTaskReady);
}

/// The task is needed for something else too: it is in the history from now on.
pub(crate) fn write(tx: &mut Tx<'_>) {
    let Some(task) = speculative(tx) else { return };
    // What happened before a worker took it has its place before it, and it is another one then.
    let is_overtaken = task.scheduled_event_id != tx.run.state.next_event_id;
    workflow_task::write_unwritten(tx);
    if is_overtaken {
        tx.effect(Effect::WorkflowTaskReady);
    }
}

/// Whether the task can be as if it had never been: all that the worker has to say is that its updates
/// are refused.
pub(crate) fn is_for_nothing(tx: &Tx<'_>, input: &CompleteWorkflowTask) -> bool {
    let state = &tx.run.state;
    let shown_again = state.next_event_id - (state.previous_started_event_id + 2);
    let bearable = if input.takes_events_again { SHOWN_AGAIN_MAX } else { 0 };
    speculative(tx).is_some()
        && input.commands.is_empty()
        && !input.force_new_task
        && tx.run.buffer.is_empty()
        && shown_again <= bearable
        && input.messages.iter().all(update::is_rejection)
}

/// Forgets the task: the worker goes back to the last one that is in the history.
pub(crate) fn forget(tx: &mut Tx<'_>, input: &CompleteWorkflowTask) -> Result<(), BadCommand> {
    input.messages.iter().try_for_each(|message| update::answer(tx, message))?;
    update::reject_unanswered(tx);
    tx.run.state.task = None;
    tx.out.back_to = tx.run.state.previous_started_event_id;
    if update::are_waiting(tx.run) {
        schedule(tx);
    }
    Ok(())
}

fn speculative<'a>(tx: &'a Tx<'_>) -> Option<&'a WorkflowTask> {
    tx.run.state.task.as_ref().filter(|task| task.speculative)
}
