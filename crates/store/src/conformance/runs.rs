//! Runs: what was written is what is loaded.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use steadfast_retry::Timestamp;

use super::fixture::{Backend, Owner, create, identity, state, wait, write};
use crate::rows::{
    Item, ItemKind, ItemWrite, Lookup, RunIdentity, RunNumber, RunRows, RunWrite, ShardNumber,
    StateRow,
};

/// By its number and by its names.
pub fn a_run_comes_back_whole(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let state = StateRow { data: vec![1, 2], next_due: Some(Timestamp(9)), has_work: true };
    let items = vec![ItemWrite { kind: ItemKind::Child, key: vec![0], data: Some(vec![7]) }];
    let shard = ShardNumber(2);
    owner.commit(vec![RunWrite { state: Some(state.clone()), items, shard, ..create(1) }]);
    let expected = RunRows {
        run: RunNumber(1),
        shard,
        identity: identity(1),
        state,
        items: vec![Item { kind: ItemKind::Child, key: vec![0], data: vec![7] }],
    };
    for lookup in [Lookup::Number(RunNumber(1)), current(1), Lookup::Run(identity(1))] {
        let found = wait(owner.store.load(lookup.clone())).expect("a read");
        assert_eq!(found.as_ref(), Some(&expected), "{lookup:?}");
    }
}

/// By number, whatever the order of creation.
pub fn the_current_run_is_the_newest(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let again = |run| RunIdentity { run_id: format!("run-{run}"), ..identity(1) };
    let next = |run| RunWrite { create: Some(again(run).into()), ..create(run) };
    owner.commit(vec![next(12), next(1), create(30)]);
    owner.commit(vec![next(5)]);
    let found = wait(owner.store.load(current(1))).expect("a read").expect("a run");
    assert_eq!(found.run, RunNumber(12));
    owner.commit(vec![RunWrite { delete: true, ..write(12) }]);
    let found = wait(owner.store.load(current(1))).expect("a read").expect("a run");
    assert_eq!(found.run, RunNumber(5));
}

/// A run id under another workflow id is not it.
pub fn a_run_is_found_by_all_its_names_only(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    let other = "other".to_owned();
    for wrong in [
        RunIdentity { namespace: other.clone(), ..identity(1) },
        RunIdentity { workflow_id: other.clone(), ..identity(1) },
        RunIdentity { run_id: other, ..identity(1) },
    ] {
        assert_eq!(wait(owner.store.load(Lookup::Run(wrong))).expect("a read"), None);
    }
}

/// It is not an error.
pub fn an_unknown_run_is_none(backend: &dyn Backend) {
    let owner = Owner::of(backend);
    for lookup in [Lookup::Number(RunNumber(1)), current(1), Lookup::Run(identity(1))] {
        assert_eq!(wait(owner.store.load(lookup)).expect("a read"), None);
    }
}

/// Nothing of the old one is left.
pub fn state_is_replaced(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    for data in ["longer than before", "", "x"] {
        owner.commit(vec![RunWrite { state: Some(state(data)), ..write(1) }]);
        assert_eq!(owner.load(1).expect("run 1").state, state(data));
    }
}

/// Kinds by number, keys by their bytes.
pub fn items_are_ordered_by_kind_and_key(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let kinds = [
        ItemKind::DeadLetter,
        ItemKind::Message,
        ItemKind::Buffered,
        ItemKind::Request,
        ItemKind::Update,
        ItemKind::External,
        ItemKind::Child,
        ItemKind::Timer,
        ItemKind::Activity,
    ];
    let keys: [&[u8]; 4] = [&[0, 2], &[255], &[], &[0, 1, 0]];
    let items = kinds.iter().flat_map(|kind| keys.map(|key| put(*kind, key, "x"))).collect();
    owner.commit(vec![RunWrite { items, ..create(1) }]);
    let found: Vec<_> =
        owner.load(1).expect("run 1").items.into_iter().map(|item| (item.kind, item.key)).collect();
    let expected: Vec<_> = kinds
        .iter()
        .rev()
        .flat_map(|kind| [&[][..], &[0, 1, 0], &[0, 2], &[255]].map(|key| (*kind, key.to_vec())))
        .collect();
    assert_eq!(found, expected);
}

/// Deleting what is not there is fine.
pub fn items_are_replaced_and_deleted(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let timer = |key: &str, data: &str| put(ItemKind::Timer, key.as_bytes(), data);
    let gone = |key: &str| ItemWrite { data: None, ..timer(key, "") };
    let read = |owner: &Owner| -> Vec<(Vec<u8>, Vec<u8>)> {
        let items = owner.load(1).expect("run 1").items;
        items.into_iter().map(|item| (item.key, item.data)).collect()
    };
    owner.commit(vec![RunWrite { items: vec![timer("a", "1"), timer("b", "1")], ..create(1) }]);
    let items = vec![timer("a", "2"), gone("b"), gone("never"), timer("c", "")];
    owner.commit(vec![RunWrite { items, ..write(1) }]);
    let pair = |key: &str, data: &str| (key.into(), data.into());
    assert_eq!(read(&owner), [pair("a", "2"), pair("c", "")]);
    owner.commit(vec![RunWrite { items: vec![gone("a"), gone("c")], ..write(1) }]);
    assert_eq!(read(&owner), []);
}

/// The state stays as it was.
pub fn an_item_can_be_written_without_a_state(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    owner.commit(vec![create(1)]);
    owner.commit(vec![RunWrite { items: vec![put(ItemKind::Timer, b"t", "1")], ..write(1) }]);
    let run = owner.load(1).expect("run 1");
    assert_eq!((run.state, run.items.len()), (state("new"), 1));
}

/// Zeros, high bytes, names that are hard to quote, and a megabyte.
pub fn bytes_come_back_as_they_were(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let data: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    let hard = RunIdentity {
        namespace: "'; DROP TABLE runs; --".to_owned(),
        workflow_id: "nul \0 in it, \u{10ffff}, \" and ?1".to_owned(),
        run_id: String::new(),
    };
    let large = StateRow { data: data.clone(), next_due: None, has_work: false };
    let named = Some(hard.clone().into());
    owner.commit(vec![RunWrite { create: named, state: Some(large), ..create(1) }]);
    let found = wait(owner.store.load(Lookup::Run(hard.clone()))).expect("a read").expect("a run");
    assert!(found.state.data == data, "the state differs");
    assert_eq!(found.identity, hard);
}

/// State and items belong together, also while commits go on.
pub fn a_run_is_loaded_as_of_one_moment(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let step = |number: u32| {
        let text = number.to_string();
        let items = ["a", "b"].map(|key| put(ItemKind::Timer, key.as_bytes(), &text)).into();
        RunWrite { state: Some(state(&text)), items, ..write(1) }
    };
    owner.commit(vec![RunWrite { create: Some(identity(1).into()), ..step(0) }]);
    let reader = backend.open();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let found = wait(reader.load(current(1))).expect("a read").expect("a run");
                for item in found.items {
                    assert_eq!(item.data, found.state.data, "an item of another moment");
                }
            }
        });
        for number in 1..200 {
            owner.commit(vec![step(number)]);
        }
        done.store(true, Ordering::SeqCst);
    });
}

/// Those of deleted runs do not.
pub fn workflow_ids_come_once_each_and_in_order(backend: &dyn Backend) {
    let mut owner = Owner::of(backend);
    let named = |run, namespace: &str, workflow_id: &str| RunWrite {
        create: Some(Box::new(RunIdentity {
            namespace: namespace.to_owned(),
            workflow_id: workflow_id.to_owned(),
            run_id: format!("run-{run}"),
        })),
        ..create(run)
    };
    owner.commit(vec![
        named(1, "b", "x"),
        named(2, "a", "y"),
        named(3, "b", "ä"),
        named(4, "b", ""),
    ]);
    owner.commit(vec![named(5, "b", "x"), named(6, "a", "gone"), named(7, "ab", "x")]);
    owner.commit(vec![RunWrite { delete: true, ..write(6) }]);
    let mut found = Vec::new();
    loop {
        let after = found.last().cloned();
        let page = wait(owner.store.workflow_ids(after, 2)).expect("a read");
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 2, "{page:?}");
        found.extend(page);
    }
    let expected = [("a", "y"), ("ab", "x"), ("b", ""), ("b", "x"), ("b", "ä")];
    let expected = expected.map(|(namespace, id)| (namespace.to_owned(), id.to_owned()));
    assert_eq!(found, expected);
}

fn current(run: i64) -> Lookup {
    let RunIdentity { namespace, workflow_id, .. } = identity(run);
    Lookup::Current { namespace, workflow_id }
}

fn put(kind: ItemKind, key: &[u8], data: &str) -> ItemWrite {
    ItemWrite { kind, key: key.to_vec(), data: Some(data.into()) }
}
