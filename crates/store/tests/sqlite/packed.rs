//! Commits wait packed, and come to the tables in time, whatever happens meanwhile.

use std::{path::PathBuf, thread, time::Duration};

use rusqlite::Connection;
use steadfast_store::{
    Error, Filter, Lookup, Order, RunNumber, RunWrite, Store, VisibilityRow,
    conformance::{create, identity, wait},
    sqlite::Options,
};
use tempfile::TempDir;

use super::{Owner, folder, large, step};

#[test]
fn a_busy_run_is_written_to_the_tables_once() {
    let (_folder, _path, owner) = with_a_run(&Options::default());
    let steps: Vec<_> = (2..=5)
        .map(|sequence| owner.store.commit(owner.batch(sequence, vec![step(1, sequence)])))
        .collect();
    for done in steps {
        wait(done).expect("committed");
    }
    let history = wait(owner.store.history(RunNumber(1), 1, 9, 99, Order::Forward));
    let rows: Vec<_> = history.expect("a read").iter().map(|row| (row.first, row.last)).collect();
    // A disk that takes its time may part them once.
    assert!(rows.len() < 4, "four steps that came together are in rows of their own: {rows:?}");
    assert_eq!((rows.first().map(|row| row.0), rows.last().map(|row| row.1)), (Some(2), Some(5)));
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "another reader of the file is told nothing: it looks"
)]
fn what_was_committed_is_in_the_tables_when_nobody_has_written_for_a_moment() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.commit(owner.batch(1, vec![create(1), create(2)]))).expect("committed");
    let other = Connection::open(&path).expect("another reader");
    let looks = (0..6_000).take_while(|_| {
        thread::sleep(Duration::from_millis(5));
        rows(&other) != (2, 0)
    });
    assert!(looks.count() < 6_000, "runs and packed commits: {:?}", rows(&other));
}

#[test]
fn much_that_waits_is_brought_to_the_tables_while_others_write() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options { packed_kib: 64, ..Options::default() });
    let other = Connection::open(&path).expect("another reader");
    let mut most = 0;
    for sequence in 1..=200 {
        let run = i64::try_from(sequence).expect("small");
        wait(owner.store.commit(owner.batch(sequence, vec![large(run, 4_000)])))
            .expect("committed");
        most = most.max(rows(&other).1);
    }
    // One more than has room, and one that came before the writer saw to it.
    assert!((1..=18).contains(&most), "{most} waited");
}

#[test]
fn a_closed_file_has_everything_in_the_tables() {
    let (_folder, path, owner) = with_a_run(&Options::default());
    wait(owner.store.close()).expect("closed");
    assert_eq!(rows(&Connection::open(&path).expect("the file")), (1, 0));
}

#[test]
fn a_copy_has_everything_in_the_tables() {
    let (folder, _path, owner) = with_a_run(&Options::default());
    let copy = folder.path().join("copy.db");
    wait(owner.store.backup_to(&copy)).expect("a copy");
    assert_eq!(rows(&Connection::open(&copy).expect("the copy")), (1, 0));
}

#[test]
fn another_owner_takes_over_what_waits_and_the_first_sees_what_it_does() {
    let (_folder, path, first) = with_a_run(&Options::default());
    let second = Owner::open(&path, &Options::default());
    assert_eq!(second.lease.last_commit, 1);
    wait(second.store.commit(second.batch(2, vec![step(1, 2), create(2)]))).expect("committed");
    let lost = wait(first.store.commit(first.batch(2, vec![step(1, 2)])));
    assert!(matches!(lost, Err(Error::Fenced { .. })), "{lost:?}");
    for store in [&first.store, &second.store] {
        for run in [1, 2] {
            let found = wait(store.load(Lookup::Number(RunNumber(run)))).expect("a read");
            assert!(found.is_some(), "run {run}");
        }
        let history = wait(store.history(RunNumber(1), 1, 9, 9, Order::Forward)).expect("a read");
        assert_eq!(history.len(), 1);
    }
    wait(second.store.commit(second.batch(3, vec![step(1, 3), step(2, 3)]))).expect("goes on");
    wait(second.store.close()).expect("closed");
    assert_eq!(rows(&Connection::open(&path).expect("the file")), (2, 0));
}

#[test]
fn a_list_shows_what_was_committed_a_moment_ago() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    for run in 1..=20 {
        let row = VisibilityRow { identity: identity(run), status: 1, ..VisibilityRow::default() };
        let write = RunWrite { visibility: Some(row.into()), ..create(run) };
        wait(owner.store.commit(owner.batch(run.unsigned_abs(), vec![write]))).expect("committed");
        let found = wait(owner.store.list("ns".to_owned(), Filter::All, None, 99)).expect("a list");
        assert_eq!(i64::try_from(found.rows.len()), Ok(run));
    }
}

#[test]
fn a_read_of_what_waits_is_tried_again_while_another_process_holds_the_file() {
    let options = Options { busy_timeout: Duration::from_millis(20), ..Options::default() };
    let (_folder, path, owner) = with_a_run(&options);
    let [other, third] = [(); 2].map(|()| Connection::open(&path).expect("another process"));
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let read = owner.store.load(Lookup::Number(RunNumber(1)));
    third.busy_timeout(Duration::from_millis(100)).expect("set");
    third.execute_batch("BEGIN IMMEDIATE").expect_err("a wait for longer than the store waits");
    other.execute_batch("ROLLBACK").expect("unlocked");
    assert!(wait(read).expect("it is tried again").is_some());
}

#[test]
fn lists_are_shown_while_nothing_can_be_written_and_a_run_is_never_shown_as_it_was() {
    let options = Options { busy_timeout: Duration::from_millis(1), ..Options::default() };
    let (_folder, path, owner) = with_a_run(&options);
    let other = Connection::open(&path).expect("another process");
    other.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    wait(owner.store.list("ns".to_owned(), Filter::All, None, 9)).expect("what there was before");
    let missed = wait(owner.store.load(Lookup::Number(RunNumber(1))));
    assert!(matches!(missed, Err(Error::Busy(_))), "it waits");
    other.execute_batch("ROLLBACK").expect("unlocked");
    let found = wait(owner.store.load(Lookup::Number(RunNumber(1))));
    assert!(found.expect("a read").is_some());
}

#[test]
fn a_packed_commit_that_makes_no_sense_is_damage_and_says_which() {
    let (_folder, path) = folder();
    wait(Owner::open(&path, &Options::default()).store.close()).expect("closed");
    let other = Connection::open(&path).expect("the file");
    other.execute_batch("INSERT INTO packed_commits VALUES (1, x'01ff')").expect("damaged");
    other.close().expect("closed");
    let store = steadfast_store::Sqlite::open(&path, &Options::default()).expect("an open file");
    let refused = wait(store.acquire(1, "a test".to_owned())).expect_err("damaged");
    assert!(matches!(refused, Error::Damaged { .. }), "{refused}");
    assert!(refused.to_string().contains("commit 1 cannot be read"), "{refused}");
}

/// A file in which a run was committed a moment ago.
fn with_a_run(options: &Options) -> (TempDir, PathBuf, Owner) {
    let (folder, path) = folder();
    let owner = Owner::open(&path, options);
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("committed");
    (folder, path, owner)
}

/// How many runs there are, and how many commits that are packed.
fn rows(db: &Connection) -> (u32, u32) {
    let sql = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM packed_commits)";
    db.query_row(sql, (), |row| Ok((row.get(0)?, row.get(1)?))).expect("a read")
}
