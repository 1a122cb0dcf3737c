//! Copies of a file in use.

use std::fs;

use steadfast_store::{
    Error, Lookup, RunNumber, Sqlite, Store,
    conformance::{create, wait},
    sqlite::{Check, Options},
};

use super::{Owner, folder, step};

#[test]
fn a_backup_is_a_whole_store() {
    let (folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("committed");
    let copy = folder.path().join("copy.db");
    wait(owner.store.backup_to(&copy)).expect("copied");
    wait(owner.store.commit(owner.batch(2, vec![create(2)]))).expect("committed");
    let options = Options { check: Check::Always, ..Options::default() };
    let store = Sqlite::open(&copy, &options).expect("healthy");
    assert_eq!(wait(store.last_commit()).expect("a read"), 1);
    let load = |run| wait(store.load(Lookup::Number(RunNumber(run)))).expect("a read");
    assert!(load(1).is_some());
    assert_eq!(load(2), None, "it came later");
}

#[test]
fn commits_go_on_during_a_backup() {
    let (folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.commit(owner.batch(1, (1..=200).map(create).collect()))).expect("committed");
    let copy = folder.path().join("copy.db");
    let copied = owner.store.backup_to(&copy);
    for sequence in 2..=20 {
        let writes = (1..=200).map(|run| step(run, sequence)).collect();
        wait(owner.store.commit(owner.batch(sequence, writes))).expect("committed");
    }
    wait(copied).expect("copied");
    let store = Sqlite::open(&copy, &Options::default()).expect("healthy");
    wait(store.verify()).expect("healthy");
    let sequence = wait(store.last_commit()).expect("a read");
    // All runs are of one moment.
    for run in (1..=200).filter(|_| sequence > 1) {
        let found = wait(store.load(Lookup::Number(RunNumber(run)))).expect("a read");
        assert_eq!(found.expect("a run").state.data, sequence.to_be_bytes());
    }
}

#[test]
fn a_file_that_is_there_already_is_not_overwritten() {
    let (folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    let copy = folder.path().join("copy.db");
    fs::write(&copy, "precious").expect("written");
    let error = wait(owner.store.backup_to(&copy)).expect_err("it is there already");
    assert!(matches!(error, Error::Rejected(_)), "{error}");
    assert_eq!(fs::read(&copy).expect("read"), b"precious");
}

#[test]
fn a_file_is_copied_by_name_whether_or_not_it_is_open() {
    let (folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("committed");
    let copy = |name: &str| {
        let copy = folder.path().join(name);
        Sqlite::copy(&path, &copy).expect("copied");
        let store = Sqlite::open(&copy, &Options::default()).expect("healthy");
        assert_eq!(wait(store.last_commit()).expect("a read"), 1);
    };
    // Of a process that was killed while it made one.
    let half = folder.path().join("of-open.db.part");
    fs::write(&half, "half a copy").expect("written");
    copy("of-open.db");
    assert!(!half.exists());
    drop(owner);
    copy("of-closed.db");
}

#[test]
fn what_is_no_store_is_not_copied() {
    let (folder, path) = folder();
    let copy = folder.path().join("copy.db");
    let error = Sqlite::copy(&path, &copy).expect_err("there is nothing");
    assert!(matches!(error, Error::Io(_)), "{error}");
    fs::write(&path, "a letter").expect("written");
    let error = Sqlite::copy(&path, &copy).expect_err("it is a letter");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(!copy.exists());
}

#[test]
fn a_backup_that_fails_leaves_nothing() {
    let (folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.backup_to(folder.path().join("missing/copy.db"))).expect_err("no folder");
    assert!(!folder.path().join("missing").exists());
}
