//! What a run and its workflow tasks fail of, for the log of attempts and the list of errors.

use std::time::Duration;

use steadfast_proto::{
    enums::{TimeoutType, WorkflowTaskFailedCause as FailedCause},
    failure::Failure,
};
use steadfast_retry::Timestamp;

use crate::{
    failure::{cause_of, of_server, of_timeout, type_of},
    machine::{activity_fate::shortened, run_resume, task_park},
    parked::Trouble,
    refused::Cause,
    state::WorkflowTask,
    transition::{Attempt, AttemptOutcome},
    trouble::{RUN, TASK},
    tx::Tx,
};

/// What was decided about a run that has failed.
pub(crate) struct Decided {
    pub(crate) words: String,
    pub(crate) class: &'static str,
    /// How long until the next attempt, if there is one.
    pub(crate) delay: Option<Duration>,
}

/// The run has failed. If no other one goes on in its place, that is an error until somebody has
/// settled it.
pub(crate) fn run_failed(tx: &mut Tx<'_>, outcome: AttemptOutcome, decided: Decided) {
    let attempt = u32::try_from(tx.run.started.attempt).unwrap_or(1).max(1);
    let (AttemptOutcome::Failed(failure) | AttemptOutcome::TimedOut(failure)) = &outcome else {
        return;
    };
    if tx.out.successor.is_none() {
        tx.run.state.resume = run_resume::of_failure(tx, failure);
        tx.run.state.trouble = Some(Trouble {
            error_type: type_of(failure),
            cause: shortened(cause_of(failure)),
            first_at: tx.now.0,
            last_at: tx.now.0,
            attempts: attempt,
            words: decided.words.clone(),
            ..Trouble::default()
        });
    }
    let started_at = Timestamp(tx.run.state.execution_at);
    tx.out.attempts.push(Attempt {
        scheduled_event_id: RUN,
        attempt,
        scheduled_at: tx.run.started_at(),
        started_at: Some(started_at),
        outcome,
        why: decided.words,
        next_at: decided.delay.map(|delay| tx.now.after(delay)),
        policy: tx
            .run
            .started
            .retry_policy
            .as_ref()
            .map(|_| "temporal".to_owned())
            .unwrap_or_default(),
        source: if decided.delay.is_some() { "backoff" } else { "" },
        delay: decided.delay,
        class: decided.class,
        ..Attempt::ended(tx.now)
    });
}

/// The workflow task has failed, and is tried again.
pub(crate) fn task_failed(
    tx: &mut Tx<'_>,
    task: &WorkflowTask,
    cause: FailedCause,
    failure: Option<&Failure>,
) {
    let is_nobodys = matches!(
        cause,
        FailedCause::UnhandledCommand | FailedCause::ForceCloseCommand | FailedCause::ResetWorkflow
    );
    // It was on its way to a poll that had gone; with a failure, the worker was lost.
    let is_returned = cause == FailedCause::ResetStickyTaskQueue && failure.is_none();
    if is_nobodys || is_returned {
        return;
    }
    let name = Cause(cause).as_str_name_camel();
    let failure = failure.cloned().unwrap_or_else(|| of_server(&name, false));
    let trouble = |attempts, first_at| Trouble {
        error_type: name,
        cause: shortened(cause_of(&failure)),
        first_at,
        attempts,
        ..Trouble::default()
    };
    task_tried(tx, task, trouble, AttemptOutcome::Failed(failure.clone()));
}

/// The workflow task took too long, and is tried again.
pub(crate) fn task_timed_out(tx: &mut Tx<'_>, task: &WorkflowTask) {
    let failure = of_timeout(TimeoutType::StartToClose, "workflow task timeout", None);
    let trouble = |attempts, first_at| Trouble {
        error_type: type_of(&failure),
        cause: cause_of(&failure),
        first_at,
        attempts,
        ..Trouble::default()
    };
    task_tried(tx, task, trouble, AttemptOutcome::TimedOut(failure.clone()));
}

fn task_tried(
    tx: &mut Tx<'_>,
    task: &WorkflowTask,
    trouble: impl FnOnce(u32, i64) -> Trouble,
    outcome: AttemptOutcome,
) {
    let before = tx.run.state.task_trouble.take().unwrap_or_default();
    let attempts = before.attempts.saturating_add(1);
    let first_at = if before.attempts == 0 { tx.now.0 } else { before.first_at };
    let parked = task_park::verdict(tx, attempts);
    let (is_parked, words) = (parked.is_some(), parked.unwrap_or_else(|| WORDS.to_owned()));
    tx.run.state.task_trouble = Some(Trouble {
        last_at: tx.now.0,
        words: words.clone(),
        acknowledged: before.acknowledged.filter(|_| !is_parked),
        parked: is_parked,
        resumed_by: before.resumed_by,
        ..trouble(attempts, first_at)
    });
    tx.out.attempts.push(Attempt {
        scheduled_event_id: TASK,
        attempt: attempts,
        identity: task.identity.clone(),
        scheduled_at: Timestamp(task.scheduled_at),
        started_at: Some(Timestamp(task.started_at)),
        outcome,
        why: words,
        parked: is_parked,
        source: if is_parked { "park" } else { "" },
        ..Attempt::ended(tx.now)
    });
}

const WORDS: &str = "retry: workflow tasks are tried until one succeeds";
