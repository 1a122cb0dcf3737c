//! Tells whoever wants to know that work was parked, or was given up for good.
//!
//! What is said is a message of the run: kept until it was heard, whatever crashes.

use serde_json::json;
use steadfast_retry::Timestamp;

use crate::{
    letter::{Notice, Target, Told},
    machine::{close::send, task_park},
    rulebook::{Ear, Listener},
    run::Run,
    span::kept,
    state::Activity,
    trouble::{self, ErrorState, RunError, TASK},
    tx::Tx,
};

/// Tells of what the transition under way has parked or buried.
pub(crate) fn of_failures(tx: &mut Tx<'_>) {
    let listeners = &tx.rules.listeners;
    if listeners.is_empty() {
        return;
    }
    let parked = tx.run.activities.touched().filter(|id| is_newly_parked(tx.run, **id));
    let buried = tx.run.letters.touched().filter(|id| is_newly_buried(tx.run, **id));
    let mut subjects: Vec<i64> = parked.chain(buried).copied().collect();
    subjects.extend(task_park::is_newly_parked(tx).then_some(TASK));
    subjects.sort_unstable();
    for subject in subjects {
        let Some(error) = error(tx.run, subject) else { continue };
        let body = document(tx.run, &error, tx.now);
        let wants = |listener: &&Listener| match error.state {
            ErrorState::Parked => listener.parked,
            ErrorState::Dead => listener.dead,
            ErrorState::Retrying | ErrorState::Failed => false,
        };
        for listener in listeners.iter().filter(wants) {
            say(tx, &listener.ear, body.clone());
        }
    }
}

fn say(tx: &mut Tx<'_>, ear: &Ear, body: String) {
    let namespace_id = tx.run.identity.namespace_id.clone();
    match ear {
        Ear::Webhook(url) => {
            let told = Told { to: url.clone(), body };
            send(tx, Target { namespace_id, ..Target::default() }, Notice::Webhook(told));
        }
        Ear::Signal { workflow_id, name } => {
            let workflow_id = workflow_id.clone();
            let target = Target { namespace_id, workflow_id, ..Target::default() };
            send(tx, target, Notice::Signal(Told { to: name.clone(), body }));
        }
    }
}

fn error(run: &Run, subject: i64) -> Option<RunError> {
    let buried = || run.letters.get(&subject).map(|letter| trouble::of_letter(subject, letter));
    let of_task = || trouble::of_task(&run.state).filter(|_| subject == TASK);
    let of_activity = run.activities.get(&subject).and_then(trouble::of_activity);
    of_activity.or_else(buried).or_else(of_task)
}

fn is_newly_parked(run: &Run, id: i64) -> bool {
    let before = run.activities.original(&id);
    let now = run.activities.get(&id);
    now.is_some_and(Activity::is_parked) && !before.is_some_and(Activity::is_parked)
}

fn is_newly_buried(run: &Run, id: i64) -> bool {
    run.letters.get(&id).is_some() && run.letters.original(&id).is_none()
}

/// What is said of an error. Times are in seconds since the epoch.
fn document(run: &Run, error: &RunError, now: Timestamp) -> String {
    let seconds = |at: Timestamp| at.nanos() / 1_000_000_000;
    json!({
        "event": error.state.name(),
        "namespace": run.identity.namespace,
        "workflowId": run.identity.workflow_id,
        "runId": run.identity.run_id,
        "workflowType": run.workflow_type(),
        "activityId": error.activity_id,
        "activityType": error.activity_type,
        "scheduledEventId": error.subject,
        "attempts": error.attempts,
        "errorType": error.error_type,
        "cause": error.cause,
        "reason": error.reason,
        "nextResumeAt": error.next_at.and_then(|at| kept(at.nanos())).map(seconds),
        "at": seconds(now),
    })
    .to_string()
}
