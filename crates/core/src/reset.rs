//! A run starts over from an earlier point: a new run with the history up to there.
//!
//! ```text
//!  base:  1 2 3 4 5 6 7 8 9          F = 6: the end of the workflow task to do again
//!  new:   1 2 3 4 5 │ failed(reset), <signals and updates that came after>, scheduled
//! ```
//!
//! What came after may have come to the base run or to those that it went on as. Of the latter only
//! signals and updates count: what else is in them is about things that the base run knows nothing of.

use std::{collections::BTreeSet, time::Duration};

use steadfast_proto::{
    enums::{
        ResetReapplyExcludeType as Exclude, RetryState, UpdateAdmittedEventOrigin,
        WorkflowTaskFailedCause as FailedCause,
    },
    history::{self, HistoryEvent, history_event::Attributes},
    update::Request,
};

use crate::{
    ending,
    failure::of_reset,
    machine::{activity_retry, close, update, workflow_task},
    refused::Refused,
    run::{Identity, Run},
    span::from_wire,
    state::{CadenceTerms, Child, Target},
    transition::{Effect, Transition},
    tx::{Context, Tx},
};

/// What to start over, and how.
#[derive(Clone, Debug, Default)]
pub struct Reset {
    /// The run that it starts over from.
    pub base_run_id: String,
    /// The new run.
    pub identity: Identity,
    /// The request.
    pub request_id: String,
    /// Why.
    pub reason: String,
    /// Who.
    pub operator: String,
    /// The event at which to cut: the end of the workflow task to do again.
    pub finish_event_id: i64,
    /// The parent's run that has taken the base run on, where its first event names another one.
    pub parent_run_id: String,
    /// Set if the base run was started in Cadence's terms.
    pub cadence: Option<CadenceTerms>,
    /// The first of the runs that were tried for the same work, where the base run is not it.
    pub first_tried_run_id: String,
    /// The schedule that started the base run and hears of the new one's end.
    pub scheduled_by: Option<Target>,
    /// How often the work was resumed after a run of it had failed, with this one.
    pub resumes: u32,
    /// What is not taken over from after the cut.
    pub exclude: BTreeSet<i32>,
}

/// What has happened so far.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// The base run's history.
    pub events: Vec<HistoryEvent>,
    /// What waits in the base run for a workflow task to end.
    pub buffered: Vec<HistoryEvent>,
    /// Of the runs that the base run went on as, those that [`Reset::takes_over`].
    pub later: Vec<HistoryEvent>,
}

impl Reset {
    /// Whether what happened to a run after the base run is to happen to the new one: it came from
    /// outside, and is wanted.
    pub fn takes_over(&self, event: &HistoryEvent) -> bool {
        let kind = match &event.attributes {
            Some(Attributes::WorkflowExecutionSignaledEventAttributes(_)) => Exclude::Signal,
            Some(
                Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(_)
                | Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(_),
            ) => Exclude::Update,
            _ => return false,
        };
        !self.exclude.contains(&i32::from(kind))
    }
}

impl Run {
    /// Starts over.
    #[expect(clippy::needless_pass_by_value, reason = "a request is used up")]
    pub fn reset(
        past: Past,
        reset: Reset,
        context: Context<'_>,
    ) -> Result<(Self, Transition), Refused> {
        let Past { events, buffered, later } = past;
        let cut = reset.finish_event_id;
        let last = events.last().map_or(0, |event| event.event_id);
        if cut <= 1 || cut > last + 1 {
            let problem = "Workflow task finish ID must be > 1 && <= workflow last event ID.";
            return Err(invalid(problem.to_owned()));
        }
        let (kept, rest): (Vec<_>, Vec<_>) =
            events.into_iter().partition(|event| event.event_id < cut);
        let mut run = Self::rebuild(reset.identity.clone(), &kept);
        if run.state.task.is_none() {
            let problem = format!(
                "Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, \
                 WorkflowTaskStarted + 1]: {cut}"
            );
            return Err(invalid(problem));
        }
        run.state.create_request_id.clone_from(&reset.request_id);
        run.state.parent_run_id.clone_from(&reset.parent_run_id);
        run.state.cadence = reset.cadence;
        run.state.first_tried_run_id.clone_from(&reset.first_tried_run_id);
        run.state.scheduled_by.clone_from(&reset.scheduled_by);
        run.state.resumes = reset.resumes;
        let mut tx = Tx::begin(&mut run, context);
        renew_limits(&mut tx);
        fail_task(&mut tx, &reset);
        revive_activities(&mut tx, &reset);
        for event in rest.into_iter().chain(buffered) {
            reapply(&mut tx, &event, &reset);
            reapply_child(&mut tx, event);
        }
        for event in later {
            reapply(&mut tx, &event, &reset);
        }
        revive_requests(&mut tx);
        workflow_task::want(&mut tx);
        workflow_task::schedule_wanted(&mut tx);
        tx.out.visible = true;
        let mut transition = tx.commit();
        transition.events.put_before(kept);
        Ok((run, transition))
    }
}

/// The time that a run and its chain may take is counted anew: what starts over after they have
/// passed would end at once otherwise.
fn renew_limits(tx: &mut Tx<'_>) {
    let until = |limit: Option<&_>| match from_wire(limit) {
        Duration::ZERO => 0,
        limit => tx.now.after(limit).0,
    };
    let chain = until(tx.run.started.workflow_execution_timeout.as_ref());
    let run = until(tx.run.started.workflow_run_timeout.as_ref());
    tx.run.state.chain_expires_at = chain;
    tx.run.state.run_expires_at = if chain == 0 { run } else { run.min(chain) };
    if let Some(terms) = &mut tx.run.state.cadence
        && terms.expiration > 0
    {
        terms.expires_at = tx.now.0.saturating_add(terms.expiration);
    }
}

fn fail_task(tx: &mut Tx<'_>, reset: &Reset) {
    let Some(task) = tx.run.state.task.clone() else { return };
    let started_event_id = if task.is_started() {
        task.started_event_id
    } else {
        tx.append(history::WorkflowTaskStartedEventAttributes {
            scheduled_event_id: task.scheduled_event_id,
            identity: workflow_task::ENGINE.to_owned(),
            request_id: reset.request_id.clone(),
            ..history::WorkflowTaskStartedEventAttributes::default()
        })
    };
    tx.append(history::WorkflowTaskFailedEventAttributes {
        scheduled_event_id: task.scheduled_event_id,
        started_event_id,
        cause: FailedCause::ResetWorkflow.into(),
        failure: Some(of_reset(&reset.reason, None)),
        identity: reset.operator.clone(),
        base_run_id: reset.base_run_id.clone(),
        new_run_id: reset.identity.run_id.clone(),
        ..history::WorkflowTaskFailedEventAttributes::default()
    });
    tx.run.state.task_attempt = 1;
    tx.run.state.sticky = None;
}

/// Those whose start is in the history cannot be repeated; the others begin anew.
fn revive_activities(tx: &mut Tx<'_>, reset: &Reset) {
    let pending: Vec<(i64, i64)> =
        tx.run.activities.iter().map(|(id, it)| (*id, it.row.started_event_id)).collect();
    for (id, started_event_id) in pending {
        if started_event_id == 0 {
            if let Some(activity) = tx.run.activities.get_mut(&id) {
                activity.row.first_scheduled_at = tx.now.0;
                activity.row.scheduled_at = tx.now.0;
            }
            activity_retry::enqueue(tx, id);
        } else {
            let failure = of_reset(&reset.reason, None);
            tx.append(history::ActivityTaskFailedEventAttributes {
                failure: Some(failure),
                scheduled_event_id: id,
                started_event_id,
                retry_state: RetryState::NonRetryableFailure.into(),
                ..history::ActivityTaskFailedEventAttributes::default()
            });
        }
    }
}

/// What was asked of other runs and not answered is asked again, and the children that run are told
/// whose they are now.
fn revive_requests(tx: &mut Tx<'_>) {
    let children: Vec<(i64, Child)> =
        tx.run.children.iter().map(|(id, child)| (*id, child.clone())).collect();
    let externals: Vec<i64> = tx.run.externals.iter().map(|(id, _)| *id).collect();
    for (initiated_event_id, child) in children {
        if child.row.run_id.is_empty() {
            tx.effect(Effect::StartChild { initiated_event_id });
        } else {
            close::adopt_child(tx, initiated_event_id, &child);
        }
    }
    for initiated_event_id in externals {
        tx.effect(Effect::SendExternal { initiated_event_id });
    }
}

/// What came from outside after the cut is not lost.
fn reapply(tx: &mut Tx<'_>, event: &HistoryEvent, reset: &Reset) {
    if !reset.takes_over(event) {
        return;
    }
    match &event.attributes {
        Some(Attributes::WorkflowExecutionSignaledEventAttributes(signal)) => {
            tx.append(signal.clone());
        }
        Some(Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(admitted)) => {
            readmit(tx, admitted.request.as_ref());
        }
        Some(Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted)) => {
            readmit(tx, accepted.accepted_request.as_ref());
        }
        _ => {}
    }
}

/// An update has its id in its own run only: another one of the same id, in a later run, has no
/// place in the new one, which would take it for the first.
fn readmit(tx: &mut Tx<'_>, request: Option<&Request>) {
    let Some(request) = request else { return };
    if tx.run.updates.get(&update::id_of(request)).is_some() {
        return;
    }
    tx.append(history::WorkflowExecutionUpdateAdmittedEventAttributes {
        request: Some(request.clone()),
        origin: UpdateAdmittedEventOrigin::Reapply.into(),
    });
}

/// The children of the kept part live on: what became of them holds for the new run too.
fn reapply_child(tx: &mut Tx<'_>, mut event: HistoryEvent) {
    let Some(initiated) = child_of(&event) else { return };
    let Some(child) = tx.run.children.get(&initiated) else { return };
    // The start may have got another place in the new history.
    ending::set_started(&mut event, child.row.started_event_id);
    if let Some(attributes) = event.attributes {
        tx.append(attributes);
    }
}

/// The event that asked for the child that `event` tells of.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are not about children")]
fn child_of(event: &HistoryEvent) -> Option<i64> {
    Some(match event.attributes.as_ref()? {
        Attributes::StartChildWorkflowExecutionFailedEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionStartedEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionCompletedEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionFailedEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionCanceledEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionTimedOutEventAttributes(it) => it.initiated_event_id,
        Attributes::ChildWorkflowExecutionTerminatedEventAttributes(it) => it.initiated_event_id,
        _ => return None,
    })
}

fn invalid(problem: String) -> Refused {
    Refused::Invalid { field: "workflow_task_finish_event_id", problem }
}
