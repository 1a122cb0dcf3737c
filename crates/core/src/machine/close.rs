//! A run closes: who must hear of it, and who goes on in its place.
//!
//! ```text
//!                   complete ──────────▶ cron? ──▶ successor
//!                   fail, time out ──▶ retry? ──▶ successor (closes as continued)
//!  Running ──▶                           └ no ──▶ cron? ──▶ successor
//!                   continue as new ─────────────▶ successor
//!                   cancel, terminate ───────────▶ none
//! ```
//!
//! The successor is part of the same transition: there is no moment at which the chain has no run.
//! The parent, and the schedule that started it, hear of the last run only.

use steadfast_proto::{
    common, enums,
    enums::ContinueAsNewInitiator as Initiator,
    failure::Failure,
    history::{self, history_event::Attributes},
    update::{Outcome, outcome::Value},
};
use steadfast_retry::Class;

use crate::{
    failure::{details_of, of_application, of_timeout, retry_state},
    machine::{
        setback::{self, Decided},
        successor::{self, Verdict},
        update, workflow_task,
    },
    state::{Child, Message, Notice, Target},
    transition::{Aborted, AttemptOutcome, Effect, UpdateProgress},
    tx::{Note, Tx},
};

/// The workflow has a result.
pub(crate) fn complete(
    tx: &mut Tx<'_>,
    result: Option<common::Payloads>,
    completed: i64,
    note: Note,
) {
    let next = successor::by_cron(tx, Ok(result.clone()));
    let event = history::WorkflowExecutionCompletedEventAttributes {
        result,
        workflow_task_completed_event_id: completed,
        new_execution_run_id: next.unwrap_or_default(),
    };
    close_noted(tx, event, note);
}

/// The workflow has failed.
pub(crate) fn fail(tx: &mut Tx<'_>, failure: Failure, completed: i64, note: Note) {
    if tx.run.state.cancel_requested && tx.run.state.cadence.is_some() {
        return cancel(tx, Some(details_of(&failure)), completed, note);
    }
    let (verdict, decided) = match successor::by_retry(tx, &failure, None) {
        Verdict::Again { run_id, delay, decided } => {
            setback::run_failed(tx, AttemptOutcome::Failed(failure.clone()), decided);
            close_noted(tx, retried(tx, run_id, delay, failure, completed), note);
            return;
        }
        Verdict::Ends(verdict, decided) => (verdict, decided),
    };
    let next = successor::by_cron(tx, Err(&failure));
    setback::run_failed(tx, AttemptOutcome::Failed(failure.clone()), decided);
    let event = history::WorkflowExecutionFailedEventAttributes {
        failure: Some(failure),
        retry_state: retry_state(verdict),
        workflow_task_completed_event_id: completed,
        new_execution_run_id: next.unwrap_or_default(),
    };
    close_noted(tx, event, note);
}

/// The workflow has ended as it was asked to.
pub(crate) fn cancel(
    tx: &mut Tx<'_>,
    details: Option<common::Payloads>,
    completed: i64,
    note: Note,
) {
    let event = history::WorkflowExecutionCanceledEventAttributes {
        workflow_task_completed_event_id: completed,
        details,
    };
    close_noted(tx, event, note);
}

/// The run's time is over. The chain may go on, unless its own time is over too.
pub(crate) fn time_out(tx: &mut Tx<'_>, chain_is_over: bool) {
    workflow_task::end_for_close(tx);
    let kind = enums::TimeoutType::StartToClose;
    let failure = of_timeout(kind, "workflow timeout", None);
    if chain_is_over {
        let words = "fail: the time of the whole chain is over".to_owned();
        let decided = Decided { words, class: Class::Timeout.name(), delay: None };
        setback::run_failed(tx, AttemptOutcome::TimedOut(failure), decided);
        close(tx, timed_out(enums::RetryState::Timeout.into(), None));
        return;
    }
    let last_result = tx.run.started.last_completion_result.clone();
    let (verdict, decided) = match successor::by_retry(tx, &failure, last_result) {
        Verdict::Again { run_id, delay, decided } => {
            setback::run_failed(tx, AttemptOutcome::TimedOut(failure.clone()), decided);
            close(tx, retried(tx, run_id, delay, failure, 0));
            return;
        }
        Verdict::Ends(verdict, decided) => (verdict, decided),
    };
    let next = successor::by_cron(tx, Err(&failure));
    setback::run_failed(tx, AttemptOutcome::TimedOut(failure), decided);
    close(tx, timed_out(retry_state(verdict), next));
}

/// Writes the last event and does what goes with it.
fn close(tx: &mut Tx<'_>, event: impl Into<Attributes>) {
    close_noted(tx, event, Note::default());
}

/// As [`close`], with a note.
pub(crate) fn close_noted(tx: &mut Tx<'_>, event: impl Into<Attributes>, note: Note) {
    let children: Vec<Child> = tx.run.children.iter().map(|(_, child)| child.clone()).collect();
    tx.append_noted(event, note);
    tx.run.state.delete_at = tx.now.after(tx.limits.retention).0;
    tx.run.state.closing = false;
    abort_updates(tx);
    if !tx.run.state.ended_by_reset {
        tell_parent(tx);
        tell_schedule(tx);
        for child in &children {
            tell_child(tx, child);
        }
    }
    tx.out.visible = true;
    tx.effect(Effect::Closed);
}

#[expect(deprecated, reason = "the failure is what a retried run is asked for")]
fn retried(
    tx: &Tx<'_>,
    new_execution_run_id: String,
    delay: std::time::Duration,
    failure: Failure,
    completed: i64,
) -> history::WorkflowExecutionContinuedAsNewEventAttributes {
    let started = &tx.run.started;
    history::WorkflowExecutionContinuedAsNewEventAttributes {
        new_execution_run_id,
        workflow_type: started.workflow_type.clone(),
        task_queue: started.task_queue.clone(),
        input: started.input.clone(),
        workflow_run_timeout: started.workflow_run_timeout,
        workflow_task_timeout: started.workflow_task_timeout,
        workflow_task_completed_event_id: completed,
        backoff_start_interval: crate::span::to_wire(delay),
        initiator: Initiator::Retry.into(),
        failure: Some(failure),
        header: started.header.clone(),
        memo: started.memo.clone(),
        search_attributes: started.search_attributes.clone(),
        ..history::WorkflowExecutionContinuedAsNewEventAttributes::default()
    }
}

fn timed_out(
    retry_state: i32,
    next: Option<String>,
) -> history::WorkflowExecutionTimedOutEventAttributes {
    history::WorkflowExecutionTimedOutEventAttributes {
        retry_state,
        new_execution_run_id: next.unwrap_or_default(),
    }
}

/// Updates that were taken on fail; the others never were.
fn abort_updates(tx: &mut Tx<'_>) {
    let open: Vec<(String, bool)> =
        update::in_flight(tx.run).map(|(id, update)| (id.clone(), update.is_accepted())).collect();
    let why = if tx.out.successor.is_some() { Aborted::Continued } else { Aborted::Closed };
    for (update_id, accepted) in open {
        let progress = if accepted {
            UpdateProgress::Completed(closed_before_update())
        } else {
            update::forget(tx.run, &update_id);
            UpdateProgress::Aborted(why)
        };
        tx.effect(Effect::UpdateChanged { update_id, progress });
    }
}

/// What an update comes to that was taken on by a run that closed without finishing it.
pub fn closed_before_update() -> Outcome {
    let failure = of_application(
        "AcceptedUpdateCompletedWorkflow",
        "Workflow Update failed because the Workflow completed before the Update completed.",
    );
    Outcome { value: Some(Value::Failure(failure)) }
}

/// Tells the parent how the run has closed, unless another one goes on.
pub(crate) fn tell_parent(tx: &mut Tx<'_>) {
    let Some(parent) = tx.run.parent().filter(|_| tx.run.follower().is_none()) else { return };
    let started = tx.run.started.clone();
    let target = Target {
        namespace_id: started.parent_workflow_namespace_id.clone(),
        workflow_id: parent.workflow_id,
        run_id: parent.run_id,
        first_run_id: String::new(),
    };
    send(tx, target, Notice::ChildClosed(started.parent_initiated_event_id));
}

fn tell_schedule(tx: &mut Tx<'_>) {
    if tx.out.successor.is_none()
        && let Some(schedule) = tx.run.state.scheduled_by.clone()
    {
        send(tx, schedule, Notice::ScheduledClosed(true));
    }
}

/// Also a child that is only just being started: should it come to life, it is told.
fn tell_child(tx: &mut Tx<'_>, child: &Child) {
    let notice = match child.initiated.parent_close_policy() {
        enums::ParentClosePolicy::Terminate | enums::ParentClosePolicy::Unspecified => {
            Notice::Terminate(true)
        }
        enums::ParentClosePolicy::RequestCancel => Notice::Cancel(true),
        enums::ParentClosePolicy::Abandon => return,
    };
    send(tx, target_of(child), notice);
}

/// Tells a child that it is this run now that waits for it.
pub(crate) fn adopt_child(tx: &mut Tx<'_>, initiated_event_id: i64, child: &Child) {
    send(tx, target_of(child), Notice::Adopt(initiated_event_id));
}

/// The run that takes this one's place is the one to tell the children so.
pub(crate) fn leave_children(tx: &mut Tx<'_>) {
    let is_adopt = |message: &Message| matches!(message.notice, Some(Notice::Adopt(_)));
    let adopts: Vec<u64> =
        tx.run.messages.iter().filter(|(_, it)| is_adopt(it)).map(|(number, _)| *number).collect();
    for number in adopts {
        tx.run.messages.remove(&number);
    }
}

/// The newest run of the child, however often it has gone on.
fn target_of(child: &Child) -> Target {
    Target {
        namespace_id: child.initiated.namespace_id.clone(),
        workflow_id: child.initiated.workflow_id.clone(),
        run_id: String::new(),
        first_run_id: child.row.run_id.clone(),
    }
}

/// Has something said to somebody, and kept until that has heard it.
pub(crate) fn send(tx: &mut Tx<'_>, target: Target, notice: Notice) {
    let number = tx.run.state.next_message;
    tx.run.state.next_message += 1;
    tx.run.messages.insert(number, Message { target: Some(target), notice: Some(notice) });
    tx.effect(Effect::SendMessage { number });
}
