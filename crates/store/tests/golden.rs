//! What a release has written, every later one reads.
//!
//! Under `golden` are rows, and a whole file for each schema that had something new in it, each with
//! a text that says what is read from it. They are never written again: `WRITE_GOLDEN=1 cargo test`
//! makes only those that are missing.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use proptest::proptest;
use prost::Message;
use rusqlite::{Connection, OpenFlags};
use steadfast_retry::Timestamp;
use steadfast_store::{
    Acknowledged, AttemptOutcome, AttemptRow, Batch, Compare, ErrorFilter, ErrorRow, ErrorState,
    ErrorWrite, EventBatch, Field, Filter, ItemKind, ItemWrite, Lookup, NamespaceRow, Order,
    RunNumber, RunWrite, SearchType, ShardNumber, Sqlite, StateRow, Store, Value, VisibilityRow,
    codec::{self, decode, encode},
    conformance::{create, identity, wait},
    sqlite::{Check, Options},
};

/// A row with every kind of field that ours have.
#[derive(Clone, PartialEq, Message)]
struct Row {
    #[prost(int64, tag = "1")]
    number: i64,
    #[prost(string, tag = "2")]
    text: String,
    #[prost(bytes = "vec", tag = "3")]
    bytes: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    inner: Option<Inner>,
    #[prost(message, repeated, tag = "5")]
    many: Vec<Inner>,
    #[prost(uint64, repeated, tag = "6")]
    numbers: Vec<u64>,
    #[prost(btree_map = "string, sint64", tag = "7")]
    named: std::collections::BTreeMap<String, i64>,
    #[prost(bool, optional, tag = "8")]
    flag: Option<bool>,
    #[prost(double, tag = "9")]
    fraction: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Inner {
    #[prost(fixed64, tag = "1")]
    fingerprint: u64,
}

/// The same row as a release before `many` and all that follows would know it.
#[derive(Clone, PartialEq, Message)]
struct OldRow {
    #[prost(int64, tag = "1")]
    number: i64,
    #[prost(string, tag = "2")]
    text: String,
}

#[test]
fn rows_are_read_and_written_as_ever() {
    for (name, row) in rows() {
        let path = golden(&format!("{name}.bin"));
        write_missing(&path, || encode(&row));
        write_missing(&golden(&format!("{name}.txt")), || describe(&row).into_bytes());
        let bytes = fs::read(&path).expect("a golden row");
        assert_eq!(decode::<Row>(&bytes).as_ref(), Ok(&row), "{name}");
        assert_eq!(encode(&row), bytes, "{name}");
        let text = fs::read_to_string(golden(&format!("{name}.txt"))).expect("its text");
        assert_eq!(describe(&row), text, "{name}");
    }
}

#[test]
fn fields_that_came_later_are_skipped() {
    for (name, row) in rows() {
        let old: OldRow = decode(&encode(&row)).expect("an old reader");
        assert_eq!((old.number, &old.text), (row.number, &row.text), "{name}");
    }
}

#[test]
fn every_truncation_and_every_flipped_byte_is_answered() {
    for (_, row) in rows() {
        let bytes = encode(&row);
        for length in 0..bytes.len() {
            // An error or a shorter row: what matters is that it is an answer.
            _ = decode::<Row>(&bytes[..length]);
        }
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 0xFF;
            let answer = decode::<Row>(&flipped);
            let too_new = matches!(answer, Err(codec::Error::TooNew { found: 0xFE, known: 1 }));
            assert_eq!(too_new, place == 0, "byte {place}: {answer:?}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_at_all_are_answered(bytes: Vec<u8>) {
        _ = decode::<Row>(&bytes);
    }
}

#[test]
fn a_file_of_schema_1_is_read_whole() {
    is_read_whole(&golden("v1.db"));
}

#[test]
fn a_file_of_schema_3_is_read_whole() {
    is_read_whole(&golden("../v3/v3.db"));
}

#[test]
fn a_file_of_schema_4_is_read_whole() {
    let file = golden("../v4/v4.db");
    if !file.exists() && env::var_os("WRITE_GOLDEN").is_some() {
        write_file(&file);
    }
    is_read_whole(&file);
}

/// All that is in a packed commit, as a process leaves it that is killed.
#[test]
fn a_packed_commit_of_schema_5_is_read_whole() {
    let file = golden("../v5/v5.db");
    if !file.exists() && env::var_os("WRITE_GOLDEN").is_some() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new.db");
        let store = fill_file(&path);
        let db = Connection::open(&path).expect("the file");
        db.execute("VACUUM INTO ?1", [file.to_str()]).expect("a copy");
        wait(store.close()).expect("closed");
    }
    let db =
        Connection::open_with_flags(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the file");
    let count: u32 = db
        .query_row("SELECT count(*) FROM packed_commits", (), |row| row.get(0))
        .expect("a table of them");
    assert_eq!(count, 1, "the golden file has one that waits");
    is_read_whole(&file);
}

fn is_read_whole(golden: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.db");
    fs::copy(golden, &copy).expect("a golden file");
    let options = Options { check: Check::Always, ..Options::default() };
    let store = Sqlite::open(&copy, &options).expect("an old file");
    let text = read_file(&store);
    let expected = golden.with_extension("txt");
    write_missing(&expected, || text.clone().into_bytes());
    assert_eq!(text, fs::read_to_string(expected).expect("its text"));
}

fn rows() -> [(&'static str, Row); 3] {
    let inner = |fingerprint| Inner { fingerprint };
    let full = Row {
        number: -1,
        text: "order-17 café".to_owned(),
        bytes: vec![0, 255, 10],
        inner: Some(inner(u64::MAX)),
        many: vec![inner(1), inner(0)],
        numbers: vec![1, 300, u64::MAX],
        named: [("a".to_owned(), -5), (String::new(), i64::MIN)].into(),
        flag: Some(false),
        fraction: 0.1,
    };
    let plain = Row { number: 7, text: "x".to_owned(), ..Row::default() };
    [("empty", Row::default()), ("plain", plain), ("full", full)]
}

/// The row, and its bytes in hexadecimal.
fn describe(row: &Row) -> String {
    let mut text = format!("{row:#?}\n");
    for line in encode(row).chunks(16) {
        for byte in line {
            _ = write!(text, "{byte:02x} ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// A file with something in every table.
fn write_file(path: &Path) {
    wait(fill_file(path).close()).expect("closed");
}

fn fill_file(path: &Path) -> Sqlite {
    let store = Sqlite::open(path, &Options::default()).expect("a new file");
    let lease = wait(store.acquire(2, "version 0.1".to_owned())).expect("a lease");
    let leases = [(ShardNumber(0), lease.epoch), (ShardNumber(1), lease.epoch)].into();
    let open = RunWrite {
        state: Some(StateRow { data: vec![1, 2], next_due: Some(Timestamp(77)), has_work: true }),
        items: [ItemKind::Activity, ItemKind::Message]
            .map(|kind| ItemWrite { kind, key: vec![0, 1], data: Some(vec![9]) })
            .into(),
        events: [(1, 3), (4, 4)]
            .map(|(first, last)| EventBatch { first, last, data: vec![7] })
            .into(),
        visibility: Some(visibility().into()),
        attempts: (1..=60).map(attempt).collect(),
        errors: vec![ErrorWrite { subject: 5, row: Some(error()) }],
        ..create(1)
    };
    let other = RunWrite { shard: ShardNumber(1), ..create(2) };
    let batch = Batch { sequence: 1, leases, writes: vec![open, other] };
    wait(store.commit(Arc::new(batch))).expect("committed");
    let namespace = NamespaceRow { id: "id".to_owned(), name: "default".to_owned(), data: vec![3] };
    wait(store.put_namespace(namespace)).expect("written");
    wait(store.put_setting("setting".to_owned(), Some(vec![4]))).expect("written");
    store
}

fn visibility() -> VisibilityRow {
    let value = |name: &str, value| (name.to_owned(), value);
    VisibilityRow {
        identity: identity(1),
        workflow_type: "Order".to_owned(),
        task_queue: "orders".to_owned(),
        status: 2,
        start_time: Timestamp(1),
        execution_time: Timestamp(2),
        close_time: Some(Timestamp(3)),
        history_length: 4,
        history_size: 5,
        state_transitions: 6,
        parent: Some(("parent".to_owned(), "parent-run".to_owned())),
        root: Some(("root".to_owned(), "root-run".to_owned())),
        memo: vec![7],
        search_attributes: vec![8],
        search_values: vec![
            value("Bool", Value::Bool(true)),
            value("Double", Value::Double(1.5)),
            value("Int", Value::Int(-1)),
            value("List", Value::Text("b".to_owned())),
            value("List", Value::Text("a".to_owned())),
            value("Time", Value::Time(Timestamp(9))),
        ],
    }
}

fn attempt(attempt: u32) -> AttemptRow {
    AttemptRow {
        activity: 5,
        activity_id: "charge".to_owned(),
        activity_type: "Charge".to_owned(),
        attempt,
        worker: "worker".to_owned(),
        scheduled_at: Timestamp(1),
        started_at: Some(Timestamp(2)),
        ended_at: Timestamp(3),
        outcome: AttemptOutcome::TimedOut,
        error_type: "Timeout".to_owned(),
        message: "too long".to_owned(),
        fingerprint: u64::MAX,
        why: "rule 1".to_owned(),
        next_at: None,
        rule: "type Timeout".to_owned(),
        layer: "before".to_owned(),
        policy: "nightly@3".to_owned(),
        source: "backoff".to_owned(),
        delay: Some(Duration::from_millis(1500)),
        class: "timeout".to_owned(),
        parked: true,
    }
}

fn error() -> ErrorRow {
    ErrorRow {
        workflow_type: "Order".to_owned(),
        activity_id: "charge".to_owned(),
        activity_type: "Charge".to_owned(),
        kind: "payment".to_owned(),
        state: ErrorState::Dead,
        attempts: 60,
        error_type: "Timeout".to_owned(),
        cause: "too long".to_owned(),
        fingerprint: u64::MAX,
        first_at: Timestamp(2),
        last_at: Timestamp(3),
        next_at: Some(Timestamp(4)),
        reason: "rule 1".to_owned(),
        acknowledged: Some(Acknowledged {
            at: Timestamp(5),
            by: "ada".to_owned(),
            reason: "known".to_owned(),
        }),
        resumes: 6,
    }
}

/// Everything in it, read through the trait.
fn read_file(store: &dyn Store) -> String {
    let run = RunNumber(1);
    let list = Field::Custom("List".to_owned(), SearchType::KeywordList);
    let has_a = Filter::Compare(list, Compare::Equal, Value::Text("a".to_owned()));
    let log = wait(store.attempts(run, 5)).expect("attempts");
    let same_cause = ErrorFilter { cause: Some("too long".to_owned()), ..ErrorFilter::default() };
    let lease = wait(store.acquire(2, "this release".to_owned()));
    [
        format!("{:#?}", wait(store.load(Lookup::Number(run)))),
        format!("{:#?}", wait(store.load(Lookup::Run(identity(2))))),
        format!("{:#?}", wait(store.history(run, 1, 9, 99, Order::Forward))),
        format!("{:#?}", wait(store.due(ShardNumber(0), Timestamp::MAX, None, 9))),
        format!("{:#?}", wait(store.with_work(ShardNumber(0), RunNumber(0), 9))),
        format!("{:#?}", wait(store.list("ns".to_owned(), has_a, None, 9))),
        format!("{:#?}", log.rows.last()),
        format!("{} attempts kept, dropped {:?}", log.rows.len(), log.dropped),
        format!("{:#?}", wait(store.errors("ns".to_owned(), same_cause, Order::Forward, None, 9))),
        format!("{:#?}", wait(store.namespaces())),
        format!("{:?}", wait(store.setting("setting".to_owned()))),
        format!("{lease:?}"),
    ]
    .join("\n")
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name)
}

fn write_missing(path: &Path, content: impl FnOnce() -> Vec<u8>) {
    if !path.exists() && env::var_os("WRITE_GOLDEN").is_some() {
        fs::write(path, content()).expect("written");
    }
}
