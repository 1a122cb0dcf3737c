//! Histories, in whole batches.

use std::ops::RangeInclusive;

use rusqlite::Connection;

use super::fault::Fault;
use crate::{
    history::Page,
    rows::{EventBatch, RunNumber},
    store::Order,
};

pub(super) fn history(
    db: &mut Connection,
    run: RunNumber,
    events: &RangeInclusive<i64>,
    events_max: usize,
    order: Order,
) -> Result<Vec<EventBatch>, Fault> {
    // The batch that holds the first event begins at or before it: found by the index, so that
    // the end of a long history does not cost reading its beginning.
    const FORWARD: &str = "SELECT first_event, last_event, data FROM events
        WHERE run = ?1 AND first_event <= ?3 AND last_event >= ?2 AND first_event >= ifnull(
            (SELECT max(first_event) FROM events WHERE run = ?1 AND first_event <= ?2), ?2)
        ORDER BY first_event";
    const BACKWARD: &str = "SELECT first_event, last_event, data FROM events
        WHERE run = ?1 AND first_event <= ?3 AND last_event >= ?2 AND first_event >= ifnull(
            (SELECT max(first_event) FROM events WHERE run = ?1 AND first_event <= ?2), ?2)
        ORDER BY first_event DESC";
    let sql = match order {
        Order::Forward => FORWARD,
        Order::Backward => BACKWARD,
    };
    let mut select = db.prepare_cached(sql)?;
    let mut rows = select.query((run.0, events.start(), events.end()))?;
    let mut page = Page::new(events.clone(), events_max);
    while !page.is_full() {
        let Some(row) = rows.next()? else { break };
        page.push(EventBatch { first: row.get(0)?, last: row.get(1)?, data: row.get(2)? });
    }
    Ok(page.into_batches())
}
