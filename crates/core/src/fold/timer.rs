//! Timers.

use steadfast_proto::history;
use steadfast_retry::Timestamp;

use crate::{run::Run, span::from_wire, state::Timer};

pub(super) fn started(
    run: &mut Run,
    id: i64,
    event: &history::TimerStartedEventAttributes,
    at: i64,
) {
    let fires_at = Timestamp(at).after(from_wire(event.start_to_fire_timeout.as_ref()));
    run.timers.insert(id, Timer { timer_id: event.timer_id.clone(), fires_at: fires_at.0 });
}

pub(super) fn ended(run: &mut Run, started_event_id: i64) {
    run.timers.remove(&started_event_id);
}
