//! Schedules start what they should: each time once, none left out, and no two runs at once that may
//! not be.

use std::{collections::BTreeMap, time::Duration};

use steadfast_engine::Timestamp;
use steadfast_proto::enums::ScheduleOverlapPolicy as Overlap;

use super::{Run, Runs};
use crate::{
    ledger::{Fault, Plan},
    wire,
    world::World,
};

/// Checks what the schedules of a world have started.
pub(super) fn check(
    world: &World,
    plans: &BTreeMap<String, Plan>,
    runs: &Runs,
    faults: &mut Vec<Fault>,
) {
    for (id, plan) in plans {
        let begun = begun(id, runs);
        let mut broken = |workflow_id: &str, what: String| {
            faults.push(Fault { what, workflow_id: workflow_id.to_owned() });
        };
        // A trigger may be for the same second as a time of its own.
        if plan.is_left_alone {
            once(&begun, &mut broken);
            without_gap(id, plan, &begun, &mut broken);
            in_turn(world, plan, runs, &begun, &mut broken);
        }
    }
}

/// A run that a schedule has started, and the time for which it did.
struct Begun<'a> {
    run: &'a Run,
    time: Timestamp,
}

/// The runs that a schedule has started, by their times; of each chain the first.
fn begun<'a>(id: &str, runs: &'a Runs) -> Vec<Begun<'a>> {
    let mut begun = Vec::new();
    for run in runs.values() {
        let Some(started) = run.started() else { continue };
        let Some(fields) = &started.search_attributes else { continue };
        let field = |name: &str| {
            let payload = fields.indexed_fields.get(name)?;
            serde_json::from_slice::<String>(&payload.data).ok()
        };
        let is_first = started.continued_execution_run_id.is_empty() && !run.is_reset();
        if !is_first || field("TemporalScheduledById").as_deref() != Some(id) {
            continue;
        }
        if let Some(time) = field("TemporalScheduledStartTime").and_then(|it| wire::parse(&it)) {
            begun.push(Begun { run, time });
        }
    }
    begun.sort_by_key(|it| it.time);
    begun
}

/// No time has two.
fn once(begun: &[Begun<'_>], broken: &mut impl FnMut(&str, String)) {
    for pair in begun.windows(2) {
        if pair[0].run.workflow_id == pair[1].run.workflow_id {
            let what = format!("was started by its schedule twice: also as {}", pair[1].run.id);
            broken(&pair[0].run.workflow_id, what);
        }
    }
}

/// Every time has one, if none is to be skipped; and up to the end, if none has to wait.
fn without_gap(id: &str, plan: &Plan, begun: &[Begun<'_>], broken: &mut impl FnMut(&str, String)) {
    if !matches!(plan.overlap, Overlap::AllowAll | Overlap::BufferAll) {
        return;
    }
    for pair in begun.windows(2) {
        let gap = pair[1].time.since(pair[0].time);
        if gap != plan.every {
            let what = format!("schedule {id}, every {:?}: {gap:?} between two", plan.every);
            broken(&pair[1].run.workflow_id, what);
        }
    }
    let Some(ended_at) = plan.ended_at.filter(|_| plan.overlap == Overlap::AllowAll) else {
        return;
    };
    let last = begun.last().map(|it| it.time);
    if last.is_none_or(|last| ended_at.since(last) > plan.every + LATE_MAX) {
        broken("", format!("schedule {id}: the last one for {last:?}, and it was {ended_at:?}"));
    }
}

/// None begins before the one before it has ended, unless any number may run at once.
fn in_turn(
    world: &World,
    plan: &Plan,
    runs: &Runs,
    begun: &[Begun<'_>],
    broken: &mut impl FnMut(&str, String),
) {
    // Times of different runs can be compared only if the clock went forwards.
    if plan.overlap == Overlap::AllowAll || world.clock.was_set_back() {
        return;
    }
    for pair in begun.windows(2) {
        let next = wire::instant(pair[1].run.info().start_time.as_ref());
        let Some(ended) = ended(pair[0].run, runs) else { continue };
        if next < ended {
            let what = format!("began before {} had ended", pair[0].run.workflow_id);
            broken(&pair[1].run.workflow_id, what);
        }
    }
}

/// When the last run of a chain closed.
fn ended(run: &Run, runs: &Runs) -> Option<Timestamp> {
    let mut last = run;
    while let Some(next) = last.next_run_id().and_then(|id| runs.get(id)) {
        last = next;
    }
    last.info().close_time.map(|at| wire::instant(Some(&at)))
}

/// How late a start may be on a machine that is well.
const LATE_MAX: Duration = Duration::from_secs(5);
