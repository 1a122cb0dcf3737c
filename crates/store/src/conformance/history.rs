//! Histories: appended in batches, read in pages, both ways.

use super::fixture::{Backend, Owner, create, wait, write};
use crate::{
    history::PAGE_BYTES,
    rows::{EventBatch, RunNumber, RunWrite},
    store::Order,
};

/// As they were written.
pub fn batches_come_back_oldest_first(backend: &dyn Backend) {
    let owner = three_batches(backend);
    assert_eq!(read(&owner, 1, 1, 10, 100, Order::Forward), [(1, 3), (4, 4), (5, 10)]);
}

/// The other way round.
pub fn batches_come_back_newest_first(backend: &dyn Backend) {
    let owner = three_batches(backend);
    assert_eq!(read(&owner, 1, 1, 10, 100, Order::Backward), [(5, 10), (4, 4), (1, 3)]);
}

/// Batches are not cut.
pub fn batches_at_the_ends_come_whole(backend: &dyn Backend) {
    let owner = three_batches(backend);
    let table = [
        (2, 5, vec![(1, 3), (4, 4), (5, 10)]),
        (3, 4, vec![(1, 3), (4, 4)]),
        (4, 4, vec![(4, 4)]),
        (6, 7, vec![(5, 10)]),
        (11, 20, vec![]),
        (5, 4, vec![]),
        (i64::MIN, i64::MAX, vec![(1, 3), (4, 4), (5, 10)]),
    ];
    for (first, last, mut expected) in table {
        assert_eq!(read(&owner, 1, first, last, 100, Order::Forward), expected, "{first}..={last}");
        expected.reverse();
        assert_eq!(read(&owner, 1, first, last, 100, Order::Backward), expected);
    }
}

/// When there are as many as asked for, or more.
pub fn a_page_is_cut_after_enough_events(backend: &dyn Backend) {
    let owner = three_batches(backend);
    let table = [(3, vec![(1, 3)]), (4, vec![(1, 3), (4, 4)]), (5, vec![(1, 3), (4, 4), (5, 10)])];
    for (events_max, expected) in table {
        assert_eq!(read(&owner, 1, 1, 10, events_max, Order::Forward), expected, "{events_max}");
    }
    assert_eq!(read(&owner, 1, 1, 10, 7, Order::Backward), [(5, 10), (4, 4)]);
}

/// However few events those are.
pub fn a_page_is_cut_after_enough_bytes(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    for event in 1..=4 {
        let large = EventBatch { data: vec![7; PAGE_BYTES / 2], ..batch(event, event) };
        owner.commit(vec![RunWrite { events: vec![large], ..write(1) }]);
    }
    let read = |first, order| {
        let found = wait(owner.store.history(RunNumber(1), first, 4, 100, order)).expect("a read");
        found.iter().map(|batch| batch.first).collect::<Vec<_>>()
    };
    assert_eq!(read(1, Order::Forward), [1, 2]);
    assert_eq!(read(4, Order::Forward), [4]);
    assert_eq!(read(1, Order::Backward), [4, 3]);
}

/// Otherwise a reader would never get on.
pub fn a_page_has_at_least_one_batch(backend: &dyn Backend) {
    let owner = three_batches(backend);
    assert_eq!(read(&owner, 1, 5, 10, 0, Order::Forward), [(5, 10)]);
    assert_eq!(read(&owner, 1, 5, 10, 1, Order::Backward), [(5, 10)]);
}

/// Nothing twice, nothing missing.
pub fn pages_put_together_are_the_history(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    for first in (1..=99).step_by(3) {
        append(&mut owner, 1, &[(first, first + 2)]);
    }
    let (mut next, mut seen) = (1, Vec::new());
    loop {
        let page = read(&owner, 1, next, i64::MAX, 10, Order::Forward);
        let Some((_, last)) = page.last() else { break };
        next = last + 1;
        seen.extend(page);
    }
    let expected: Vec<_> = (1..=99).step_by(3).map(|first| (first, first + 2)).collect();
    assert_eq!(seen, expected);
}

/// It is not an error.
pub fn an_unknown_run_has_no_history(backend: &dyn Backend) {
    let owner = Owner::of(backend);
    assert_eq!(read(&owner, 1, 1, 10, 100, Order::Forward), []);
}

/// Interleaved commits of two runs.
pub fn runs_do_not_mix(backend: &dyn Backend) {
    let mut owner = three_batches(backend);
    owner.commit(vec![create(2)]);
    append(&mut owner, 2, &[(1, 7)]);
    append(&mut owner, 1, &[(11, 12)]);
    append(&mut owner, 2, &[(8, 8)]);
    assert_eq!(read(&owner, 2, 1, 100, 100, Order::Forward), [(1, 7), (8, 8)]);
    assert_eq!(read(&owner, 1, 5, 100, 100, Order::Forward), [(5, 10), (11, 12)]);
}

/// What has happened is not changed.
pub fn an_event_is_written_once(backend: &dyn Backend) {
    let mut owner = three_batches(backend);
    owner.refused(vec![RunWrite { events: vec![batch(4, 6)], ..write(1) }]);
    assert_eq!(read(&owner, 1, 1, 10, 100, Order::Forward), [(1, 3), (4, 4), (5, 10)]);
}

/// It would never be found.
pub fn a_batch_that_ends_before_it_begins_is_refused(backend: &dyn Backend) {
    let mut owner = three_batches(backend);
    owner.refused(vec![RunWrite { events: vec![batch(12, 11)], ..write(1) }]);
}

/// Within one write.
pub fn events_out_of_order_are_refused(backend: &dyn Backend) {
    let mut owner = three_batches(backend);
    for events in [vec![batch(13, 14), batch(11, 12)], vec![batch(11, 12), batch(12, 13)]] {
        owner.refused(vec![RunWrite { events, ..write(1) }]);
    }
}

/// Not those between which others are missing, nor those that are in another format or large.
pub fn folded_writes_put_events_together_that_follow_one_another(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let of = |first, last, data: &[u8]| EventBatch { first, last, data: data.to_vec() };
    let large = vec![1; 16 * 1024];
    let later = [
        of(2, 4, &[1, 20, 40]),
        of(5, 5, &[1, 50]),
        of(7, 7, &[1, 70]),
        of(8, 8, &[2, 80]),
        of(9, 9, &large),
    ];
    let mut folded = RunWrite { events: vec![of(1, 1, &[1, 10])], ..create(1) };
    folded.merge_all(later.map(|batch| RunWrite { events: vec![batch], ..write(1) }));
    owner.commit(vec![folded]);
    let found = wait(owner.store.history(RunNumber(1), 1, 9, 100, Order::Forward));
    let expected =
        [of(1, 5, &[1, 10, 20, 40, 50]), of(7, 7, &[1, 70]), of(8, 8, &[2, 80]), of(9, 9, &large)];
    assert_eq!(found.expect("a read"), expected);
}

fn three_batches(backend: &dyn Backend) -> Owner {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    append(&mut owner, 1, &[(1, 3)]);
    append(&mut owner, 1, &[(4, 4), (5, 10)]);
    owner
}

fn append(owner: &mut Owner, run: i64, batches: &[(i64, i64)]) {
    let events = batches.iter().map(|(first, last)| batch(*first, *last)).collect();
    owner.commit(vec![RunWrite { events, ..write(run) }]);
}

/// The first byte tells the format: those of different ones are never put together.
fn batch(first: i64, last: i64) -> EventBatch {
    let format = u8::try_from(first % 256).unwrap_or_default();
    let mut data = vec![format];
    data.extend(format!("events {first} to {last}").bytes());
    EventBatch { first, last, data }
}

#[track_caller]
fn read(
    owner: &Owner,
    run: i64,
    first: i64,
    last: i64,
    events_max: usize,
    order: Order,
) -> Vec<(i64, i64)> {
    let found = wait(owner.store.history(RunNumber(run), first, last, events_max, order));
    let pairs = found.expect("a read").into_iter().map(|found| {
        assert_eq!(found, batch(found.first, found.last), "data belongs to its events");
        (found.first, found.last)
    });
    pairs.collect()
}
