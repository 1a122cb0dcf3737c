//! Reading histories from the store.

use steadfast_proto::history::HistoryEvent;
use steadfast_store::{Order, RunNumber, Store};

use crate::{
    error::{Code, Error},
    rows,
};

/// Events `first..=last` of a run, at most `events_max` of them; none only if none is asked for.
pub(crate) async fn page(
    store: &dyn Store,
    run: RunNumber,
    first: i64,
    last: i64,
    events_max: usize,
) -> Result<Vec<HistoryEvent>, Error> {
    if first > last {
        return Ok(Vec::new());
    }
    let batches = store.history(run, first, last, events_max, Order::Forward).await?;
    let mut events = rows::decode_events(&batches).map_err(|error| unreadable(&error))?;
    events.retain(|event| event.event_id >= first && event.event_id <= last);
    events.truncate(events_max);
    // A reader that was given nothing would ask for the same page for ever.
    if events.first().is_none_or(|event| event.event_id != first) {
        return Err(missing(first));
    }
    Ok(events)
}

/// As [`page`], newest first.
pub(crate) async fn page_back(
    store: &dyn Store,
    run: RunNumber,
    last: i64,
    events_max: usize,
) -> Result<Vec<HistoryEvent>, Error> {
    let batches = store.history(run, 1, last, events_max, Order::Backward).await?;
    let mut events = rows::decode_events(&batches).map_err(|error| unreadable(&error))?;
    events.retain(|event| event.event_id <= last);
    events.sort_by_key(|event| std::cmp::Reverse(event.event_id));
    events.truncate(events_max);
    Ok(events)
}

/// All events of a run up to `last`.
pub(crate) async fn all(
    store: &dyn Store,
    run: RunNumber,
    last: i64,
) -> Result<Vec<HistoryEvent>, Error> {
    let mut events: Vec<HistoryEvent> = Vec::new();
    loop {
        // A page is never empty: the next one begins after its end.
        let first = events.last().map_or(1, |event| event.event_id + 1);
        if first > last {
            return Ok(events);
        }
        events.extend(page(store, run, first, last, READ_AT_ONCE).await?);
    }
}

/// The run was deleted meanwhile, or the disk has lost something.
fn missing(first: i64) -> Error {
    Error::not_found(format!("the history has no event {first} any more"))
}

fn unreadable(error: &rows::Unreadable) -> Error {
    Error::new(Code::Internal, format!("the history cannot be read: {error}"))
}

const READ_AT_ONCE: usize = 1_000;
