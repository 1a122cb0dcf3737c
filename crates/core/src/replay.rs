//! A run rebuilt from its history alone.
//!
//! What is not in the history (attempts, heartbeats, who has which task) starts anew; everything
//! else is as it was.

use steadfast_proto::history::HistoryEvent;

use crate::{
    fold,
    rows::Nowhere,
    run::{Identity, Run},
    size,
    span::instant_from_wire,
};

impl Run {
    /// Rebuilds a run from its events, oldest first. Its rows count as written.
    pub fn replay<'a>(
        identity: Identity,
        events: impl IntoIterator<Item = &'a HistoryEvent>,
    ) -> Self {
        let mut run = Self::rebuild(identity, events);
        run.drain_changes(&mut Nowhere);
        run
    }

    /// As [`replay`](Self::replay), for a run that is new: its rows are still to be written.
    pub(crate) fn rebuild<'a>(
        identity: Identity,
        events: impl IntoIterator<Item = &'a HistoryEvent>,
    ) -> Self {
        let mut run = Self { identity, ..Self::default() };
        run.state.next_event_id = 1;
        for event in events {
            let id = run.state.next_event_id;
            assert_eq!(event.event_id, id, "a history has no gaps: after {} comes {id}", id - 1);
            let at = event.event_time.as_ref().map_or(0, |time| instant_from_wire(time).0);
            run.state.count(size::of(Some(event)), at);
            fold::event(&mut run, event);
        }
        run.keep();
        run
    }
}
