//! Files of older releases are brought up to date when they are opened.

use std::path::Path;

use rusqlite::Connection;
use steadfast_store::{
    AttemptRow, ErrorFilter, ErrorRow, ErrorWrite, Order, RunNumber, RunWrite, Store,
    conformance::{create, wait},
    sqlite::Options,
};

use super::{Owner, folder};

#[test]
fn a_file_of_schema_1_finds_what_was_tried_again() {
    let (_folder, path) = folder();
    write(&path);
    make_older(&path, "DROP INDEX attempts_by_number; PRAGMA user_version = 1");

    let owner = Owner::open(&path, &Options::default());
    let found = wait(owner.store.retried("ns".to_owned(), 1, None, 10)).expect("a read");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].last.attempt, 2);
}

#[test]
fn a_file_of_schema_2_has_no_errors_and_gets_some() {
    let (_folder, path) = folder();
    write(&path);
    make_older(&path, "");

    let owner = Owner::open(&path, &Options::default());
    let page = |limit| {
        let filter = ErrorFilter::default();
        let read = owner.store.errors("ns".to_owned(), filter, Order::Backward, None, limit);
        wait(read).expect("a read").errors
    };
    assert_eq!(page(9), []);
    let log = wait(owner.store.attempts(RunNumber(1), 5)).expect("a read");
    assert_eq!(log.rows, [attempt(1), attempt(2)], "attempts of before say nothing new");
    let errors = vec![ErrorWrite { subject: 5, row: Some(ErrorRow::default()) }];
    let write = RunWrite { run: RunNumber(1), errors, ..RunWrite::default() };
    wait(owner.store.commit(owner.batch(2, vec![write]))).expect("a commit");
    assert_eq!(page(9).len(), 1);
}

/// A file with an activity that was tried twice.
fn write(path: &Path) {
    let owner = Owner::open(path, &Options::default());
    let write = RunWrite { attempts: vec![attempt(1), attempt(2)], ..create(1) };
    wait(owner.store.commit(owner.batch(1, vec![write]))).expect("a commit");
    wait(owner.store.close()).expect("closed");
}

/// Undoes schema 3, and what else is said.
fn make_older(path: &Path, more: &str) {
    let db = Connection::open(path).expect("the file");
    let columns = ["rule", "layer", "policy", "source", "delay", "class", "parked"];
    for column in columns {
        db.execute(&format!("ALTER TABLE attempts DROP COLUMN {column}"), ()).expect("older");
    }
    db.execute_batch("DROP TABLE errors; PRAGMA user_version = 2").expect("older");
    db.execute_batch(more).expect("older");
    db.close().expect("closed");
}

fn attempt(attempt: u32) -> AttemptRow {
    AttemptRow { activity: 5, attempt, ..AttemptRow::default() }
}
