//! A full disk and a busy lock: the write is not applied, and can be tried again.

use std::time::Duration;

use rusqlite::Connection;
use steadfast_store::{
    Error, Lookup, Outcome, RunNumber, RunWrite, Store,
    conformance::{create, wait},
    sqlite::Options,
};

use super::{Owner, folder, large};

const MEGABYTE: u64 = 1 << 20;

#[test]
fn a_full_disk_applies_nothing_of_the_batch() {
    let (_folder, path) = folder();
    let options = Options { file_bytes_max: Some(MEGABYTE), ..Options::default() };
    let owner = Owner::open(&path, &options);
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("small enough");
    let too_large = owner.batch(2, vec![create(2), large(3, 2_000_000), create(4)]);
    let error = wait(owner.store.commit(too_large)).expect_err("it does not fit");
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(wait(owner.store.last_commit()).expect("a read"), 1);
    for run in 2..=4 {
        let found = wait(owner.store.load(Lookup::Number(RunNumber(run)))).expect("a read");
        assert_eq!(found, None, "run {run}");
    }
}

#[test]
fn a_full_disk_does_not_stop_smaller_writes_or_reads() {
    let (_folder, path) = folder();
    let options = Options { file_bytes_max: Some(MEGABYTE), ..Options::default() };
    let owner = Owner::open(&path, &options);
    wait(owner.store.commit(owner.batch(1, vec![large(1, 600_000)]))).expect("small enough");
    let second = || owner.batch(2, vec![large(2, 600_000)]);
    wait(owner.store.commit(second())).expect_err("it does not fit");
    let delete = RunWrite { run: RunNumber(1), delete: true, ..RunWrite::default() };
    wait(owner.store.commit(owner.batch(2, vec![delete]))).expect("room is made");
    let again = owner.batch(3, vec![large(2, 600_000)]);
    wait(owner.store.commit(again)).expect("now it fits");
}

#[test]
fn the_same_batch_succeeds_when_there_is_room_again() {
    let (_folder, path) = folder();
    let options = Options { file_bytes_max: Some(MEGABYTE), ..Options::default() };
    let owner = Owner::open(&path, &options);
    let batch = owner.batch(1, vec![large(1, 2_000_000)]);
    wait(owner.store.commit(batch)).expect_err("it does not fit");
    wait(owner.store.close()).expect("closed");
    let owner = Owner::open(&path, &Options::default());
    assert_eq!(owner.lease.last_commit, 0);
    wait(owner.store.commit(owner.batch(1, vec![large(1, 2_000_000)]))).expect("now it fits");
}

#[test]
fn a_busy_file_answers_busy_and_the_same_batch_succeeds_later() {
    let (_folder, path) = folder();
    let options = Options { busy_timeout: Duration::from_millis(20), ..Options::default() };
    let owner = Owner::open(&path, &options);
    let batch = owner.batch(1, vec![create(1)]);
    let other = Connection::open(&path).expect("a second connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let error = wait(owner.store.commit(batch.clone())).expect_err("locked");
    assert!(matches!(error, Error::Busy(_)), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(wait(owner.store.last_commit()).expect("reads go on"), 0);
    other.execute_batch("ROLLBACK").expect("unlocked");
    wait(owner.store.commit(batch)).expect("the lock is free");
}

#[test]
fn a_commit_waits_for_a_lock_that_is_let_go_in_time() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    let other = Connection::open(&path).expect("a second connection");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let committed = owner.store.commit(owner.batch(1, vec![create(1)]));
    other.execute_batch("ROLLBACK").expect("unlocked");
    wait(committed).expect("it waited");
}

#[test]
fn a_reader_of_the_file_does_not_stop_commits() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    let other = Connection::open(&path).expect("a second connection");
    other.execute_batch("BEGIN; SELECT * FROM runs").expect("a snapshot");
    for sequence in 1..=20 {
        let run = i64::try_from(sequence).expect("small");
        wait(owner.store.commit(owner.batch(sequence, vec![create(run)]))).expect("no wait");
    }
}
