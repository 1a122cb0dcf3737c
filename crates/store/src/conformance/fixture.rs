//! What the cases are written with.

use std::{
    collections::BTreeMap,
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
};

use crate::{
    error::Error,
    rows::{
        Batch, Lease, Lookup, RUNNING, RunIdentity, RunNumber, RunRows, RunWrite, ShardNumber,
        StateRow, VisibilityRow,
    },
    store::{Answer, Store},
};

/// A place that keeps its data for as long as it lives, and can be opened again and again.
pub trait Backend {
    /// Opens it. It may still be open from before.
    fn open(&self) -> Box<dyn Store>;
}

/// How many shards the cases use.
pub(super) const SHARDS: u32 = 4;

/// An open store with its lease, as an engine would hold it.
#[derive(Debug)]
pub struct Owner {
    /// The store.
    pub store: Box<dyn Store>,
    /// What it was given with its shards.
    pub lease: Lease,
    /// Number of the last commit.
    pub sequence: u64,
}

impl Owner {
    /// Opens the backend and takes over its shards.
    pub fn of(backend: &dyn Backend) -> Self {
        let store = backend.open();
        let lease = wait(store.acquire(SHARDS, "a test".to_owned())).expect("shards");
        let sequence = lease.last_commit;
        Self { store, lease, sequence }
    }

    /// The next batch with these writes, under the leases of all shards.
    pub fn batch(&self, writes: Vec<RunWrite>) -> Batch {
        let leases: BTreeMap<_, _> =
            (0..SHARDS).map(|shard| (ShardNumber(shard), self.lease.epoch)).collect();
        Batch { sequence: self.sequence + 1, leases, writes }
    }

    /// Commits these writes.
    pub fn try_commit(&mut self, writes: Vec<RunWrite>) -> Result<(), Error> {
        wait(self.store.commit(Arc::new(self.batch(writes))))?;
        self.sequence += 1;
        Ok(())
    }

    /// Commits these writes, which must succeed.
    #[track_caller]
    pub fn commit(&mut self, writes: Vec<RunWrite>) {
        if let Err(error) = self.try_commit(writes) {
            panic!("a good batch was refused: {error}");
        }
    }

    /// Commits these writes, which must be refused.
    #[track_caller]
    pub fn refused(&mut self, writes: Vec<RunWrite>) -> String {
        match self.try_commit(writes) {
            Err(Error::Rejected(reason)) => reason,
            other => panic!("should have been rejected: {other:?}"),
        }
    }

    /// The run with this number, if there is one.
    pub fn load(&self, run: i64) -> Option<RunRows> {
        wait(self.store.load(Lookup::Number(RunNumber(run)))).expect("a read")
    }
}

/// Waits for an answer on this thread.
pub fn wait<T>(answer: Answer<'_, T>) -> Result<T, Error> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut answer = pin!(answer);
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::park(),
        }
    }
}

/// The names of run number `run`.
pub fn identity(run: i64) -> RunIdentity {
    RunIdentity {
        namespace: "ns".to_owned(),
        workflow_id: format!("workflow-{run}"),
        run_id: format!("run-{run}"),
    }
}

/// A write that creates run number `run`, in shard 0.
pub fn create(run: i64) -> RunWrite {
    RunWrite {
        run: RunNumber(run),
        create: Some(identity(run).into()),
        state: Some(state("new")),
        ..RunWrite::default()
    }
}

/// A write to run number `run` that changes nothing yet, in shard 0.
pub(super) fn write(run: i64) -> RunWrite {
    RunWrite { run: RunNumber(run), ..RunWrite::default() }
}

/// A state with this content, without due time and work.
pub(super) fn state(data: &str) -> StateRow {
    StateRow { data: data.into(), next_due: None, has_work: false }
}

/// A write that creates run number `run` with a row to be listed by.
pub(super) fn listed(run: i64, change: impl FnOnce(&mut VisibilityRow)) -> RunWrite {
    let mut row = VisibilityRow { identity: identity(run), status: 1, ..VisibilityRow::default() };
    change(&mut row);
    if row.close_time.is_some() && row.status == RUNNING {
        row.status = 2;
    }
    let identity = row.identity.clone();
    RunWrite { create: Some(identity.into()), visibility: Some(row.into()), ..create(run) }
}
