//! Files that are taken away while they are open.

#![cfg(unix)]

use std::{fs, path::Path};

use steadfast_store::{
    Error, Lookup, RunNumber, Sqlite, Store,
    conformance::{create, wait},
    sqlite::Options,
};

use super::{Owner, folder};

#[test]
fn what_is_written_to_a_removed_file_is_not_acknowledged() {
    let (_folder, path) = folder();
    let owner = owner_with_one_run(&path);
    remove_all(&path);
    let error = wait(owner.store.commit(owner.batch(2, vec![create(2)]))).expect_err("gone");
    assert_gone(&error, "test.db was removed");
    let error = wait(owner.store.put_setting("a".to_owned(), None)).expect_err("gone");
    assert_gone(&error, "test.db was removed");
}

#[test]
fn nor_is_what_is_written_to_one_that_was_replaced_or_renamed() {
    let (folder, path) = folder();
    let owner = owner_with_one_run(&path);
    let elsewhere = folder.path().join("elsewhere.db");
    fs::rename(&path, &elsewhere).expect("renamed");
    let error = wait(owner.store.commit(owner.batch(2, vec![create(2)]))).expect_err("gone");
    assert_gone(&error, "test.db was removed, renamed or replaced");
    fs::write(&path, "another").expect("written");
    let error = wait(owner.store.put_setting("a".to_owned(), None)).expect_err("replaced");
    assert_gone(&error, "test.db was removed, renamed or replaced");
    fs::rename(&elsewhere, &path).expect("put back");
    wait(owner.store.put_setting("a".to_owned(), None)).expect("it is there again");
}

#[test]
fn a_log_that_is_removed_is_noticed_and_closing_saves_what_was_in_it() {
    let (_folder, path) = folder();
    let owner = owner_with_one_run(&path);
    fs::remove_file(path.with_extension("db-wal")).expect("removed");
    let error = wait(owner.store.commit(owner.batch(2, vec![create(2)]))).expect_err("gone");
    assert_gone(&error, "test.db-wal was removed");
    wait(owner.store.close()).expect("closed");

    let store = Sqlite::open(&path, &Options::default()).expect("a healthy file");
    for run in [1, 2] {
        let found = wait(store.load(Lookup::Number(RunNumber(run)))).expect("read");
        assert!(found.is_some(), "run {run}");
    }
}

#[test]
fn closing_a_file_that_was_removed_leaves_the_next_one_alone() {
    let (_folder, path) = folder();
    let old = owner_with_one_run(&path);
    remove_all(&path);
    // Of another process, as far as the old one is concerned: its lock has another file, too.
    let new = rusqlite::Connection::open(&path).expect("a new file");
    new.pragma_update(None, "journal_mode", "WAL").expect("a log");
    new.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").expect("written");
    let log = path.with_extension("db-wal");
    let bytes = fs::metadata(&log).expect("a log").len();
    wait(old.store.close()).expect("closed");
    assert_eq!(fs::metadata(&log).expect("still there").len(), bytes);
}

fn owner_with_one_run(path: &Path) -> Owner {
    let owner = Owner::open(path, &Options::default());
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("committed");
    owner
}

/// As somebody does who wants to begin anew.
fn remove_all(path: &Path) {
    for suffix in ["db", "db-wal", "db-shm", "db-lock"] {
        fs::remove_file(path.with_extension(suffix)).expect("removed");
    }
}

fn assert_gone(error: &Error, words: &str) {
    assert!(matches!(error, Error::Gone { .. }), "{error:?}");
    assert!(error.to_string().contains(words), "{error}");
}
