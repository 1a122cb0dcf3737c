//! What an activity writes with its result is there exactly if the result is.

use std::collections::BTreeSet;

use steadfast_proto::history::history_event::Attributes;

use super::{Run, Runs};
use crate::{ledger::Fault, wire, world::World};

/// Compares the file with the histories.
pub(super) fn check(world: &World, runs: &Runs, faults: &mut Vec<Fault>) {
    let mut broken = |what: String| faults.push(Fault { what, workflow_id: String::new() });
    let mut written = BTreeSet::new();
    for result in world.host.disk().effects() {
        if written.contains(&result) {
            broken(format!("the effect of {result:?} was written twice"));
        }
        written.insert(result);
    }
    let told = told(runs);
    for result in written.difference(&told) {
        broken(format!("the effect of {result:?} was written, and it is not told"));
    }
    for result in told.difference(&written) {
        broken(format!("{result:?} is told, and its effect was not written"));
    }
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
