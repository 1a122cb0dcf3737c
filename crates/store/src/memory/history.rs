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
        let within = run
            .events
            .values()
            .filter(|batch| batch.last >= *events.start() && batch.first <= *events.end())
            .cloned();
        match order {
            Order::Forward => Page::fill(within, events_max),
            Order::Backward => Page::fill(within.rev(), events_max),
        }
    }
}
