//! A run rebuilt from its history alone.
//!
//! What is not in the history (attempts, heartbeats, who has which task) starts anew; everything
//! else is as it was.

use steadfast_proto::history::HistoryEvent;

use crate::{
    fold,
    rows::Nowhere,
    run::{Identity, Run},
    tx::settle,
};

impl Run {
    /// Rebuilds a run from its events, oldest first.
    pub fn replay<'a>(
        identity: Identity,
        events: impl IntoIterator<Item = &'a HistoryEvent>,
    ) -> Self {
        let mut run = Self { identity, ..Self::default() };
        run.state.next_event_id = 1;
        for event in events {
            let id = run.state.next_event_id;
            assert_eq!(event.event_id, id, "a history has no gaps: after {} comes {id}", id - 1);
            run.state.next_event_id += 1;
            run.state.history_bytes +=
                i64::try_from(crate::size::of(Some(event))).unwrap_or(i64::MAX);
            fold::event(&mut run, event);
        }
        settle(&mut run);
        run.drain_changes(&mut Nowhere);
        run
    }
}
