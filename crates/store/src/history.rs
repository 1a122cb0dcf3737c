//! How a page of history is cut: whole batches, until there are enough events, or bytes.

use std::ops::RangeInclusive;

use crate::rows::EventBatch;

/// Batches on their way into an answer.
#[derive(Debug)]
pub(crate) struct Page {
    batches: Vec<EventBatch>,
    events: u64,
    bytes: usize,
    /// Those that were asked for: of others there may be some in the first and the last batch.
    wanted: RangeInclusive<i64>,
    events_max: u64,
}

impl Page {
    pub(crate) fn new(wanted: RangeInclusive<i64>, events_max: usize) -> Self {
        let events_max = u64::try_from(events_max).unwrap_or(u64::MAX);
        Self { batches: Vec::new(), events: 0, bytes: 0, wanted, events_max }
    }

    /// Takes batches, in order, until the page is full.
    pub(crate) fn fill(
        batches: impl Iterator<Item = EventBatch>,
        wanted: RangeInclusive<i64>,
        events_max: usize,
    ) -> Vec<EventBatch> {
        let mut page = Self::new(wanted, events_max);
        for batch in batches {
            page.push(batch);
            if page.is_full() {
                break;
            }
        }
        page.into_batches()
    }

    pub(crate) fn push(&mut self, batch: EventBatch) {
        let first = batch.first.max(*self.wanted.start());
        let last = batch.last.min(*self.wanted.end());
        if first <= last {
            self.events = self.events.saturating_add(last.abs_diff(first)).saturating_add(1);
        }
        self.bytes += batch.data.len();
        self.batches.push(batch);
    }

    /// Whether there is enough; never before the first batch, so that a reader who asks
    /// page by page always gets on.
    pub(crate) fn is_full(&self) -> bool {
        !self.batches.is_empty() && (self.events >= self.events_max || self.bytes >= PAGE_BYTES)
    }

    pub(crate) fn into_batches(self) -> Vec<EventBatch> {
        self.batches
    }
}

/// When a page has enough, however few events it has: it is held in memory, and sent in one message.
pub(crate) const PAGE_BYTES: usize = 4 << 20;
