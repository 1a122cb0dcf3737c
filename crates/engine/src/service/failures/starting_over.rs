//! A failed run goes on from before the step that failed: by hand, or when a resume policy says so.
//!
//! ```text
//!  the run is due ──▶ its shard hands it over ──▶ its history is read ──▶ it is reset, if still so
//!                          ▲ after a crash              ▲       │ the store does not answer
//!                                                       └───────┘ a little later
//! ```

use std::sync::{Arc, Weak};

use steadfast_core::{ClearResume, Input, RUN, ResumedBy, Selector};
use steadfast_proto::{
    common::WorkflowExecution,
    history::{HistoryEvent, history_event::Attributes},
    workflowservice::ResetWorkflowExecutionRequest,
};
use steadfast_store::{ErrorEntry, RunNumber};

use super::acting::address_of;
use crate::{
    errands,
    error::{Code, Error},
    failures::Who,
    history,
    namespaces::Namespace,
    running::Running,
    service::Engine,
};

impl Engine {
    /// Begins to have failed runs go on when a policy says so.
    pub(crate) fn start_runs_over(&self) {
        let Some(due) = self.shared().start_overs.take() else { return };
        let running = Arc::downgrade(&self.running);
        let start_one_over = move |run| start_over(running.clone(), run);
        self.running.spawn(errands::run(due, AT_ONCE_MAX, start_one_over));
    }

    /// Resets a failed run to before the step that failed. Gives the run that goes on.
    pub(super) async fn start_over(
        &self,
        namespace: &Namespace,
        entry: &ErrorEntry,
        who: &Who,
        request_id: String,
        by: ResumedBy,
    ) -> Result<String, Error> {
        let last_event_id = self.look(address_of(entry), |_, run| run.last_event_id()).await?;
        let events = history::all(&**self.store(), entry.run, last_event_id).await?;
        let before = before_the_failure(&events).ok_or_else(|| {
            let what = "the run failed before its code ran for the first time: start it again";
            Error::new(Code::FailedPrecondition, what)
        })?;
        let request = ResetWorkflowExecutionRequest {
            namespace: namespace.name.clone(),
            workflow_execution: Some(WorkflowExecution {
                workflow_id: entry.identity.workflow_id.clone(),
                run_id: entry.identity.run_id.clone(),
            }),
            reason: who.reason.clone(),
            identity: who.identity.clone(),
            workflow_task_finish_event_id: before,
            request_id,
            ..ResetWorkflowExecutionRequest::default()
        };
        Ok(self.reset(request, Some(by)).await?.run_id)
    }

    /// A policy has a failed run go on now. If it cannot, the run says why.
    async fn start_over_by_policy(&self, run: RunNumber) -> Result<(), Error> {
        // If it is settled, somebody was faster.
        let Some(entry) = self.store().error(run, RUN).await? else { return Ok(()) };
        let error = match self.try_to_start_over(&entry).await {
            Err(error) if !error.code.is_passing() => error,
            outcome => return outcome.map(drop),
        };
        let workflow = &entry.identity.workflow_id;
        tracing::info!(%error, workflow, "a failed run is not resumed");
        let clear = ClearResume {
            selector: Selector::Event(RUN),
            identity: ENGINE.to_owned(),
            reason: error.message,
        };
        let input = Input::ClearResume(clear);
        match self.apply(address_of(&entry), String::new(), input, |_| ()).await {
            Err(error) if error.code.is_passing() => Err(error),
            // It is gone, or has nothing to call off any more.
            Err(_) | Ok(()) => Ok(()),
        }
    }

    async fn try_to_start_over(&self, entry: &ErrorEntry) -> Result<String, Error> {
        let namespace = self.shared().namespaces.with_id(&entry.identity.namespace)?;
        let reason = format!("resume policy {}", entry.row.reason);
        let who = Who { identity: ENGINE.to_owned(), reason };
        // A run fails once: the same request is the same resume.
        let request_id = format!("resume-policy/{}", entry.identity.run_id);
        self.start_over(&namespace, entry, &who, request_id, ResumedBy::Policy).await
    }
}

/// Has one run go on, tried until the store answers.
async fn start_over(running: Weak<Running>, run: RunNumber) {
    loop {
        let Some(engine) = Engine::upgrade(&running) else { return };
        let Err(error) = engine.start_over_by_policy(run).await else { return };
        tracing::warn!(%error, run = run.0, "a failed run is resumed a little later");
        let shared = Arc::clone(engine.shared());
        drop(engine);
        shared.clock.sleep(shared.limits.commit_retry.1).await;
    }
}

/// The workflow task after whose start a failed run is to go on: the one that asked for the step that
/// failed last, so that it is asked for again; if no step failed, the last one.
fn before_the_failure(events: &[HistoryEvent]) -> Option<i64> {
    let failed = events.iter().rev().find_map(|event| failed_step(event.attributes.as_ref()?));
    let place = failed.and_then(|id| usize::try_from(id - 1).ok());
    let asked = place.and_then(|place| asked_by(events.get(place)?.attributes.as_ref()?));
    let is_completion = |event: &&HistoryEvent| {
        matches!(event.attributes, Some(Attributes::WorkflowTaskCompletedEventAttributes(_)))
    };
    asked.or_else(|| events.iter().rev().find(is_completion).map(|event| event.event_id))
}

/// The event that asked for a step which, as this event says, has failed.
fn failed_step(event: &Attributes) -> Option<i64> {
    if let Attributes::ActivityTaskFailedEventAttributes(it) = event {
        return Some(it.scheduled_event_id);
    }
    if let Attributes::ActivityTaskTimedOutEventAttributes(it) = event {
        return Some(it.scheduled_event_id);
    }
    if let Attributes::ChildWorkflowExecutionFailedEventAttributes(it) = event {
        return Some(it.initiated_event_id);
    }
    if let Attributes::ChildWorkflowExecutionTimedOutEventAttributes(it) = event {
        return Some(it.initiated_event_id);
    }
    None
}

/// The workflow task that asked for a step.
fn asked_by(event: &Attributes) -> Option<i64> {
    if let Attributes::ActivityTaskScheduledEventAttributes(it) = event {
        return Some(it.workflow_task_completed_event_id);
    }
    if let Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(it) = event {
        return Some(it.workflow_task_completed_event_id);
    }
    None
}

/// Who does what nobody did by hand.
const ENGINE: &str = "steadfast";

/// Histories that are read at once.
const AT_ONCE_MAX: usize = 16;
