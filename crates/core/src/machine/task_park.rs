//! A parked workflow task: the run's code fails over and over, and waits for somebody to mend it.
//!
//! As a rule workflow tasks are tried until one succeeds. Where operators say after how many failures in
//! a row it is enough, the task is kept and handed to nobody. What happens outside goes on into the
//! history; a resume has the code tried once more.

use crate::{
    parked::{is_repeated, remember},
    refused::Refused,
    resume_task::ResumeTask,
    state::WorkflowTask,
    transition::Effect,
    tx::Tx,
};

/// Says in words that so many failures in a row are enough, if they are.
pub(crate) fn verdict(tx: &Tx<'_>, failures: u32) -> Option<String> {
    let enough = tx.rules.tasks_park_after;
    let is_enough = enough > 0 && failures >= enough;
    is_enough.then(|| format!("park: {failures} workflow tasks in a row have failed"))
}

/// Keeps the task that was just scheduled, if it was decided so when the last one failed.
pub(crate) fn keep_if_parked(tx: &mut Tx<'_>) {
    let is_parked = tx.run.state.task_trouble.as_ref().is_some_and(|it| it.parked);
    if let Some(task) = &mut tx.run.state.task {
        task.parked = is_parked;
    }
}

/// Whether the transition under way has parked it.
pub(crate) fn is_newly_parked(tx: &Tx<'_>) -> bool {
    let parked = |task: Option<&WorkflowTask>| task.is_some_and(|task| task.parked);
    tx.run.is_open() && parked(tx.run.state.task.as_ref()) && !parked(tx.before().task.as_ref())
}

/// Lets it be tried once more. If it fails again, it waits again.
pub(crate) fn resume(tx: &mut Tx<'_>, input: &ResumeTask) -> Result<(), Refused> {
    let now = tx.now;
    let state = &mut tx.run.state;
    let Some(trouble) = &mut state.task_trouble else { return Err(Refused::TaskNotParked) };
    if is_repeated(&trouble.resumed_by, &input.request_id) {
        return Ok(());
    }
    let Some(task) = state.task.as_mut().filter(|task| task.parked) else {
        return Err(Refused::TaskNotParked);
    };
    task.parked = false;
    task.held_until = 0;
    task.scheduled_at = now.0;
    trouble.parked = false;
    remember(&mut trouble.resumed_by, &input.request_id);
    trouble.acknowledged = None;
    trouble.words = if input.reason.is_empty() {
        format!("resumed by {}", input.identity)
    } else {
        format!("resumed by {}: {}", input.identity, input.reason)
    };
    tx.effect(Effect::WorkflowTaskReady);
    Ok(())
}
