//! Asides: what they may do, and what becomes of those who share a transaction with them.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use rusqlite::Connection;
use steadfast_store::{
    Aside, Error, Failure, Lookup, RunNumber, RunWrite, Store,
    conformance::{create, wait},
    sqlite::Options,
};

use crate::{Owner, folder, large};

/// An aside that runs this.
fn sql(text: &str) -> Aside {
    let text = text.to_owned();
    Aside::new(move |db| Ok(db.execute_batch(&text)?))
}

fn with(aside: &Arc<Aside>, run: i64) -> RunWrite {
    RunWrite { aside: Some(Arc::clone(aside)), ..create(run) }
}

fn count(db: &Connection, table: &str) -> i64 {
    db.query_row(&format!("SELECT count(*) FROM {table}"), (), |row| row.get(0)).expect("a table")
}

fn is_there(owner: &Owner, run: i64) -> bool {
    wait(owner.store.load(Lookup::Number(RunNumber(run)))).expect("a read").is_some()
}

#[test]
fn an_aside_may_use_its_own_tables_and_nothing_else() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    let tables = "CREATE TABLE mine (x UNIQUE); CREATE INDEX mine_by_x ON mine (x);
        INSERT INTO mine VALUES (1)";
    wait(owner.store.run_aside(sql(tables))).expect("its own tables");
    let table = [
        ("INSERT INTO mine SELECT count(*) + 10 FROM runs", None),
        ("SAVEPOINT a; UPDATE mine SET x = 2 WHERE x = 1; RELEASE a", None),
        ("ALTER TABLE mine ADD COLUMN y", None),
        ("INSERT INTO mine (x) VALUES (2)", Some("UNIQUE constraint failed")),
        ("INSERT INTO nobody VALUES (1)", Some("no such table")),
        ("DELETE FROM runs", Some("the table runs is Steadfast's own")),
        ("UPDATE Commits SET sequence = 7", Some("the table commits is Steadfast's own")),
        ("DROP TABLE events", Some("the table events is Steadfast's own")),
        ("ALTER TABLE items RENAME TO mine2", Some("the table items is Steadfast's own")),
        ("CREATE INDEX i ON visibility (memo)", Some("the table visibility is Steadfast's own")),
        (
            "CREATE TRIGGER t AFTER INSERT ON mine BEGIN DELETE FROM runs; END;
             INSERT INTO mine (x) VALUES (99)",
            Some("the table runs is Steadfast's own"),
        ),
        ("CREATE TEMP TABLE runs (x)", Some("temporary")),
        ("COMMIT", Some("not its own to begin or end")),
        ("ROLLBACK", Some("not its own to begin or end")),
        ("RELEASE steadfast_aside", Some("not its own")),
        ("ATTACH ':memory:' AS other", Some("may not change how the database works")),
        ("PRAGMA writable_schema = 1", Some("may not change how the database works")),
    ];
    for (text, expected) in table {
        let told = wait(owner.store.run_aside(sql(text)));
        match (told, expected) {
            (Ok(()), None) => {}
            (Err(Error::Rejected(reason)), Some(part)) => {
                assert!(reason.contains(part), "{text}: {reason}");
            }
            (told, _) => panic!("{text}: {told:?}"),
        }
    }
    // None of it is in the way of what comes next.
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("a commit");
}

#[test]
fn an_aside_that_ends_the_transaction_is_refused_with_all_of_it_and_alone_the_next_time() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.run_aside(sql("CREATE TABLE mine (x UNIQUE)"))).expect("a table");
    let twice = "INSERT INTO mine VALUES (1); INSERT OR ROLLBACK INTO mine VALUES (1)";
    let aside = Arc::new(sql(twice));
    let told = wait(owner.store.commit(owner.batch(1, vec![create(1), with(&aside, 2)])));
    assert!(matches!(told, Err(Error::Rejected(_))), "{told:?}");
    assert_eq!(aside.failure().as_deref(), Some("it rolled the whole transaction back"));
    assert!(!is_there(&owner, 1));
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("without it");
}

#[test]
fn a_panic_in_an_aside_is_its_failure() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    // Like a panic, but without its message in the output of the tests.
    let panics = |_: &Connection| -> Result<(), Failure> {
        std::panic::resume_unwind(Box::new("out of paper"))
    };
    let aside = Arc::new(Aside::new(panics));
    wait(owner.store.commit(owner.batch(1, vec![with(&aside, 1), create(2)]))).expect("a commit");
    assert_eq!(aside.failure().as_deref(), Some("it panicked: out of paper"));
    assert!(!is_there(&owner, 1));
    assert!(is_there(&owner, 2));
}

#[test]
fn a_full_disk_is_not_the_asides_failure_and_it_is_run_again() {
    let (_folder, path) = folder();
    let options = Options { file_bytes_max: Some(1 << 20), ..Options::default() };
    let owner = Owner::open(&path, &options);
    wait(owner.store.run_aside(sql("CREATE TABLE mine (x)"))).expect("a table");
    let tries = Arc::new(AtomicU32::new(0));
    let aside = {
        let tries = Arc::clone(&tries);
        Arc::new(Aside::new(move |db| {
            // Much at first, less the next time.
            let bytes = if tries.fetch_add(1, Ordering::SeqCst) == 0 { 4 << 20 } else { 10 };
            db.execute("INSERT INTO mine VALUES (zeroblob(?1))", [bytes])?;
            Ok(())
        }))
    };
    let batch = owner.batch(1, vec![with(&aside, 1), large(2, 10)]);
    let told = wait(owner.store.commit(Arc::clone(&batch)));
    assert!(matches!(told, Err(Error::Full(_))), "{told:?}");
    assert_eq!(aside.failure(), None);
    wait(owner.store.commit(batch)).expect("the same batch again");
    assert!(is_there(&owner, 1));
    let db = Connection::open(&path).expect("the file");
    assert_eq!(count(&db, "mine"), 1);
}
