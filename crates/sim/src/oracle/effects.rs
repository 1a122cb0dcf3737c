//! What an activity writes with its result is there exactly if the result is.

use std::collections::BTreeSet;

use steadfast_proto::history::history_event::Attributes;

use super::{Run, Runs, promises::is_deleted};
use crate::{
    ledger::{Book, Fault},
    wire,
    world::World,
};

/// Compares the file with the histories.
pub(super) fn check(world: &World, book: &Book, runs: &Runs, faults: &mut Vec<Fault>) {
    let mut broken = |what: String| faults.push(Fault { what, workflow_id: String::new() });
    let mut written = BTreeSet::new();
    for result in world.host.disk().effects() {
        if written.contains(&result) {
            broken(format!("the effect of {result:?} was written twice"));
        }
        written.insert(result);
    }
    let told = told(runs);
    for result in written.difference(&told).filter(|result| !is_of_deleted(book, runs, result)) {
        broken(format!("the effect of {result:?} was written, and it is not told"));
    }
    for result in told.difference(&written) {
        broken(format!("{result:?} is told, and its effect was not written"));
    }
}

/// What was written stays when the run is deleted.
fn is_of_deleted(book: &Book, runs: &Runs, result: &str) -> bool {
    result.split(' ').next().is_some_and(|run_id| is_deleted(book, runs, run_id))
}

/// The results of all activities that wrote something. (A run that starts over has those of the run
/// before it.)
fn told(runs: &Runs) -> BTreeSet<String> {
    let results = runs.values().flat_map(Run::attributes).filter_map(|(_, it)| match it {
        Attributes::ActivityTaskCompletedEventAttributes(it) => {
            Some(wire::text(it.result.as_ref()))
        }
        _ => None,
    });
    results.filter(|result| result.ends_with(wire::WITH_EFFECT)).collect()
}
