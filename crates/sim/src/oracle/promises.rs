//! Nothing that was acknowledged is lost, and nothing counts twice.

use std::collections::BTreeMap;

use steadfast_proto::history::history_event::Attributes;

use super::{Run, Runs};
use crate::{
    ledger::{Book, Fault},
    wire,
};

/// Holds the engine to what it promised.
pub(super) fn check(book: &Book, runs: &Runs, faults: &mut Vec<Fault>) {
    let mut broken = |workflow_id: &str, what: String| {
        faults.push(Fault { what, workflow_id: workflow_id.to_owned() });
    };
    signals(book, runs, &mut broken);
    starts(book, runs, &mut broken);
    ends(book, runs, &mut broken);
    closes(book, runs, &mut broken);
    updates(book, runs, &mut broken);
    activities(book, runs, &mut broken);
    deletions(book, runs, &mut broken);
}

/// Whether a run is not there because somebody wanted it so.
pub(super) fn is_deleted(book: &Book, runs: &Runs, run_id: &str) -> bool {
    book.deletions.contains_key(run_id) && !runs.contains_key(run_id)
}

fn deletions(book: &Book, runs: &Runs, broken: &mut impl FnMut(&str, String)) {
    let promised = book.deletions.iter().filter(|(_, it)| it.acknowledged);
    for (run_id, deletion) in promised.filter(|(run_id, _)| runs.contains_key(*run_id)) {
        broken(&deletion.workflow_id, format!("{run_id} was deleted and is still there"));
    }
}

fn starts(book: &Book, runs: &Runs, broken: &mut impl FnMut(&str, String)) {
    for (request_id, start) in &book.starts {
        for run_id in &start.runs {
            if !runs.contains_key(run_id) {
                let what = format!("{request_id} began {run_id}, which is not there");
                broken(&start.workflow_id, what);
            }
        }
        for pair in start.runs.windows(2) {
            if pair[0] != pair[1] && !is_forgotten(runs, &pair[0], &pair[1]) {
                broken(&start.workflow_id, format!("{request_id} began both {pair:?}"));
            }
        }
    }
}

/// A start that is repeated is known by the newest chain of its workflow id: whether another chain
/// began between these two runs.
fn is_forgotten(runs: &Runs, first: &str, second: &str) -> bool {
    let at = |run: &Run| wire::instant(run.info().start_time.as_ref());
    let (Some(first), Some(second)) = (runs.get(first), runs.get(second)) else { return false };
    runs.values().any(|run| {
        let chain = run.started().map_or("", |started| &started.first_execution_run_id);
        run.workflow_id == first.workflow_id
            && chain != first.id
            && chain != second.id
            && at(first) <= at(run)
            && at(run) <= at(second)
    })
}

fn signals(book: &Book, runs: &Runs, broken: &mut impl FnMut(&str, String)) {
    let mut found: BTreeMap<String, BTreeMap<&str, u32>> = BTreeMap::new();
    for run in runs.values() {
        for (_, attributes) in run.attributes() {
            if let Attributes::WorkflowExecutionSignaledEventAttributes(it) = attributes
                && it.signal_name == "poke"
            {
                let text = wire::text(it.input.as_ref());
                *found.entry(text).or_default().entry(&run.id).or_default() += 1;
            }
        }
    }
    for (text, signal) in &book.signals {
        let places = found.remove(text).unwrap_or_default();
        if signal.acknowledged && places.is_empty() {
            broken(&signal.workflow_id, format!("{text} was acknowledged and is in no history"));
        }
        for (run_id, count) in places {
            // A reset takes signals over into the run that starts over.
            let is_reset = runs.get(run_id).is_some_and(Run::is_reset);
            let astray = !signal.run_id.is_empty() && signal.run_id != run_id && !is_reset;
            if count > 1 || astray {
                broken(&signal.workflow_id, format!("{text} is in {run_id} {count} times"));
            }
        }
    }
}

fn ends(book: &Book, runs: &Runs, broken: &mut impl FnMut(&str, String)) {
    for (workflow_id, run_id, at) in &book.cancels {
        let requests = count(runs.get(run_id), |it| {
            matches!(it, Attributes::WorkflowExecutionCancelRequestedEventAttributes(_))
        });
        // A run that has closed takes a cancel request as carried out.
        let closed = runs.get(run_id).and_then(|run| run.info().close_time);
        let was_closed = closed.is_some_and(|closed| wire::instant(Some(&closed)) <= *at);
        if requests != 1 && !(requests == 0 && was_closed) {
            broken(workflow_id, format!("{run_id} was cancelled, which it tells {requests} times"));
        }
    }
    for (reason, (workflow_id, run_id, acknowledged)) in &book.terminations {
        let told = count(runs.get(run_id), |it| match it {
            Attributes::WorkflowExecutionTerminatedEventAttributes(it) => it.reason == *reason,
            _ => false,
        });
        if *acknowledged && told != 1 {
            broken(workflow_id, format!("{reason} of {run_id} was acknowledged and is not told"));
        }
    }
}

fn closes(book: &Book, runs: &Runs, broken: &mut impl FnMut(&str, String)) {
    for close in &book.closes {
        let last = runs.get(&close.run_id).and_then(|run| run.events.last());
        if last != Some(&close.event) {
            let what = format!("{} was seen to close otherwise than it did", close.run_id);
            broken(&close.workflow_id, what);
        }
    }
}

fn updates(book: &Book, runs: &Runs, broken: &mut impl FnMut(&str, String)) {
    for (update_id, (workflow_id, run_id, _)) in &book.updates {
        let told = count(runs.get(run_id), |it| match it {
            Attributes::WorkflowExecutionUpdateCompletedEventAttributes(it) => {
                it.meta.as_ref().is_some_and(|meta| meta.update_id == *update_id)
            }
            _ => false,
        });
        if told != 1 {
            broken(workflow_id, format!("{update_id} completed in {run_id}, told {told} times"));
        }
    }
}

fn activities(book: &Book, runs: &Runs, broken: &mut impl FnMut(&str, String)) {
    for (key, delivery) in &book.deliveries {
        let Some(result) = &delivery.completed else { continue };
        let told = count(runs.get(&key.run_id), |it| match it {
            Attributes::ActivityTaskCompletedEventAttributes(it) => {
                wire::text(it.result.as_ref()) == *result
            }
            _ => false,
        });
        if told != 1 && !is_deleted(book, runs, &key.run_id) {
            let what = format!("the result {result:?} was acknowledged, and is told {told} times");
            broken(&delivery.workflow_id, what);
        }
    }
}

fn count(run: Option<&Run>, which: impl Fn(&Attributes) -> bool) -> usize {
    run.map_or(0, |run| run.attributes().filter(|(_, it)| which(it)).count())
}
