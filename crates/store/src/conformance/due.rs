//! Due times: which runs must be looked at by when.

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, create, wait, write};
use crate::rows::{RunNumber, RunWrite, ShardNumber, StateRow};

/// Ties are broken by number.
pub fn runs_are_due_in_order_of_time_and_number(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![due(1, Some(30)), due(2, Some(10)), due(4, Some(20)), due(3, Some(20))]);
    assert_eq!(read(&owner, 0, 100, None, 10), [(10, 2), (20, 3), (20, 4), (30, 1)]);
}

/// Due at ten is due at ten.
pub fn the_limit_of_time_is_included(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![due(1, Some(10)), due(2, Some(-5)), due(3, Some(i64::MAX))]);
    assert_eq!(read(&owner, 0, 9, None, 10), [(-5, 2)]);
    assert_eq!(read(&owner, 0, 10, None, 10), [(-5, 2), (10, 1)]);
    assert_eq!(read(&owner, 0, i64::MAX, None, 10).len(), 3);
}

/// Strictly after it, also among equal times.
pub fn pages_continue_where_the_last_one_ended(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit((1..=25).map(|run| due(run, Some(run / 10))).collect());
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = read(&owner, 0, 100, after, 4);
        assert!(page.len() <= 4, "{page:?}");
        let Some(last) = page.last() else { break };
        after = Some(*last);
        seen.extend(page);
    }
    let expected: Vec<_> = (1..=25).map(|run| (run / 10, run)).collect();
    assert_eq!(seen, expected);
}

/// Whatever the others hold.
pub fn each_shard_sees_its_own(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let other = RunWrite { shard: ShardNumber(1), ..due(2, Some(10)) };
    owner.commit(vec![due(1, Some(10)), other]);
    assert_eq!(read(&owner, 0, 100, None, 10), [(10, 1)]);
    assert_eq!(read(&owner, 1, 100, None, 10), [(10, 2)]);
    assert_eq!(read(&owner, 2, 100, None, 10), []);
}

/// Later, earlier, or none.
pub fn a_new_due_time_replaces_the_old_one(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![due(1, Some(10))]);
    for next in [Some(20), Some(5), None, Some(7)] {
        owner.commit(vec![RunWrite { create: None, ..due(1, next) }]);
        let expected: Vec<_> = next.map(|time| (time, 1)).into_iter().collect();
        assert_eq!(read(&owner, 0, 100, None, 10), expected);
    }
    owner.commit(vec![write(1)]);
    assert_eq!(read(&owner, 0, 100, None, 10), [(7, 1)]);
}

/// It waits for something else.
pub fn a_run_without_one_is_never_due(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![due(1, None)]);
    assert_eq!(read(&owner, 0, i64::MAX, None, 10), []);
}

fn due(run: i64, next_due: Option<i64>) -> RunWrite {
    let next_due = next_due.map(Timestamp);
    let state = StateRow { data: vec![1], next_due, has_work: false };
    RunWrite { state: Some(state), ..create(run) }
}

fn read(
    owner: &Owner,
    shard: u32,
    until: i64,
    after: Option<(i64, i64)>,
    limit: usize,
) -> Vec<(i64, i64)> {
    let after = after.map(|(due, run)| (Timestamp(due), RunNumber(run)));
    let found = wait(owner.store.due(ShardNumber(shard), Timestamp(until), after, limit));
    found.expect("a read").into_iter().map(|(due, run)| (due.nanos(), run.0)).collect()
}
