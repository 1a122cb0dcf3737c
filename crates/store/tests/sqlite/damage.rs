//! Files that must not be opened, and must be left as they are.

use std::{fs, path::Path, thread};

use rusqlite::Connection;
use steadfast_store::{
    Error, Sqlite, Store,
    conformance::{create, wait},
    sqlite::{Check, Options},
};

use super::{Owner, folder, large};

#[test]
fn a_file_that_is_not_a_database_is_refused() {
    let (_folder, path) = folder();
    fs::write(&path, vec![b'x'; 10_000]).expect("written");
    refused(&path, "not a database");
}

#[test]
fn a_short_text_is_refused() {
    let (_folder, path) = folder();
    fs::write(&path, "hello").expect("written");
    refused(&path, "not a database");
}

#[test]
fn an_empty_file_is_refused() {
    let (_folder, path) = folder();
    fs::write(&path, "").expect("written");
    refused(&path, "empty");
}

#[test]
fn a_folder_is_refused() {
    let (folder, _path) = folder();
    let error = Sqlite::open(folder.path(), &Options::default()).expect_err("a folder");
    assert!(error.to_string().contains("not a file"), "{error}");
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let (folder, _path) = folder();
    let path = folder.path().join("missing/test.db");
    Sqlite::open(path, &Options::default()).expect_err("no folder");
}

#[test]
fn the_database_of_another_program_is_refused() {
    let (_folder, path) = folder();
    let other = Connection::open(&path).expect("a database");
    other.execute_batch("CREATE TABLE runs (id INTEGER); PRAGMA user_version = 1").expect("filled");
    drop(other);
    refused(&path, "not one of Steadfast");
}

#[test]
fn a_file_of_a_newer_release_is_refused_with_both_versions() {
    let (_folder, path) = filled();
    let other = Connection::open(&path).expect("a database");
    other.execute_batch("PRAGMA user_version = 99").expect("changed");
    other.close().expect("closed");
    let before = fs::read(&path).expect("read");
    let error = Sqlite::open(&path, &Options::default()).expect_err("too new");
    assert!(matches!(error, Error::TooNew { found: 99, known: 5 }), "{error}");
    assert_eq!(fs::read(&path).expect("read"), before, "it was changed");
}

#[test]
fn a_file_cut_short_is_refused() {
    let (_folder, path) = filled();
    let whole = fs::read(&path).expect("read");
    for length in [50, 100, 4_096, 8_192, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).expect("written");
        refused(&path, "");
    }
}

#[test]
fn a_damaged_header_is_refused() {
    let (_folder, path) = filled();
    let whole = fs::read(&path).expect("read");
    // Text of the format, page size, reserved bytes, schema format, application id.
    for place in [0, 5, 15, 16, 17, 20, 21, 47, 68, 71] {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x55;
        fs::write(&path, damaged).expect("written");
        refused(&path, "");
    }
}

#[test]
fn a_missing_table_is_refused_by_name() {
    let (_folder, path) = filled();
    let other = Connection::open(&path).expect("a database");
    other.execute_batch("DROP TABLE items").expect("changed");
    other.close().expect("closed");
    refused(&path, "items");
}

#[test]
fn damaged_pages_are_found_when_asked() {
    let (_folder, path) = filled();
    let mut bytes = fs::read(&path).expect("read");
    let start = bytes.len() / 2 / 4096 * 4096;
    bytes[start..start + 4096].fill(0xAB);
    fs::write(&path, bytes).expect("written");
    let options = Options { check: Check::Always, ..Options::default() };
    let error = Sqlite::open(&path, &options).expect_err("damaged");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn damaged_pages_are_found_after_a_crash() {
    let (_folder, path) = filled();
    let mut bytes = fs::read(&path).expect("read");
    let start = bytes.len() / 2 / 4096 * 4096;
    bytes[start..start + 4096].fill(0xAB);
    fs::write(&path, bytes).expect("written");
    // What a process leaves behind that did not close the file: a log with something in it.
    let log = Connection::open(&path).expect("a database");
    log.execute_batch("PRAGMA wal_autocheckpoint = 0; UPDATE commits SET sequence = sequence + 1")
        .expect("a log");
    let error = Sqlite::open(&path, &Options::default()).expect_err("damaged");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

#[test]
fn a_log_without_its_file_is_refused() {
    let (folder, path) = folder();
    fs::write(folder.path().join("test.db-wal"), "the only copy").expect("written");
    let error = Sqlite::open(&path, &Options::default()).expect_err("half of it is missing");
    assert!(error.to_string().contains("write-ahead log"), "{error}");
    assert!(!path.exists(), "no new file was made");
}

#[test]
fn a_healthy_file_verifies() {
    let (_folder, path) = filled();
    let store = Sqlite::open(&path, &Options::default()).expect("healthy");
    wait(store.verify()).expect("healthy");
}

#[test]
fn many_may_make_the_same_new_file_at_once() {
    let (_folder, path) = folder();
    let open = || Sqlite::open(&path, &Options::default()).expect("made by one of them");
    thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        let stores: Vec<_> = threads.into_iter().map(|one| one.join().expect("opened")).collect();
        wait(stores[0].put_setting("x".to_owned(), Some(vec![1]))).expect("written");
        for store in &stores {
            assert_eq!(wait(store.setting("x".to_owned())).expect("a read"), Some(vec![1]));
        }
    });
}

#[test]
fn closing_leaves_one_file() {
    let (folder, _path) = filled();
    let names: Vec<_> = fs::read_dir(folder.path())
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name())
        .collect();
    assert_eq!(names, ["test.db"]);
}

/// A closed file with some pages in it.
fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let (folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    let mut writes: Vec<_> = (1..=500).map(create).collect();
    writes.push(large(501, 100_000));
    wait(owner.store.commit(owner.batch(1, writes))).expect("committed");
    wait(owner.store.close()).expect("closed");
    (folder, path)
}

/// Opening is refused as damaged, for this reason, and changes no byte.
#[track_caller]
fn refused(path: &Path, reason: &str) {
    let before = fs::read(path).expect("read");
    let error = Sqlite::open(path, &Options::default()).expect_err("it should be refused");
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(reason), "{error}");
    assert!(error.to_string().contains("test.db"), "{error}");
    assert!(fs::read(path).expect("read") == before, "the file was changed");
}
