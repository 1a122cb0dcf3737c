//! Runs among each other: one open run a workflow id, chains without a gap, parents that hear of
//! their children.

use std::collections::BTreeMap;

use steadfast_proto::{common::WorkflowExecution, history::history_event::Attributes};

use super::{Run, Runs};
use crate::program::{Ended, View};

/// Checks all runs together.
pub(super) fn check(runs: &Runs, broken: &mut impl FnMut(&Run, String)) {
    let mut open: BTreeMap<&str, &str> = BTreeMap::new();
    for run in runs.values() {
        if run.is_open()
            && let Some(other) = open.insert(&run.workflow_id, &run.id)
        {
            broken(run, format!("{other} is open too"));
        }
        next(runs, run, broken);
        previous(runs, run, broken);
        children(runs, run, broken);
        parent(runs, run, broken);
    }
}

fn next(runs: &Runs, run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let Some(next) = run.next_run_id() else { return };
    let Some(started) = runs.get(next).and_then(Run::started) else {
        broken(run, format!("its next run {next} is not there"));
        return;
    };
    let first = run.started().map(|it| it.first_execution_run_id.clone()).unwrap_or_default();
    if started.continued_execution_run_id != run.id || started.first_execution_run_id != first {
        broken(run, format!("its next run {next} does not name it"));
    }
}

fn previous(runs: &Runs, run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let Some(started) = run.started().filter(|_| !run.is_reset()) else { return };
    let previous = &started.continued_execution_run_id;
    if previous.is_empty() {
        return;
    }
    let next = runs.get(previous).and_then(Run::next_run_id);
    if next != Some(run.id.as_str()) {
        broken(run, format!("the run before it, {previous}, names {next:?} as its next one"));
    }
}

/// A parent that has closed by itself waited for its children, or left them. Whatever it heard of a
/// child is how that child's chain ended.
fn children(runs: &Runs, run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let view = View::of(&run.events);
    let mut begun: BTreeMap<i64, String> = BTreeMap::new();
    for (_, attributes) in run.attributes() {
        if let Attributes::ChildWorkflowExecutionStartedEventAttributes(it) = attributes {
            let child = it.workflow_execution.clone().unwrap_or_default();
            begun.insert(it.initiated_event_id, child.run_id);
        }
    }
    for (name, child) in &view.children {
        let Some(first) = begun.get(&child.begun) else { continue };
        let Some(last) = last_of_chain(runs, first) else {
            broken(run, format!("its child {name} {first} is not there"));
            continue;
        };
        let ended = how(last);
        match child.ended {
            Some((_, heard)) if ended != Some(heard) => {
                broken(run, format!("it heard that {name} {heard:?}, but it {ended:?}"));
            }
            None if run.is_open() && ended.is_some() => {
                broken(run, format!("it never heard that {name} {ended:?}"));
            }
            Some(_) | None => {}
        }
    }
}

/// A run that has a parent was sent for by it, once, and the parent knows.
fn parent(runs: &Runs, run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let Some((of, initiated)) = sent_for(run) else { return };
    let Some(parent) = runs.get(&of.run_id) else {
        broken(run, format!("its parent {} is not there", of.run_id));
        return;
    };
    let view = View::of(&parent.events);
    let known = view.children.get(&run.workflow_id).filter(|child| child.begun == initiated);
    match known.map(|child| child.ended) {
        None => broken(run, format!("its parent {} did not send for it", of.run_id)),
        Some(Some((_, Ended::NotStarted))) => {
            broken(run, format!("its parent {} heard that it could not be started", of.run_id));
        }
        Some(_) => {}
    }
    let same = |other: &&Run| {
        other.id < run.id
            && other.workflow_id == run.workflow_id
            && sent_for(other) == sent_for(run)
    };
    if let Some(other) = runs.values().find(same) {
        broken(run, format!("{} was begun for the same request of its parent", other.id));
    }
}

/// The parent that began this chain, and by which event; a reset run was begun by an operator.
fn sent_for(run: &Run) -> Option<(WorkflowExecution, i64)> {
    let started = run.started().filter(|it| it.continued_execution_run_id.is_empty())?;
    let parent = started.parent_workflow_execution.clone().filter(|_| !run.is_reset())?;
    Some((parent, started.parent_initiated_event_id))
}

fn last_of_chain<'a>(runs: &'a Runs, first: &str) -> Option<&'a Run> {
    let mut run = runs.get(first)?;
    while let Some(next) = run.next_run_id() {
        run = runs.get(next)?;
    }
    Some(run)
}

fn how(run: &Run) -> Option<Ended> {
    match run.events.last()?.attributes.as_ref()? {
        Attributes::WorkflowExecutionCompletedEventAttributes(_) => Some(Ended::Well),
        Attributes::WorkflowExecutionFailedEventAttributes(_) => Some(Ended::Failed),
        Attributes::WorkflowExecutionTimedOutEventAttributes(_) => Some(Ended::TimedOut),
        Attributes::WorkflowExecutionCanceledEventAttributes(_) => Some(Ended::Cancelled),
        Attributes::WorkflowExecutionTerminatedEventAttributes(_) => Some(Ended::Terminated),
        _ => None,
    }
}
