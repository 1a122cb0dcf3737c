//! Commits: all of a batch or none of it, in sequence.

use std::{collections::BTreeMap, sync::Arc};

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, SHARDS, create, listed, state, wait, write};
use crate::{
    aside::Aside,
    filter::Filter,
    rows::{
        AttemptRow, Batch, EventBatch, ItemKind, ItemWrite, RunNumber, RunWrite, ShardNumber,
        StateRow,
    },
    store::Order,
};

/// A batch without writes is a commit like any other.
pub fn an_empty_batch_advances_the_sequence(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    assert_eq!(wait(owner.store.last_commit()).expect("a read"), 0);
    owner.commit(vec![]);
    assert_eq!(wait(owner.store.last_commit()).expect("a read"), 1);
}

/// Neither a gap nor a repetition is taken.
pub fn sequence_numbers_follow_each_other(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    for wrong in [0, 1, 3, u64::MAX] {
        let batch = Batch { sequence: wrong, ..owner.batch(vec![create(2)]) };
        wait(owner.store.commit(Arc::new(batch))).expect_err("out of sequence");
    }
    assert_eq!(owner.load(2), None);
    owner.commit(vec![create(2)]);
    assert_eq!(wait(owner.store.last_commit()).expect("a read"), 2);
}

/// Good writes before a bad one, and after it, are not applied.
pub fn a_refused_batch_leaves_nothing(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    let changed = RunWrite { state: Some(state("changed")), ..write(1) };
    let good = listed(2, |_| ());
    let bad = RunWrite { state: Some(state("lost")), ..write(99) };
    owner.refused(vec![changed, good, bad, create(3)]);
    assert_eq!(owner.load(1).expect("run 1").state, state("new"));
    assert_eq!(owner.load(2), None);
    assert_eq!(owner.load(3), None);
    let listing = wait(owner.store.list("ns".to_owned(), Filter::All, None, 10)).expect("a read");
    assert_eq!(listing.rows, vec![]);
    assert_eq!(wait(owner.store.last_commit()).expect("a read"), 1);
}

/// An aside that fails takes its own write with it, and says why; one that a store has no place for
/// fails too.
pub fn a_write_whose_aside_fails_is_left_out_and_only_that(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1), create(2)]);
    let aside = Arc::new(Aside::new(|_| Err("not today".into())));
    let undone =
        RunWrite { state: Some(state("undone")), aside: Some(Arc::clone(&aside)), ..write(1) };
    let done = RunWrite { state: Some(state("done")), ..write(2) };
    owner.commit(vec![create(3), undone, done]);
    assert!(aside.has_failed());
    assert_eq!(owner.load(1).expect("run 1").state, state("new"));
    assert_eq!(owner.load(2).expect("run 2").state, state("done"));
    assert!(owner.load(3).is_some());
    assert_eq!(wait(owner.store.last_commit()).expect("a read"), 2);
}

/// A refusal does not use up the sequence number.
pub fn a_refused_batch_can_be_followed_by_a_good_one(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.refused(vec![write(99)]);
    owner.commit(vec![create(1)]);
    assert!(owner.load(1).is_some());
}

/// Writes of one run are folded before they get here.
pub fn a_run_is_written_once_a_batch(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let again = RunWrite { state: Some(state("again")), ..write(1) };
    owner.refused(vec![create(1), again]);
    assert_eq!(owner.load(1), None);
}

/// The batch must name the shard of each write.
pub fn a_write_needs_a_lease_on_its_shard(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let leases = BTreeMap::from([(ShardNumber(1), owner.lease.epoch)]);
    let batch = Batch { leases, ..owner.batch(vec![create(1)]) };
    wait(owner.store.commit(Arc::new(batch))).expect_err("shard 0 is not leased");
    owner.commit(vec![create(1)]);
}

/// Whatever is written to it.
pub fn a_write_to_an_unknown_run_is_refused(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let events = vec![EventBatch { first: 1, last: 1, data: vec![] }];
    owner.refused(vec![write(1)]);
    owner.refused(vec![RunWrite { state: Some(state("x")), ..write(1) }]);
    owner.refused(vec![RunWrite { events, ..write(1) }]);
    owner.refused(vec![RunWrite { attempts: vec![AttemptRow::default()], ..write(1) }]);
}

/// A run stays in its shard.
pub fn a_write_from_another_shard_is_refused(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    let shard = ShardNumber(1);
    owner.refused(vec![RunWrite { shard, state: Some(state("stolen")), ..write(1) }]);
    owner.refused(vec![RunWrite { shard, ..write(1) }]);
    assert_eq!(owner.load(1).expect("run 1").state, state("new"));
}

/// Numbers are not taken twice, and begin at 1.
pub fn a_run_number_is_created_once(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    let other = RunWrite { run: RunNumber(1), ..create(2) };
    owner.refused(vec![other]);
    owner.refused(vec![create(0)]);
    owner.refused(vec![create(-1)]);
}

/// Neither in a later batch nor within one.
pub fn a_run_id_is_created_once(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    owner.refused(vec![RunWrite { run: RunNumber(2), ..create(1) }]);
    owner.refused(vec![create(3), RunWrite { run: RunNumber(4), ..create(3) }]);
    assert_eq!(owner.load(3), None);
}

/// There is no run without a state.
pub fn a_new_run_needs_a_state(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.refused(vec![RunWrite { state: None, ..create(1) }]);
}

/// Nothing of it can be found afterwards, and its neighbour is untouched.
pub fn a_deleted_run_takes_everything_along(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![full(1), full(2)]);
    owner.commit(vec![RunWrite { delete: true, ..write(1) }]);
    assert_eq!(owner.load(1), None);
    assert!(owner.load(2).is_some_and(|run| run.items.len() == 1));
    let store = &owner.store;
    let history = |run| wait(store.history(RunNumber(run), 1, 9, 9, Order::Forward));
    assert_eq!(history(1).expect("a read"), vec![]);
    assert_eq!(history(2).expect("a read").len(), 1);
    let attempts = |run| wait(store.attempts(RunNumber(run), 5)).expect("a read").rows.len();
    assert_eq!((attempts(1), attempts(2)), (0, 1));
    let due = wait(store.due(ShardNumber(0), Timestamp::MAX, None, 10)).expect("a read");
    assert_eq!(due, vec![(Timestamp(5), RunNumber(2))]);
    let work = wait(store.with_work(ShardNumber(0), RunNumber(0), 10)).expect("a read");
    assert_eq!(work, vec![RunNumber(2)]);
    let listing = wait(store.list("ns".to_owned(), Filter::All, None, 10)).expect("a read");
    assert_eq!(listing.rows.len(), 1);
}

/// Also together with its creation, as folded writes may have it.
pub fn deleting_a_run_that_is_not_there_is_fine(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![RunWrite { delete: true, ..write(7) }]);
    owner.commit(vec![RunWrite { delete: true, ..create(1) }]);
    assert_eq!(owner.load(1), None);
}

/// It belongs to somebody else.
pub fn a_run_of_another_shard_is_not_deleted(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    owner.refused(vec![RunWrite { delete: true, shard: ShardNumber(1), ..write(1) }]);
    assert!(owner.load(1).is_some());
}

/// Not even that of the newest run, deleted.
pub fn run_numbers_are_not_reused(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    assert_eq!(owner.lease.next_run, RunNumber(1));
    owner.commit(vec![create(5), create(3)]);
    owner.commit(vec![RunWrite { delete: true, ..write(5) }]);
    drop(owner);
    assert_eq!(Owner::of(backend).lease.next_run, RunNumber(6));
}

/// Three steps of a run in one commit are as good as in three: the last word about each thing holds.
pub fn a_folded_write_does_what_each_of_them_did(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let item = |key: &str, data: Option<&str>| ItemWrite {
        kind: ItemKind::Timer,
        key: key.into(),
        data: data.map(Into::into),
    };
    let events = |first| vec![EventBatch { first, last: first, data: vec![1] }];
    let mut first = RunWrite {
        items: vec![item("t", Some("1")), item("c", Some("1")), item("s", Some("1"))],
        events: events(1),
        ..create(1)
    };
    let later = RunWrite {
        state: Some(state("later")),
        items: vec![item("t", None), item("s", None), item("a", Some("2"))],
        events: events(2),
        ..write(1)
    };
    let last = RunWrite { items: vec![item("s", Some("3"))], ..write(1) };
    first.merge_all([later, last]);
    owner.commit(vec![first]);
    let run = owner.load(1).expect("run 1");
    assert_eq!(run.state, state("later"));
    let kept = run.items.iter().map(|item| (&*item.key, &*item.data));
    let wanted: [(&[u8], &[u8]); 3] = [(b"a", b"2"), (b"c", b"1"), (b"s", b"3")];
    assert_eq!(kept.collect::<Vec<_>>(), wanted);
    let history = wait(owner.store.history(RunNumber(1), 1, 9, 9, Order::Forward)).expect("a read");
    let batches = history.iter().map(|batch| (batch.first, batch.last));
    assert_eq!(batches.collect::<Vec<_>>(), [(1, 2)]);
}

/// A commit of many runs in all shards.
pub fn many_runs_become_durable_together(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let shard = |run: i64| ShardNumber(u32::try_from(run).expect("small") % SHARDS);
    let created = (1..=500).map(|run| RunWrite { shard: shard(run), ..create(run) });
    owner.commit(created.collect());
    let changed = (1..=500).map(|run| RunWrite {
        shard: shard(run),
        state: Some(state(&format!("state {run}"))),
        ..write(run)
    });
    owner.commit(changed.collect());
    for run in 1..=500 {
        assert_eq!(owner.load(run).expect("a run").state, state(&format!("state {run}")));
    }
}

/// A run with something in every table.
fn full(run: i64) -> RunWrite {
    let items = vec![ItemWrite { kind: ItemKind::Activity, key: vec![1], data: Some(vec![2]) }];
    RunWrite {
        state: Some(StateRow { data: vec![], next_due: Some(Timestamp(5)), has_work: true }),
        items,
        events: vec![EventBatch { first: 1, last: 3, data: vec![3] }],
        attempts: vec![AttemptRow { activity: 5, attempt: 1, ..AttemptRow::default() }],
        ..listed(run, |_| ())
    }
}
