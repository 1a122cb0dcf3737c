//! What holds after every step, whatever the step was.

use std::collections::BTreeMap;

use steadfast_core::{Row, Run, Table, Update, span::instant_from_wire};
use steadfast_proto::{enums::EventType, history::HistoryEvent};

use super::rows::Rows;

/// Checks everything that can be checked about a run at rest.
pub(crate) fn hold(run: &Run, events: &[HistoryEvent], rows: &Rows) {
    history_is_dense_and_in_order(run, events);
    restoring_changes_nothing(run, &rows.restore(run.identity().clone(), events));
    replaying_comes_to_the_same(run, events);
    counters_agree(run);
}

fn history_is_dense_and_in_order(run: &Run, events: &[HistoryEvent]) {
    let mut last = i64::MIN;
    for (id, event) in (1..).zip(events) {
        assert_eq!(event.event_id, id, "event ids have no gaps");
        let at = instant_from_wire(&event.event_time.expect("every event has its time")).0;
        if event.event_type() != EventType::ActivityTaskStarted {
            assert!(at >= last, "event {id} is earlier than the one before it");
            last = at;
        }
    }
    assert_eq!(run.last_event_id(), events.last().map_or(0, |event| event.event_id));
}

fn restoring_changes_nothing(run: &Run, restored: &Run) {
    assert_eq!(run.state(), restored.state());
    assert_eq!(run.started(), restored.started());
    assert_eq!(run.user_metadata(), restored.user_metadata());
    assert_eq!(all(run.activities()), all(restored.activities()));
    assert_eq!(all(run.timers()), all(restored.timers()));
    assert_eq!(all(run.children()), all(restored.children()));
    assert_eq!(all(run.externals()), all(restored.externals()));
    assert_eq!(all(run.buffered()), all(restored.buffered()));
    assert_eq!(all(run.messages()), all(restored.messages()));
    assert_eq!(all(run.letters()), all(restored.letters()));
    assert_eq!(kept_updates(run), kept_updates(restored));
    assert_eq!(run.next_due(), restored.next_due());
    assert_eq!(run.has_work(), restored.has_work());
    assert!(run.ready_activities().eq(restored.ready_activities()));
    assert!(run.unstarted_children().eq(restored.unstarted_children()));
}

/// What waits in the buffer already counts, but is not in the history yet.
fn replaying_comes_to_the_same(run: &Run, events: &[HistoryEvent]) {
    if !run.buffered().is_empty() {
        return;
    }
    let replayed = Run::replay(run.identity().clone(), events);
    assert_eq!(run.status(), replayed.status());
    assert_eq!(run.state().signals, replayed.state().signals);
    assert_eq!(run.state().cancel_requested, replayed.state().cancel_requested);
    assert_eq!(run.state().history_bytes, replayed.state().history_bytes);
    let previous = |run: &Run| run.state().previous_started_event_id;
    assert_eq!(previous(run), previous(&replayed));
    let activities = |run: &Run| -> BTreeMap<i64, _> {
        let asked = |(id, it): (&i64, &steadfast_core::Activity)| {
            (*id, (it.scheduled.clone(), it.row.cancel_requested_event_id))
        };
        run.activities().iter().map(asked).collect()
    };
    assert_eq!(activities(run), activities(&replayed));
    assert_eq!(all(run.timers()), all(replayed.timers()));
    assert_eq!(all(run.children()), all(replayed.children()));
    assert_eq!(all(run.externals()), all(replayed.externals()));
    assert_eq!(run.memo(), replayed.memo());
    assert_eq!(run.search_attributes(), replayed.search_attributes());
}

fn counters_agree(run: &Run) {
    let bytes: usize =
        run.buffered().iter().map(|(_, event)| prost::Message::encoded_len(event)).sum();
    assert_eq!(usize::try_from(run.state().buffered_bytes), Ok(bytes));
    for (_, activity) in run.activities().iter() {
        assert_eq!(activity.is_started(), activity.row.nonce != 0, "a start has its nonce");
    }
}

fn all<K: Ord + Clone, V: Row>(table: &Table<K, V>) -> BTreeMap<K, V> {
    table.iter().map(|(key, row)| (key.clone(), row.clone())).collect()
}

/// Updates that are not in the history may be lost; their callers ask again.
fn kept_updates(run: &Run) -> BTreeMap<String, Update> {
    let is_kept =
        |update: &Update| update.row.admitted_event_id != 0 || update.row.accepted_event_id != 0;
    let what_is_stored = |update: &Update| Update { sent: 0, outcome: None, ..update.clone() };
    run.updates()
        .iter()
        .filter(|(_, update)| is_kept(update))
        .map(|(id, update)| (id.clone(), what_is_stored(update)))
        .collect()
}
