//! A store for tests: it can be told to fail, it counts, and it answers at once.
//!
//! `SQLite` works on threads of its own, of which virtual time knows nothing: it would run on while
//! they work. So every answer is waited for on the spot, and takes no virtual time.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use steadfast_engine::Timestamp;
use steadfast_store::{
    Answer, AttemptLog, Batch, Error, ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId,
    ErrorListing, ErrorPosition, EventBatch, Field, Filter, Group, Lease, Listing, Lookup,
    NamespaceRow, Order, Retried, RunNumber, RunRows, ShardNumber, Store, VisibilityPosition,
    WorkflowId,
};

/// What goes wrong with one call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// All is well.
    None,
    /// It is refused for now, and not done.
    Busy,
    /// There is no room, and it is not done.
    Full,
    /// It is not done, and nobody knows.
    LostBefore,
    /// It is done, and nobody knows.
    LostAfter,
    /// It is refused for good.
    Rejected,
}

/// How much was written.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commits: AtomicU64,
    pub(crate) items: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) histories: AtomicU64,
    pub(crate) loads: AtomicU64,
}

/// A store that does as it is told.
#[derive(Debug)]
pub(crate) struct Scripted {
    inner: Arc<dyn Store>,
    commits: Mutex<VecDeque<Fault>>,
    reads: Mutex<VecDeque<Fault>>,
    loads: Mutex<VecDeque<Fault>>,
    pub(crate) tally: Tally,
}

impl Scripted {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            commits: Mutex::default(),
            reads: Mutex::default(),
            loads: Mutex::default(),
            tally: Tally::default(),
        })
    }

    /// What happens to the next commits.
    pub(crate) fn fail_commits(&self, faults: impl IntoIterator<Item = Fault>) {
        self.commits.lock().expect("whole").extend(faults);
    }

    /// What happens to the next reads.
    pub(crate) fn fail_reads(&self, faults: impl IntoIterator<Item = Fault>) {
        self.reads.lock().expect("whole").extend(faults);
    }

    /// What happens to the next runs that are read; other reads are well.
    pub(crate) fn fail_loads(&self, faults: impl IntoIterator<Item = Fault>) {
        self.loads.lock().expect("whole").extend(faults);
    }

    fn next(faults: &Mutex<VecDeque<Fault>>) -> Fault {
        faults.lock().expect("whole").pop_front().unwrap_or(Fault::None)
    }

    fn read<T>(&self, read: Answer<'_, T>) -> Result<T, Error> {
        Self::unless(Self::next(&self.reads), read)
    }

    fn unless<T>(fault: Fault, read: Answer<'_, T>) -> Result<T, Error> {
        match fault {
            Fault::None => now(read),
            fault @ (Fault::Busy
            | Fault::Full
            | Fault::LostBefore
            | Fault::LostAfter
            | Fault::Rejected) => Err(error(fault)),
        }
    }

    fn count(&self, batch: &Batch) {
        self.tally.commits.fetch_add(1, Ordering::Relaxed);
        for write in &batch.writes {
            let items = u64::try_from(write.items.len()).expect("few");
            self.tally.items.fetch_add(items, Ordering::Relaxed);
            let mut bytes = write.state.as_ref().map_or(0, |state| state.data.len());
            bytes +=
                write.items.iter().filter_map(|it| it.data.as_ref()).map(Vec::len).sum::<usize>();
            bytes += write.events.iter().map(|it| it.data.len()).sum::<usize>();
            let bytes = u64::try_from(bytes).expect("few");
            self.tally.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

impl Store for Scripted {
    fn acquire(&self, shards: u32, owner: String) -> Answer<'_, Lease> {
        Box::pin(async move { now(self.inner.acquire(shards, owner)) })
    }

    fn commit(&self, batch: Arc<Batch>) -> Answer<'_, ()> {
        Box::pin(async move {
            // A commit takes its turn like any other work.
            tokio::task::yield_now().await;
            let fault = Self::next(&self.commits);
            if matches!(fault, Fault::Busy | Fault::Full | Fault::LostBefore | Fault::Rejected) {
                return Err(error(fault));
            }
            self.count(&batch);
            now(self.inner.commit(batch))?;
            if fault == Fault::LostAfter { Err(error(fault)) } else { Ok(()) }
        })
    }

    fn last_commit(&self) -> Answer<'_, u64> {
        Box::pin(async move { self.read(self.inner.last_commit()) })
    }

    fn load(&self, lookup: Lookup) -> Answer<'_, Option<RunRows>> {
        Box::pin(async move {
            self.tally.loads.fetch_add(1, Ordering::Relaxed);
            Self::unless(Self::next(&self.loads), Box::pin(async { Ok(()) }))?;
            self.read(self.inner.load(lookup))
        })
    }

    fn workflow_ids(&self, after: Option<WorkflowId>, limit: usize) -> Answer<'_, Vec<WorkflowId>> {
        Box::pin(async move { self.read(self.inner.workflow_ids(after, limit)) })
    }

    fn history(
        &self,
        run: RunNumber,
        first: i64,
        last: i64,
        events_max: usize,
        order: Order,
    ) -> Answer<'_, Vec<EventBatch>> {
        self.tally.histories.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { self.read(self.inner.history(run, first, last, events_max, order)) })
    }

    fn due(
        &self,
        shard: ShardNumber,
        until: Timestamp,
        after: Option<(Timestamp, RunNumber)>,
        limit: usize,
    ) -> Answer<'_, Vec<(Timestamp, RunNumber)>> {
        Box::pin(async move { self.read(self.inner.due(shard, until, after, limit)) })
    }

    fn with_work(
        &self,
        shard: ShardNumber,
        after: RunNumber,
        limit: usize,
    ) -> Answer<'_, Vec<RunNumber>> {
        Box::pin(async move { self.read(self.inner.with_work(shard, after, limit)) })
    }

    fn list(
        &self,
        namespace: String,
        filter: Filter,
        after: Option<VisibilityPosition>,
        limit: usize,
    ) -> Answer<'_, Listing> {
        Box::pin(async move { now(self.inner.list(namespace, filter, after, limit)) })
    }

    fn count(
        &self,
        namespace: String,
        filter: Filter,
        by: Option<Field>,
    ) -> Answer<'_, Vec<Group>> {
        Box::pin(async move { now(self.inner.count(namespace, filter, by)) })
    }

    fn attempts(&self, run: RunNumber, activity: i64) -> Answer<'_, AttemptLog> {
        Box::pin(async move { now(self.inner.attempts(run, activity)) })
    }

    fn retried(
        &self,
        namespace: String,
        more_than: u32,
        after: Option<(RunNumber, i64)>,
        limit: usize,
    ) -> Answer<'_, Vec<Retried>> {
        Box::pin(async move { now(self.inner.retried(namespace, more_than, after, limit)) })
    }

    fn run_attempts(&self, run: RunNumber) -> Answer<'_, Vec<AttemptLog>> {
        Box::pin(async move { now(self.inner.run_attempts(run)) })
    }

    fn errors(
        &self,
        namespace: String,
        filter: ErrorFilter,
        order: Order,
        after: Option<ErrorPosition>,
        limit: usize,
    ) -> Answer<'_, ErrorListing> {
        Box::pin(async move { now(self.inner.errors(namespace, filter, order, after, limit)) })
    }

    fn error_groups(
        &self,
        namespace: String,
        filter: ErrorFilter,
        by: ErrorGroup,
        limit: usize,
    ) -> Answer<'_, Vec<ErrorGroupRow>> {
        Box::pin(async move { now(self.inner.error_groups(namespace, filter, by, limit)) })
    }

    fn error_count(&self, namespace: String, filter: ErrorFilter) -> Answer<'_, u64> {
        Box::pin(async move { now(self.inner.error_count(namespace, filter)) })
    }

    fn error(&self, run: RunNumber, subject: i64) -> Answer<'_, Option<ErrorEntry>> {
        Box::pin(async move { now(self.inner.error(run, subject)) })
    }

    fn errors_by_id(&self, ids: Vec<ErrorId>) -> Answer<'_, Vec<ErrorEntry>> {
        Box::pin(async move { now(self.inner.errors_by_id(ids)) })
    }

    fn put_namespace(&self, row: NamespaceRow) -> Answer<'_, ()> {
        Box::pin(async move { now(self.inner.put_namespace(row)) })
    }

    fn delete_namespace(&self, id: String) -> Answer<'_, ()> {
        Box::pin(async move { now(self.inner.delete_namespace(id)) })
    }

    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRow>> {
        Box::pin(async move { now(self.inner.namespaces()) })
    }

    fn setting(&self, name: String) -> Answer<'_, Option<Vec<u8>>> {
        Box::pin(async move { now(self.inner.setting(name)) })
    }

    fn put_setting(&self, name: String, value: Option<Vec<u8>>) -> Answer<'_, ()> {
        Box::pin(async move { now(self.inner.put_setting(name, value)) })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async move { now(self.inner.close()) })
    }
}

fn error(fault: Fault) -> Error {
    match fault {
        Fault::Busy => Error::Busy("as told".to_owned()),
        Fault::Full => Error::Full("as told".to_owned()),
        Fault::Rejected => Error::Rejected("as told".to_owned()),
        Fault::None | Fault::LostBefore | Fault::LostAfter => Error::Io("as told".to_owned()),
    }
}

/// Waits for an answer on the spot.
fn now<T>(answer: Answer<'_, T>) -> Result<T, Error> {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut answer = pin!(answer);
    loop {
        match answer.as_mut().poll(&mut context) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}
