//! Histories, in whole batches.

use std::ops::RangeInclusive;

use super::Data;
use crate::{
    history::Page,
    rows::{EventBatch, RunNumber},
    store::Order,
};

impl Data {
    pub(super) fn history(
        &self,
        run: RunNumber,
        events: RangeInclusive<i64>,
        events_max: usize,
        order: Order,
    ) -> Vec<EventBatch> {
        let Some(run) = self.runs.get(&run) else { return Vec::new() };
        let wanted = events.clone();
        let within = run
            .events
            .values()
            .filter(|batch| batch.last >= *wanted.start() && batch.first <= *wanted.end())
            .cloned();
        match order {
            Order::Forward => Page::fill(within, events, events_max),
            Order::Backward => Page::fill(within.rev(), events, events_max),
        }
    }
}
