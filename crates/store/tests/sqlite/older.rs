//! Files of older releases are brought up to date when they are opened.

use std::path::Path;

use rusqlite::Connection;
use steadfast_retry::Timestamp;
use steadfast_store::{
    AttemptRow, ErrorFilter, ErrorRow, ErrorWrite, Field, Filter, Order, RunNumber, RunWrite,
    Store, VisibilityRow,
    conformance::{create, identity, wait},
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

#[test]
fn a_file_of_schema_3_lists_as_before() {
    let (_folder, path) = folder();
    let listed = |run: i64, namespace: &str, status| {
        let mut write = create(run);
        let mut row = VisibilityRow { identity: identity(run), status, ..VisibilityRow::default() };
        namespace.clone_into(&mut row.identity.namespace);
        row.close_time = (status != 1).then_some(Timestamp(run));
        write.create = Some(row.identity.clone().into());
        RunWrite { visibility: Some(row.into()), ..write }
    };
    let lists = |owner: &Owner| {
        ["ns", "other", "nowhere"].map(|namespace| {
            let list = owner.store.list(namespace.to_owned(), Filter::All, None, 9);
            let count = owner.store.count(namespace.to_owned(), Filter::All, Some(Field::Status));
            (wait(list).expect("a list"), wait(count).expect("a count"))
        })
    };
    let owner = Owner::open(&path, &Options::default());
    let writes = vec![listed(1, "ns", 1), listed(2, "other", 2), listed(3, "ns", 3)];
    wait(owner.store.commit(owner.batch(1, writes))).expect("a commit");
    let before = lists(&owner);
    assert_eq!(before.each_ref().map(|(list, _)| list.rows.len()), [2, 1, 0]);
    wait(owner.store.close()).expect("closed");
    let db = Connection::open(&path).expect("the file");
    db.execute_batch(WITHOUT_NUMBERS).expect("older");
    db.close().expect("closed");

    let owner = Owner::open(&path, &Options::default());
    assert_eq!(lists(&owner), before);
    wait(owner.store.commit(owner.batch(2, vec![listed(4, "nowhere", 1)]))).expect("a commit");
    assert_eq!(lists(&owner).map(|(list, _)| list.rows.len()), [2, 1, 1]);
}

/// A file with an activity that was tried twice.
fn write(path: &Path) {
    let owner = Owner::open(path, &Options::default());
    let write = RunWrite { attempts: vec![attempt(1), attempt(2)], ..create(1) };
    wait(owner.store.commit(owner.batch(1, vec![write]))).expect("a commit");
    wait(owner.store.close()).expect("closed");
}

/// Undoes schemas 5 to 3, and what else is said.
fn make_older(path: &Path, more: &str) {
    let db = Connection::open(path).expect("the file");
    db.execute_batch(WITHOUT_NUMBERS).expect("older");
    let columns = ["rule", "layer", "policy", "source", "delay", "class", "parked"];
    for column in columns {
        db.execute(&format!("ALTER TABLE attempts DROP COLUMN {column}"), ()).expect("older");
    }
    db.execute_batch("DROP TABLE errors; PRAGMA user_version = 2").expect("older");
    db.execute_batch(more).expect("older");
    db.close().expect("closed");
}

/// What undoes schemas 5 and 4.
const WITHOUT_NUMBERS: &str = "ALTER TABLE visibility RENAME COLUMN namespace TO space;
    ALTER TABLE visibility ADD COLUMN namespace TEXT NOT NULL DEFAULT '';
    UPDATE visibility SET namespace =
        (SELECT n.namespace FROM namespace_numbers n WHERE number = space);
    DROP INDEX visibility_by_time; DROP INDEX visibility_by_type; DROP INDEX visibility_by_status;
    ALTER TABLE visibility DROP COLUMN space;
    DROP TABLE namespace_numbers;
    DROP TABLE packed_commits;
    PRAGMA user_version = 3";

fn attempt(attempt: u32) -> AttemptRow {
    AttemptRow { activity: 5, attempt, ..AttemptRow::default() }
}
