//! Processes that die, and disks that fail, in the middle of commits.
//!
//! A test starts this same program again with a path in the environment; the second process
//! commits and says so line by line until something happens to it.

use std::{
    env,
    io::{BufRead, BufReader, Write, stdout},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use steadfast_store::{
    Error, Lookup, Order, Outcome, RunNumber, Sqlite, Store,
    conformance::{create, wait},
    sqlite::Options,
};

use super::{Owner, folder, step};

const RUNS: i64 = 40;

/// Where the second process finds its file.
const PATH: &str = "STEADFAST_CRASH_TEST_PATH";

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    let (_folder, path) = folder();
    for lines in [1, 7, 40, 3, 90] {
        let mut child = start(":", &path);
        let mut said = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut acknowledged = 0;
        for line in said.by_ref().take(lines) {
            acknowledged = number(&line.expect("text"));
        }
        child.kill().expect("killed");
        // What it still said before it died counts too.
        let rest = said.map_while(Result::ok).filter(|line| line.parse::<u64>().is_ok());
        acknowledged = rest.map(|line| number(&line)).last().unwrap_or(acknowledged);
        child.wait().expect("dead");
        check(&path, acknowledged);
    }
}

#[test]
fn a_failing_disk_loses_nothing_that_was_acknowledged() {
    let (_folder, path) = folder();
    drop(Owner::open(&path, &Options::default()));
    // The system fails every write beyond this size of a file, which the log reaches first.
    let mut child = start("trap '' XFSZ; ulimit -f 2000", &path);
    let said = BufReader::new(child.stdout.take().expect("its output")).lines();
    let said: Vec<_> = said.map_while(Result::ok).collect();
    assert!(child.wait().expect("ended").success(), "{said:?}");
    let acknowledged = said.iter().filter_map(|line| line.parse().ok()).max().expect("some");
    let failures = said.iter().filter(|line| line.contains("the disk failed")).count();
    assert!(failures > 0, "no write failed: {said:?}");
    check(&path, acknowledged);
}

#[test]
fn a_file_is_refused_while_another_process_has_it_and_no_longer() {
    let (_folder, path) = folder();
    let mut child = start(":", &path);
    let mut said = BufReader::new(child.stdout.take().expect("its output")).lines();
    let begun = said.by_ref().map_while(Result::ok).find(|line| number(line) > 3);
    assert!(begun.is_some(), "it never began");
    let impatient = Options { lock_timeout: Duration::from_millis(20), ..Options::default() };
    for _ in 0..2 {
        let refused = Sqlite::open(&path, &impatient).map(drop);
        let Err(Error::InUse { process, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(process, Some(child.id()));
    }
    let next = said.by_ref().map_while(Result::ok).map(|line| number(&line)).next();
    assert!(next.is_some_and(|number| number > 4), "it goes on: {next:?}");
    // Whoever comes next waits until it is gone.
    child.kill().expect("killed");
    check(&path, next.expect("a commit"));
    child.wait().expect("dead");
    // Opened again while it is still open: one process has one lock.
    let (one, other) =
        (Owner::open(&path, &Options::default()), Owner::open(&path, &Options::default()));
    drop((one, other));
    check(&path, 0);
}

/// As where files cannot be locked, or somebody removes the lock.
#[test]
fn a_process_that_was_replaced_can_write_no_more() {
    let (_folder, path) = folder();
    let mut child = start(":", &path);
    let mut said = BufReader::new(child.stdout.take().expect("its output")).lines();
    let begun = said.by_ref().map_while(Result::ok).find(|line| number(line) > 3);
    assert!(begun.is_some(), "it never began");
    let mut lock = path.clone().into_os_string();
    lock.push("-lock");
    std::fs::remove_file(lock).expect("a lock");
    let owner = Owner::open(&path, &Options::default());
    let taken_over_at = owner.lease.last_commit;
    let rest: Vec<_> = said.map_while(Result::ok).collect();
    assert!(child.wait().expect("ended").success(), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("another one owns it now")), "{rest:?}");
    assert!(rest.iter().all(|line| number(line) <= taken_over_at), "{taken_over_at}: {rest:?}");
    check(&path, taken_over_at);
    let writes = (1..=RUNS).map(|run| step(run, taken_over_at + 1)).collect();
    wait(owner.store.commit(owner.batch(taken_over_at + 1, writes))).expect("the new owner's");
}

/// Not a test of its own: what the second process does.
#[test]
fn commits_until_something_happens() {
    let Some(path) = env::var_os(PATH).map(PathBuf::from) else { return };
    let owner = Owner::open(&path, &Options::default());
    let mut sequence = owner.lease.last_commit;
    if sequence == 0 {
        sequence = 1;
        wait(owner.store.commit(owner.batch(1, (1..=RUNS).map(create).collect()))).expect("begun");
    }
    loop {
        sequence += 1;
        let writes = (1..=RUNS).map(|run| step(run, sequence)).collect();
        if let Err(error) = wait(owner.store.commit(owner.batch(sequence, writes))) {
            say(&error);
            if matches!(error, Error::Fenced { .. }) {
                return;
            }
            assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
            assert!(matches!(error, Error::Io(_)), "{error}");
            // Unknown means: ask. Whatever the answer, it must agree with what is there.
            let last = wait(owner.store.last_commit()).expect("reads go on");
            assert!(last == sequence || last == sequence - 1, "{last} after {sequence}");
            return;
        }
        say(&sequence);
    }
}

/// Everything acknowledged is there, and nothing of a commit without all of it.
fn check(path: &Path, acknowledged: u64) {
    let store = Sqlite::open(path, &Options::default()).expect("a healthy file");
    wait(store.verify()).expect("a healthy file");
    let last = wait(store.last_commit()).expect("a read");
    assert!(last >= acknowledged, "{acknowledged} was acknowledged, {last} is there");
    for run in (1..=RUNS).map(RunNumber).filter(|_| last > 1) {
        let found = wait(store.load(Lookup::Number(run))).expect("a read").expect("a run");
        assert_eq!(found.state.data, last.to_be_bytes(), "{run:?}");
        let history = wait(store.history(run, 1, i64::MAX, usize::MAX, Order::Forward));
        let history = history.expect("a read");
        let events = history.iter().flat_map(|batch| batch.first..=batch.last);
        let events: Vec<_> = events.map(i64::cast_unsigned).collect();
        assert_eq!(events, (2..=last).collect::<Vec<_>>(), "{run:?}");
        // Each was eight bytes, the first of which is said once in a row.
        let expected: Vec<_> =
            (2..=last).flat_map(|event| event.to_be_bytes()[1..].to_vec()).collect();
        let found: Vec<_> = history.iter().flat_map(|batch| batch.data[1..].to_vec()).collect();
        assert_eq!(found, expected, "{run:?}");
    }
}

/// Starts this program again after `prepare`, to do nothing but commit.
fn start(prepare: &str, path: &Path) -> Child {
    let program = env::current_exe().expect("this program");
    Command::new("sh")
        .arg("-c")
        .arg(format!("{prepare}; exec \"$0\" \"$@\""))
        .arg(program)
        .args(["--exact", "crash::commits_until_something_happens", "--nocapture"])
        .env(PATH, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a second process")
}

fn say(text: &dyn std::fmt::Display) {
    let mut out = stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).expect("somebody listens");
}

fn number(line: &str) -> u64 {
    line.parse().unwrap_or(0)
}
