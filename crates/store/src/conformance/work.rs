//! Work: which runs have something to hand out when a shard changes hands.

use super::fixture::{Backend, Owner, create, wait};
use crate::rows::{RunNumber, RunWrite, ShardNumber, StateRow};

/// In pages.
pub fn runs_with_work_come_by_number(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit((1..=9).rev().map(|run| work(run, run % 2 == 1)).collect());
    assert_eq!(read(&owner, 0, 0, 100), [1, 3, 5, 7, 9]);
    assert_eq!(read(&owner, 0, 0, 2), [1, 3]);
    assert_eq!(read(&owner, 0, 3, 2), [5, 7]);
    assert_eq!(read(&owner, 0, 7, 2), [9]);
    assert_eq!(read(&owner, 0, 9, 2), []);
}

/// Whatever the others hold.
pub fn each_shard_sees_its_own(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![work(1, true), RunWrite { shard: ShardNumber(3), ..work(2, true) }]);
    assert_eq!(read(&owner, 0, 0, 10), [1]);
    assert_eq!(read(&owner, 3, 0, 10), [2]);
    assert_eq!(read(&owner, 1, 0, 10), []);
}

/// And comes back when there is some again.
pub fn work_that_is_done_is_gone(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![work(1, true)]);
    for has_work in [false, false, true, true] {
        owner.commit(vec![RunWrite { create: None, ..work(1, has_work) }]);
        assert_eq!(read(&owner, 0, 0, 10).is_empty(), !has_work);
    }
}

fn work(run: i64, has_work: bool) -> RunWrite {
    let state = StateRow { data: vec![1], next_due: None, has_work };
    RunWrite { state: Some(state), ..create(run) }
}

fn read(owner: &Owner, shard: u32, after: i64, limit: usize) -> Vec<i64> {
    let found = wait(owner.store.with_work(ShardNumber(shard), RunNumber(after), limit));
    found.expect("a read").into_iter().map(|run| run.0).collect()
}
