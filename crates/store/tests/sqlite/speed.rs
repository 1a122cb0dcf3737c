//! What speed rests on: one commit is one transaction, and the log stays short.

use steadfast_store::{
    Lookup, RunNumber, Store,
    conformance::{create, wait},
    sqlite::{Options, Synchronous},
};

use super::{Owner, folder, large, step};

#[test]
fn hundreds_of_runs_are_one_commit() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    let before = owner.store.stats().commits;
    wait(owner.store.commit(owner.batch(1, (1..=300).map(create).collect()))).expect("committed");
    assert_eq!(owner.store.stats().commits - before, 1);
    wait(owner.store.commit(owner.batch(9, vec![]))).expect_err("out of sequence");
    assert_eq!(owner.store.stats().commits - before, 1, "a refusal is not a commit");
}

#[test]
fn a_step_that_leaves_the_due_time_alone_leaves_its_index_alone() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.commit(owner.batch(1, (1..=3).map(create).collect()))).expect("committed");
    wait(owner.store.load(Lookup::Number(RunNumber(1)))).expect("a read");
    let mut write = step(1, 2);
    write.events.clear();
    let before = owner.store.stats().wal_pages;
    wait(owner.store.commit(owner.batch(2, vec![write]))).expect("committed");
    wait(owner.store.load(Lookup::Number(RunNumber(1)))).expect("a read that has it unpacked");
    // The commit as it came; then the run, the sequence number and what waits no more; no index.
    assert_eq!(owner.store.stats().wal_pages - before, 1 + 3);
}

#[test]
fn what_is_large_is_written_once() {
    let (_folder, path) = folder();
    let owner = Owner::open(&path, &Options::default());
    wait(owner.store.commit(owner.batch(1, vec![create(1)]))).expect("committed");
    let before = owner.store.stats().wal_pages;
    wait(owner.store.commit(owner.batch(2, vec![large(2, 100_000)]))).expect("committed");
    wait(owner.store.load(Lookup::Number(RunNumber(2)))).expect("a read");
    let pages = owner.store.stats().wal_pages - before;
    // 25 have what is large, the others the rows and what waited.
    assert!((25..40).contains(&pages), "{pages} pages");
}

#[test]
fn the_log_begins_anew_under_constant_load() {
    let (_folder, path) = folder();
    let options = Options { synchronous: Synchronous::Off, ..Options::default() };
    let owner = Owner::open(&path, &options);
    let mut length = 0;
    // A thousand pages a commit; twenty commits are enough when the machine has nothing else to do.
    for sequence in 1..=300 {
        let run = i64::try_from(sequence).expect("small");
        let batch = owner.batch(sequence, vec![large(run, 4_000_000)]);
        wait(owner.store.commit(batch)).expect("committed");
        let before = std::mem::replace(&mut length, owner.store.stats().wal_pages);
        if length < before {
            return;
        }
    }
    panic!("it only grew, to {length} pages");
}
