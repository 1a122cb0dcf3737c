//! What only a store in a file can get wrong: the disk, the lock, the file itself.

mod asides;
mod backup;
mod crash;
mod damage;
mod faults;
mod gone;
mod older;
mod packed;
mod speed;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use steadfast_store::{
    Batch, EventBatch, Lease, RunNumber, RunWrite, ShardNumber, Sqlite, StateRow, Store,
    conformance::{create, wait},
    sqlite::Options,
};
use tempfile::TempDir;

/// A folder for one file, and where that is.
fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("test.db");
    (folder, path)
}

/// An open file and its lease.
struct Owner {
    store: Sqlite,
    lease: Lease,
}

impl Owner {
    fn open(path: &Path, options: &Options) -> Self {
        let store = Sqlite::open(path, options).expect("an open file");
        let lease = wait(store.acquire(1, "a test".to_owned())).expect("a lease");
        Self { store, lease }
    }

    fn batch(&self, sequence: u64, writes: Vec<RunWrite>) -> Arc<Batch> {
        let leases = [(ShardNumber(0), self.lease.epoch)].into();
        Arc::new(Batch { sequence, leases, writes })
    }
}

/// A write that creates a run with this many bytes of state.
fn large(run: i64, bytes: usize) -> RunWrite {
    let state = StateRow { data: vec![7; bytes], next_due: None, has_work: false };
    RunWrite { state: Some(state), ..create(run) }
}

/// A step of a run: a state that says which, and one event.
fn step(run: i64, sequence: u64) -> RunWrite {
    let first = i64::try_from(sequence).expect("small");
    let data = sequence.to_be_bytes().to_vec();
    RunWrite {
        run: RunNumber(run),
        state: Some(StateRow { data: data.clone(), next_due: None, has_work: false }),
        events: vec![EventBatch { first, last: first, data }],
        ..RunWrite::default()
    }
}
