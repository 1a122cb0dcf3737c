//! Files of older releases are brought up to date when they are opened.

use rusqlite::Connection;
use steadfast_store::{
    AttemptRow, RunWrite, Store,
    conformance::{create, wait},
    sqlite::Options,
};

use super::{Owner, folder};

#[test]
fn a_file_of_schema_1_finds_what_was_tried_again() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    let attempt = |attempt| AttemptRow { activity: 5, attempt, ..AttemptRow::default() };
    let attempts = vec![attempt(1), attempt(2)];
    let write = RunWrite { attempts, ..create(1) };
    wait(owner.store.commit(owner.batch(1, vec![write]))).expect("a commit");
    wait(owner.store.close()).expect("closed");
    let db = Connection::open(&path).expect("the file");
    db.execute_batch("DROP INDEX attempts_by_number; PRAGMA user_version = 1").expect("older");
    db.close().expect("closed");

    let owner = Owner::open(&path, &Options::default());
    let found = wait(owner.store.retried("ns".to_owned(), 1, None, 10)).expect("a read");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].last.attempt, 2);
}
