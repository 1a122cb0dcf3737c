//! Opening and closing: what was committed is there again.

use std::sync::Arc;

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, create, listed, wait, write};
use crate::{
    error::Error,
    filter::{Filter, Value},
    rows::{
        AttemptRow, EventBatch, ItemKind, ItemWrite, Lookup, NamespaceRow, RunNumber, RunWrite,
        ShardNumber, StateRow,
    },
    store::{Order, Store},
};

/// After closing.
pub fn everything_survives_a_restart(backend: &dyn Backend) {
    let owner = fill(backend);
    let before = read(&*owner.store);
    wait(owner.store.close()).expect("closed");
    drop(owner);
    assert_eq!(read(&*backend.open()), before);
}

/// As if the process had died.
pub fn everything_survives_without_closing(backend: &dyn Backend) {
    let owner = fill(backend);
    let before = read(&*owner.store);
    drop(owner);
    assert_eq!(read(&*backend.open()), before);
    let next = Owner::of(backend);
    assert_eq!((next.lease.next_run, next.lease.last_commit), (RunNumber(3), 2));
}

/// Every call, reads and writes.
pub fn a_closed_store_says_so(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    wait(owner.store.close()).expect("closed");
    let closed = |result: Result<(), Error>| match result {
        Err(Error::Closed) => (),
        other => panic!("not closed: {other:?}"),
    };
    closed(owner.try_commit(vec![create(1)]));
    closed(wait(owner.store.last_commit()).map(drop));
    closed(wait(owner.store.load(Lookup::Number(RunNumber(1)))).map(drop));
    closed(wait(owner.store.namespaces()).map(drop));
    closed(wait(owner.store.put_setting("x".to_owned(), None)));
    closed(wait(owner.store.acquire(1, String::new())).map(drop));
    assert_eq!(Owner::of(backend).load(1), None);
}

/// There is nothing left to do.
pub fn closing_twice_is_fine(backend: &dyn Backend) {
    let store = backend.open();
    wait(store.close()).expect("closed");
    wait(store.close()).expect("closed already");
}

/// A call made before closing is answered, and not with an error.
pub fn work_that_was_queued_is_done_before_closing(backend: &dyn Backend) {
    let owner = Owner::of(backend);
    let committed = owner.store.commit(Arc::new(owner.batch(vec![create(1)])));
    let read = owner.store.namespaces();
    wait(owner.store.close()).expect("closed");
    wait(committed).expect("committed before closing");
    wait(read).expect("read before closing");
    assert!(Owner::of(backend).load(1).is_some());
}

/// Something in every table, in two commits.
fn fill(backend: &dyn Backend) -> Owner {
    let mut owner = Owner::of(backend);
    let items = vec![ItemWrite { kind: ItemKind::Update, key: vec![1], data: Some(vec![2]) }];
    let attempts = (1..=60)
        .map(|attempt| AttemptRow { activity: 5, attempt, ..AttemptRow::default() })
        .collect();
    let first = RunWrite {
        state: Some(StateRow { data: vec![9], next_due: Some(Timestamp(5)), has_work: true }),
        items,
        events: vec![EventBatch { first: 1, last: 3, data: vec![3] }],
        attempts,
        ..listed(1, |row| row.search_values = vec![("Name".to_owned(), Value::Bool(true))])
    };
    owner.commit(vec![first, create(2)]);
    owner.commit(vec![RunWrite { delete: true, ..write(2) }]);
    let namespace = NamespaceRow { id: "1".to_owned(), name: "one".to_owned(), data: vec![1] };
    wait(owner.store.put_namespace(namespace)).expect("a write");
    wait(owner.store.put_setting("x".to_owned(), Some(vec![1]))).expect("a write");
    owner
}

/// Everything that can be read, as text.
fn read(store: &dyn Store) -> Vec<String> {
    let run = RunNumber(1);
    vec![
        format!("{:?}", wait(store.last_commit())),
        format!("{:?}", wait(store.load(Lookup::Number(run)))),
        format!("{:?}", wait(store.load(Lookup::Number(RunNumber(2))))),
        format!("{:?}", wait(store.history(run, 1, 9, 9, Order::Forward))),
        format!("{:?}", wait(store.due(ShardNumber(0), Timestamp::MAX, None, 9))),
        format!("{:?}", wait(store.with_work(ShardNumber(0), RunNumber(0), 9))),
        format!("{:?}", wait(store.list("ns".to_owned(), Filter::All, None, 9))),
        format!("{:?}", wait(store.attempts(run, 5))),
        format!("{:?}", wait(store.namespaces())),
        format!("{:?}", wait(store.setting("x".to_owned()))),
    ]
}
