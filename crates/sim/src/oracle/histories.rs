//! What holds for every history: no gaps, no time that runs backwards, nothing after the end, no
//! timer early.

use std::collections::BTreeMap;

use steadfast_engine::Timestamp;
use steadfast_proto::{enums::EventType, history::history_event::Attributes};

use super::{Run, is_close};
use crate::wire;

/// Checks the history of a run.
pub(super) fn check(run: &Run, broken: &mut impl FnMut(&Run, String)) {
    order(run, broken);
    end(run, broken);
    timers(run, broken);
}

fn order(run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let mut last = Timestamp(i64::MIN);
    for (id, event) in (1..).zip(&run.events) {
        if event.event_id != id {
            broken(run, format!("event {} stands at place {id}", event.event_id));
        }
        let at = wire::instant(event.event_time.as_ref());
        // When an activity was taken is told as it was, although that is written when it ends.
        if event.event_type() == EventType::ActivityTaskStarted {
            continue;
        }
        if at < last {
            broken(run, format!("event {id} is older than the one before it"));
        }
        last = at;
    }
}

fn end(run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let closes: Vec<i64> =
        run.attributes().filter(|(_, it)| is_close(it)).map(|(id, _)| id).collect();
    let last = run.events.last().map_or(0, |event| event.event_id);
    match closes.as_slice() {
        [] if run.is_open() => {}
        [close] if *close == last && !run.is_open() => {}
        _ => {
            let status = run.info().status();
            broken(run, format!("closes at {closes:?} of {last} events, and is {status:?}"));
        }
    }
}

fn timers(run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let mut due: BTreeMap<i64, (Timestamp, String)> = BTreeMap::new();
    for event in &run.events {
        let at = wire::instant(event.event_time.as_ref());
        match &event.attributes {
            Some(Attributes::TimerStartedEventAttributes(it)) => {
                let fires = at.after(wire::span(it.start_to_fire_timeout.as_ref()));
                due.insert(event.event_id, (fires, it.timer_id.clone()));
            }
            Some(Attributes::TimerFiredEventAttributes(it)) => {
                match due.remove(&it.started_event_id) {
                    Some((fires, _)) if fires <= at => {}
                    Some((fires, id)) => {
                        broken(run, format!("timer {id} fired {:?} early", fires.since(at)));
                    }
                    None => broken(run, format!("timer {} fired, but did not run", it.timer_id)),
                }
            }
            Some(Attributes::TimerCanceledEventAttributes(it))
                if due.remove(&it.started_event_id).is_none() =>
            {
                broken(run, format!("timer {} was cancelled, but did not run", it.timer_id));
            }
            _ => {}
        }
    }
}
