//! The judge: compares what the engine tells with what it had promised.
//!
//! It reads every run through the same doors as everybody else (listing, description, history),
//! and knows the programs, so it can tell what each run may have come to.

mod activities;
mod agreement;
mod attempts;
mod chains;
mod effects;
mod errors;
mod histories;
mod promises;
mod results;
mod resumes;
mod schedules;

pub(crate) use agreement::{Glance, glance, history, unpause};
pub(crate) use attempts::{check as check_attempts, check_lost};
pub(crate) use errors::{check as check_errors, compare as compare_errors, look as look_at_errors};

pub(crate) use resumes::check as check_resumes;

use std::collections::BTreeMap;

use steadfast_proto::{
    enums::{WorkflowExecutionStatus as Status, WorkflowTaskFailedCause},
    history::{
        HistoryEvent, WorkflowExecutionStartedEventAttributes as Started, history_event::Attributes,
    },
    workflow::WorkflowExecutionInfo,
    workflowservice as ws,
};

use crate::{ledger::Fault, wire, world::World};

/// A run, as the engine tells it.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The workflow id.
    pub(crate) workflow_id: String,
    /// The run id.
    pub(crate) id: String,
    /// Its row in the listing.
    pub(crate) listed: WorkflowExecutionInfo,
    /// Its description.
    pub(crate) described: ws::DescribeWorkflowExecutionResponse,
    /// Its history.
    pub(crate) events: Vec<HistoryEvent>,
}

/// All runs, by run id.
pub(crate) type Runs = BTreeMap<String, Run>;

/// Reads all runs.
pub(crate) async fn read(world: &World) -> Runs {
    let mut runs = Runs::new();
    for listed in agreement::list(world, "").await {
        let execution = listed.execution.clone().unwrap_or_default();
        let (workflow_id, run_id) = (execution.workflow_id, execution.run_id);
        let Some(described) = agreement::describe(world, &workflow_id, &run_id).await else {
            world.ledger.fault(&workflow_id, format!("{run_id} is listed but not found"));
            continue;
        };
        let events = history(world, &workflow_id, &run_id).await.unwrap_or_default();
        let run = Run { workflow_id, id: run_id.clone(), listed, described, events };
        if let Some(twice) = runs.insert(run_id, run) {
            world.ledger.fault(&twice.workflow_id, format!("{} is listed twice", twice.id));
        }
    }
    runs
}

/// How many runs are open.
pub(crate) async fn open(world: &World) -> Vec<WorkflowExecutionInfo> {
    agreement::list(world, "ExecutionStatus = 'Running'").await
}

/// Checks that counts agree with listings, once nothing happens any more.
pub(crate) async fn count(world: &World, runs: &Runs) {
    let groups = agreement::count(world, "GROUP BY ExecutionStatus").await;
    let mut listed: BTreeMap<String, i64> = BTreeMap::new();
    for run in runs.values() {
        *listed.entry(agreement::status(run.listed.status())).or_default() += 1;
    }
    if groups.as_ref() != Some(&listed) {
        world.ledger.fault("", format!("counted {groups:?}, listed {listed:?}"));
    }
}

/// Judges the world at its end: everything that goes against the rules.
pub(crate) fn judge(world: &World, runs: &Runs) -> Vec<Fault> {
    let book = world.ledger.book();
    let mut faults = book.faults.clone();
    let mut broken = |run: &Run, what: String| {
        faults.push(Fault { what, workflow_id: run.workflow_id.clone() });
    };
    for run in runs.values() {
        histories::check(run, &mut broken);
        let meddled =
            activities::Meddled { held: book.is_held(&run.workflow_id), given_up: book.resumed };
        activities::check(run, meddled, &mut broken);
        results::check(run, &mut broken);
        agreement::check(run, &mut broken);
    }
    chains::check(runs, &mut broken);
    promises::check(&book, runs, &mut faults);
    effects::check(world, &book, runs, &mut faults);
    schedules::check(world, &book.plans, runs, &mut faults);
    faults
}

impl Run {
    /// The attributes of its first event.
    fn started(&self) -> Option<&Started> {
        match self.events.first()?.attributes.as_ref()? {
            Attributes::WorkflowExecutionStartedEventAttributes(started) => Some(started),
            _ => None,
        }
    }

    /// Whether it is another run started over.
    fn is_reset(&self) -> bool {
        self.attributes().any(|(_, it)| match it {
            Attributes::WorkflowTaskFailedEventAttributes(it) => {
                it.cause() == WorkflowTaskFailedCause::ResetWorkflow
            }
            _ => false,
        })
    }

    fn info(&self) -> WorkflowExecutionInfo {
        self.described.workflow_execution_info.clone().unwrap_or_default()
    }

    fn is_open(&self) -> bool {
        self.info().status() == Status::Running
    }

    /// The attributes of all events, with their ids.
    fn attributes(&self) -> impl Iterator<Item = (i64, &Attributes)> {
        self.events.iter().filter_map(|event| Some((event.event_id, event.attributes.as_ref()?)))
    }

    /// The run that came after it in its chain.
    fn next_run_id(&self) -> Option<&str> {
        let next = match self.events.last()?.attributes.as_ref()? {
            Attributes::WorkflowExecutionContinuedAsNewEventAttributes(it) => {
                &it.new_execution_run_id
            }
            Attributes::WorkflowExecutionCompletedEventAttributes(it) => &it.new_execution_run_id,
            Attributes::WorkflowExecutionFailedEventAttributes(it) => &it.new_execution_run_id,
            Attributes::WorkflowExecutionTimedOutEventAttributes(it) => &it.new_execution_run_id,
            _ => return None,
        };
        (!next.is_empty()).then_some(next.as_str())
    }
}

/// Whether an event ends a run.
fn is_close(attributes: &Attributes) -> bool {
    matches!(
        attributes,
        Attributes::WorkflowExecutionCompletedEventAttributes(_)
            | Attributes::WorkflowExecutionFailedEventAttributes(_)
            | Attributes::WorkflowExecutionTimedOutEventAttributes(_)
            | Attributes::WorkflowExecutionCanceledEventAttributes(_)
            | Attributes::WorkflowExecutionTerminatedEventAttributes(_)
            | Attributes::WorkflowExecutionContinuedAsNewEventAttributes(_)
    )
}

/// The newest run of a workflow id.
pub(crate) async fn newest(world: &World, workflow_id: &str) -> Option<String> {
    let described = agreement::describe(world, workflow_id, "").await?;
    Some(described.workflow_execution_info?.execution?.run_id)
}

/// How a run was started, if it can be read.
pub(crate) async fn started(world: &World, workflow_id: &str, run_id: &str) -> Option<Started> {
    let events = history(world, workflow_id, run_id).await?;
    match events.into_iter().next()?.attributes? {
        Attributes::WorkflowExecutionStartedEventAttributes(started) => Some(*started),
        _ => None,
    }
}

/// What a restart changed, which it must not.
pub(crate) fn compare(before: &Runs, after: &Runs) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (run_id, run) in before {
        let changed = match after.get(run_id) {
            None => "is gone",
            Some(again) if again.events != run.events => "has another history",
            Some(again) if again.listed != run.listed => "is listed otherwise",
            Some(again) if again.described != run.described => "is described otherwise",
            Some(_) => continue,
        };
        let what = format!("{run_id} {changed} after a restart");
        faults.push(Fault { what, workflow_id: run.workflow_id.clone() });
    }
    faults
}

/// The histories of a workflow's runs, for people.
pub(crate) fn show(runs: &Runs, workflow_id: &str) -> String {
    let shown = runs.values().filter(|run| run.workflow_id == workflow_id).map(show_one);
    shown.collect::<Vec<_>>().join("\n")
}

/// All histories, for people.
pub(crate) fn show_all(runs: &Runs) -> String {
    runs.values().map(show_one).collect::<Vec<_>>().join("\n")
}

fn show_one(run: &Run) -> String {
    let text = steadfast_core::text::history(&run.events);
    let input = run.started().map(|started| wire::text(started.input.as_ref()));
    format!("{} {} input={}\n{text}", run.workflow_id, run.id, input.unwrap_or_default())
}
