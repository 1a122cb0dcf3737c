//! A timer.
//!
//! ```text
//!            started            due
//!  (absent) ─────────▶ Pending ─────▶ fired ──▶ (absent)
//!                         │ cancelled
//!                         ▼
//!                      (absent)
//! ```
//!
//! A timer that fired while a worker had the workflow task may still be cancelled by that very
//! task: the workflow's code has not seen it fire, so it never did.

use steadfast_proto::{
    command,
    enums::WorkflowTaskFailedCause as FailedCause,
    history::{self, history_event::Attributes},
};

use crate::{
    bad,
    machine::workflow_task,
    refused::BadCommand,
    tx::{Note, Tx},
};

pub(crate) fn start(
    tx: &mut Tx<'_>,
    wanted: command::StartTimerCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadStartTimerAttributes;
    bad::check_name(cause, "TimerId", &wanted.timer_id, tx.limits)?;
    let span = bad::check_span(cause, "StartToFireTimeout", wanted.start_to_fire_timeout.as_ref())?;
    // One of no length is due at once; one without a length was forgotten.
    if span.is_zero() && wanted.start_to_fire_timeout.is_none() {
        let detail = "A valid StartToFireTimeout is not set on command.";
        return Err(bad::command(cause, detail));
    }
    if tx.run.timers.named(&wanted.timer_id).is_some() {
        let detail = format!("timer with ID {} is pending already", wanted.timer_id);
        return Err(bad::command(FailedCause::StartTimerDuplicateId, detail));
    }
    let event = history::TimerStartedEventAttributes {
        timer_id: wanted.timer_id,
        start_to_fire_timeout: wanted.start_to_fire_timeout,
        workflow_task_completed_event_id: completed,
    };
    tx.append_noted(event, note);
    Ok(())
}

pub(crate) fn cancel(
    tx: &mut Tx<'_>,
    wanted: command::CancelTimerCommandAttributes,
    completed: i64,
    (identity, note): (&str, Note),
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadCancelTimerAttributes;
    bad::check_name(cause, "TimerId", &wanted.timer_id, tx.limits)?;
    let pending = tx.run.timers.named(&wanted.timer_id).copied();
    let Some(started_event_id) = pending.or_else(|| unfire(tx, &wanted.timer_id)) else {
        let detail = format!("no pending timer with ID {}", wanted.timer_id);
        return Err(bad::command(cause, detail));
    };
    let event = history::TimerCanceledEventAttributes {
        timer_id: wanted.timer_id,
        started_event_id,
        workflow_task_completed_event_id: completed,
        identity: identity.to_owned(),
    };
    tx.append_noted(event, note);
    Ok(())
}

/// Its time has come.
pub(crate) fn due(tx: &mut Tx<'_>, started_event_id: i64) {
    let Some(timer) = tx.run.timers.get(&started_event_id) else { return };
    if timer.due().is_none_or(|at| at > tx.now) {
        return;
    }
    let timer_id = timer.timer_id.clone();
    tx.happen(history::TimerFiredEventAttributes { timer_id, started_event_id });
    workflow_task::want(tx);
}

/// Takes a fired event out of the buffer; gives the event that started the timer.
fn unfire(tx: &mut Tx<'_>, timer_id: &str) -> Option<i64> {
    let (number, started) =
        tx.run.buffer.iter().find_map(|(number, event)| match &event.attributes {
            Some(Attributes::TimerFiredEventAttributes(fired)) if fired.timer_id == timer_id => {
                Some((*number, fired.started_event_id))
            }
            _ => None,
        })?;
    tx.unbuffer(number);
    Some(started)
}
