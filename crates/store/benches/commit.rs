//! What a commit costs: time of the writer, pages of the log, commits a second.
//!
//! `cargo bench -p steadfast-store` prints one line a workload. A workload is 256 runs a commit;
//! the time is the whole of a commit (queue, threads, fsync if any) divided by its writes.

#![expect(clippy::print_stdout, reason = "a benchmark prints its numbers")]
#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::{sync::Arc, time::Instant};

use steadfast_retry::Timestamp;
use steadfast_store::{
    Batch, EventBatch, Filter, ItemKind, ItemWrite, Lease, RunIdentity, RunNumber, RunWrite,
    ShardNumber, Sqlite, StateRow, Store, VisibilityRow,
    conformance::wait,
    sqlite::{Options, Synchronous},
};

const RUNS_A_COMMIT: i64 = 256;
const COMMITS: i64 = 100;

fn main() {
    let runs: i64 = std::env::var("RUNS").map_or(100_000, |text| text.parse().expect("a number"));
    for synchronous in [Synchronous::Off, Synchronous::Full] {
        println!("synchronous {synchronous:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let mut bench = Bench::open(&folder, synchronous);
        bench.measure("create, all of them", runs / RUNS_A_COMMIT, create);
        bench.measure("step, neighbours", COMMITS, |run| step(run, 1, false));
        let all = bench.next_run;
        bench.measure("step, scattered", COMMITS, |run| step(scattered(run, all), 2, false));
        bench.measure("step, due changes", COMMITS, |run| step(scattered(run, all), 3, true));
        bench.measure("state only", COMMITS, |run| RunWrite {
            state: Some(state(4, false)),
            ..write(run)
        });
        bench.measure("close", COMMITS, |run| RunWrite {
            visibility: Some(row(run, true).into()),
            ..step(run, 5, false)
        });
        bench.read(runs);
    }
}

struct Bench {
    store: Sqlite,
    lease: Lease,
    sequence: u64,
    next_run: i64,
    path: std::path::PathBuf,
}

impl Bench {
    fn open(folder: &tempfile::TempDir, synchronous: Synchronous) -> Self {
        let path = folder.path().join("bench.db");
        let options = Options { synchronous, ..Options::default() };
        let store = Sqlite::open(&path, &options).expect("an open file");
        let lease = wait(store.acquire(1, "bench".to_owned())).expect("a lease");
        Self { store, lease, sequence: 0, next_run: 1, path }
    }

    fn measure(&mut self, name: &str, commits: i64, make: impl Fn(i64) -> RunWrite) {
        let mut next = 1;
        let mut batches: Vec<Batch> = Vec::new();
        for _ in 0..commits {
            let writes: Vec<_> = (next..next + RUNS_A_COMMIT).map(&make).collect();
            next += RUNS_A_COMMIT;
            self.sequence += 1;
            let leases = [(ShardNumber(0), self.lease.epoch)].into();
            batches.push(Batch { sequence: self.sequence, leases, writes });
        }
        self.next_run = self.next_run.max(next);
        let before = self.store.stats();
        let start = Instant::now();
        let mut slowest = 0.0_f64;
        let mut pages = 0;
        for batch in batches {
            let begun = Instant::now();
            let log = self.store.stats().wal_pages;
            wait(self.store.commit(Arc::new(batch))).expect("a commit");
            slowest = slowest.max(begun.elapsed().as_secs_f64());
            pages += self.store.stats().wal_pages.saturating_sub(log);
        }
        let seconds = start.elapsed().as_secs_f64();
        let after = self.store.stats();
        let commits = f64::from(u32::try_from(commits).expect("few"));
        let writes = commits * f64::from(u32::try_from(RUNS_A_COMMIT).expect("few"));
        println!(
            "  {name:<22} {:6.1} us a write  {:6.0} a second  {:5.1} ms a commit, slowest {:5.1}, \
            {:4.0} pages  {} checkpoints",
            seconds / writes * 1e6,
            writes / seconds,
            seconds / commits * 1e3,
            slowest * 1e3,
            f64::from(u32::try_from(pages).expect("few")) / commits,
            after.checkpoints - before.checkpoints,
        );
    }

    fn read(&self, runs: i64) {
        let timed = |name: &str, work: &dyn Fn()| {
            let start = Instant::now();
            work();
            println!("  {name:<22} {:8.3} ms", start.elapsed().as_secs_f64() * 1e3);
        };
        let store = &self.store;
        timed("1000 loads", &|| {
            for index in 0..1000 {
                let run = RunNumber(scattered(index, runs));
                wait(store.load(steadfast_store::Lookup::Number(run))).expect("a read");
            }
        });
        timed("a page of 1000", &|| {
            wait(store.list("ns".to_owned(), Filter::All, None, 1000)).expect("a read");
        });
        timed("count all", &|| {
            wait(store.count("ns".to_owned(), Filter::All, None)).expect("a read");
        });
        timed("count by status", &|| {
            let status = Some(steadfast_store::Field::Status);
            wait(store.count("ns".to_owned(), Filter::All, status)).expect("a read");
        });
        let bytes = std::fs::metadata(&self.path).expect("the file").len();
        println!("  {:<22} {:8} MiB for {} runs", "the file", bytes >> 20, self.next_run - 1);
        wait(store.close()).expect("closed");
        timed("opening it", &|| {
            let store = Sqlite::open(&self.path, &Options::default()).expect("an open file");
            wait(store.close()).expect("closed");
        });
    }
}

fn create(run: i64) -> RunWrite {
    let identity = identity(run);
    let (create, visibility) = (Some(identity.into()), Some(row(run, false).into()));
    RunWrite { create, visibility, ..step(run, 0, false) }
}

/// One state, one batch of events, one item put and one deleted.
fn step(run: i64, number: i64, due: bool) -> RunWrite {
    let item = |key: i64, data| ItemWrite {
        kind: ItemKind::Activity,
        key: key.to_be_bytes().to_vec(),
        data,
    };
    RunWrite {
        state: Some(state(number, due)),
        items: vec![item(number, Some(vec![3; 150])), item(number - 1, None)],
        events: vec![EventBatch {
            first: number * 4 + 1,
            last: number * 4 + 4,
            data: vec![2; 300],
        }],
        ..write(run)
    }
}

fn state(number: i64, due: bool) -> StateRow {
    let next_due = due.then_some(Timestamp(number * 1_000_000));
    StateRow { data: vec![1; 500], next_due, has_work: due }
}

fn write(run: i64) -> RunWrite {
    RunWrite { run: RunNumber(run), ..RunWrite::default() }
}

fn row(run: i64, closed: bool) -> VisibilityRow {
    VisibilityRow {
        identity: identity(run),
        workflow_type: format!("Type{}", run % 5),
        task_queue: "orders".to_owned(),
        status: if closed { 2 } else { 1 },
        start_time: Timestamp(run * 1_000),
        execution_time: Timestamp(run * 1_000),
        close_time: closed.then_some(Timestamp(run * 2_000)),
        ..VisibilityRow::default()
    }
}

/// Ids that are as random as those of users.
fn identity(run: i64) -> RunIdentity {
    let random = run.wrapping_mul(0x5851_F42D_4C95_7F2D).cast_unsigned();
    RunIdentity {
        namespace: "ns".to_owned(),
        workflow_id: format!("order-{random:016x}-{run:08}"),
        run_id: format!("{run:08x}-0000-7000-8000-{:012x}", random >> 16),
    }
}

/// A number from 1 to `runs`, different for different `run` as long as these are fewer.
fn scattered(run: i64, runs: i64) -> i64 {
    (run * 7_919) % (runs - 1) + 1
}
