//! Fencing: a shard has one owner, and an earlier one can do no harm.

use std::{collections::BTreeMap, sync::Arc};

use super::fixture::{Backend, Owner, SHARDS, create, wait};
use crate::{
    error::{Error, Outcome},
    rows::{Batch, Epoch, Lease, RunNumber, ShardNumber},
};

/// Each takes over from the one before.
pub fn epochs_grow_with_each_owner(backend: &dyn Backend) {
    let epochs: Vec<_> = (0..3).map(|_| Owner::of(backend).lease.epoch).collect();
    assert!(epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
}

/// Its commits are refused, and it is told who is in.
pub fn an_earlier_owner_is_fenced(backend: &dyn Backend) {
    let mut first = Owner::of(backend);
    first.commit(vec![create(1)]);
    let second = Owner::of(backend);
    let error = first.try_commit(vec![create(2)]).expect_err("fenced");
    let Error::Fenced { held, found, .. } = error else { panic!("not fenced: {error}") };
    assert_eq!((Epoch(held), Epoch(found)), (first.lease.epoch, second.lease.epoch));
    assert_eq!(error.outcome(), Outcome::Final);
}

/// Neither the writes nor the sequence number.
pub fn a_fenced_commit_leaves_nothing(backend: &dyn Backend) {
    let mut first = Owner::of(backend);
    let mut second = Owner::of(backend);
    first.try_commit(vec![create(1)]).expect_err("fenced");
    assert_eq!(second.load(1), None);
    second.commit(vec![create(1)]);
    assert!(second.load(1).is_some());
}

/// An old owner has an old sequence number too; that is not its problem.
pub fn a_fenced_owner_is_told_so_before_anything_else(backend: &dyn Backend) {
    let mut first = Owner::of(backend);
    let mut second = Owner::of(backend);
    second.commit(vec![create(1)]);
    let error = first.try_commit(vec![create(1)]).expect_err("fenced");
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
}

/// Whoever made it up does not own the shard.
pub fn an_epoch_from_the_future_is_fenced_too(backend: &dyn Backend) {
    let owner = Owner::of(backend);
    let leases = BTreeMap::from([(ShardNumber(0), Epoch(owner.lease.epoch.0 + 1))]);
    let error = wait(owner.store.commit(Arc::new(Batch { leases, ..owner.batch(vec![]) })));
    assert!(matches!(error, Err(Error::Fenced { .. })), "{error:?}");
}

/// Even when the others are held.
pub fn one_lost_shard_fences_the_batch(backend: &dyn Backend) {
    let owner = Owner::of(backend);
    let mut batch = owner.batch(vec![]);
    batch.leases.insert(ShardNumber(SHARDS - 1), Epoch(0));
    match wait(owner.store.commit(Arc::new(batch))) {
        Err(Error::Fenced { shard, .. }) => assert_eq!(shard, SHARDS - 1),
        other => panic!("not fenced: {other:?}"),
    }
}

/// A workflow id belongs to one shard for ever.
pub fn the_number_of_shards_is_fixed_at_first(backend: &dyn Backend) {
    let owner = Owner::of(backend);
    for asked in [1, SHARDS, SHARDS + 1] {
        let lease = wait(owner.store.acquire(asked, "another".to_owned())).expect("a lease");
        assert_eq!(lease.shards, SHARDS);
    }
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
}

/// There would be nothing to own.
pub fn no_shards_at_all_are_refused(backend: &dyn Backend) {
    let error = wait(backend.open().acquire(0, "nobody".to_owned()));
    assert!(matches!(error, Err(Error::Rejected(_))), "{error:?}");
}

/// Also before anybody has acquired any.
pub fn a_shard_that_does_not_exist_is_refused(backend: &dyn Backend) {
    let leases = BTreeMap::from([(ShardNumber(SHARDS), Epoch(1))]);
    let batch = Arc::new(Batch { sequence: 1, leases, writes: vec![] });
    let error = wait(backend.open().commit(Arc::clone(&batch)));
    assert!(matches!(error, Err(Error::Rejected(_))), "{error:?}");
    let owner = Owner::of(backend);
    let error = wait(owner.store.commit(batch));
    assert!(matches!(error, Err(Error::Rejected(_))), "{error:?}");
}

/// The next owner goes on where the last one stopped.
pub fn a_lease_says_where_to_go_on(backend: &dyn Backend) {
    let mut first = Owner::of(backend);
    let Lease { epoch, .. } = first.lease;
    let expected = Lease { shards: SHARDS, epoch, next_run: RunNumber(1), last_commit: 0 };
    assert_eq!(first.lease, expected);
    first.commit(vec![create(1), create(2)]);
    first.commit(vec![]);
    let second = Owner::of(backend);
    assert_eq!((second.lease.next_run, second.lease.last_commit), (RunNumber(3), 2));
}
