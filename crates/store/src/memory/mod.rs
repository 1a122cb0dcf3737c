//! A store in memory, for tests and simulation.
//!
//! Every call is done when it returns, and two stores that were given the same calls give the same
//! answers. A clone is a second opening of the same data: a simulated restart drops the engine with
//! its clone and starts another one with a new clone.

mod attempts;
mod commit;
mod errors;
mod history;
mod namespaces;
mod runs;
mod settings;
mod shards;
mod visibility;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use steadfast_retry::Timestamp;

use crate::{
    error::Error,
    error_rows::ErrorRow,
    error_view::{
        ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId, ErrorListing, ErrorPosition,
    },
    filter::{Field, Filter},
    rows::{
        AttemptLog, Batch, Epoch, EventBatch, Group, ItemKind, Lease, Listing, Lookup,
        NamespaceRow, Retried, RunIdentity, RunNumber, RunRows, ShardNumber, StateRow,
        VisibilityPosition, VisibilityRow,
    },
    store::{Answer, Order, Store, WorkflowId},
};

/// A store in memory. Its clones share the data; each is closed for itself.
#[derive(Default)]
pub struct Memory {
    data: Arc<Mutex<Data>>,
    closed: AtomicBool,
}

/// All that is stored.
#[derive(Default)]
struct Data {
    /// The epoch of each shard.
    shards: Vec<Epoch>,
    last_commit: u64,
    /// The highest run number that was ever used.
    last_run: i64,
    runs: BTreeMap<RunNumber, Run>,
    by_run_id: BTreeMap<String, RunNumber>,
    by_workflow_id: BTreeMap<(String, String), BTreeSet<RunNumber>>,
    due: BTreeSet<(ShardNumber, Timestamp, RunNumber)>,
    with_work: BTreeSet<(ShardNumber, RunNumber)>,
    namespaces: BTreeMap<String, NamespaceRow>,
    settings: BTreeMap<String, Vec<u8>>,
}

/// A run and everything that belongs to it.
struct Run {
    shard: ShardNumber,
    identity: RunIdentity,
    state: StateRow,
    items: BTreeMap<(ItemKind, Vec<u8>), Vec<u8>>,
    events: BTreeMap<i64, EventBatch>,
    visibility: Option<VisibilityRow>,
    attempts: BTreeMap<i64, attempts::Log>,
    errors: BTreeMap<i64, ErrorRow>,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T: Send + 'static>(
        &self,
        call: impl FnOnce(&mut Data) -> Result<T, Error>,
    ) -> Answer<'_, T> {
        let result = if self.closed.load(Ordering::SeqCst) {
            Err(Error::Closed)
        } else {
            // A panic under the lock is a bug of a test; what it left behind is still consistent,
            // because writing begins only when nothing can fail any more.
            call(&mut self.data.lock().unwrap_or_else(PoisonError::into_inner))
        };
        Box::pin(future::ready(result))
    }
}

/// Another opening of the same data, not closed.
impl Clone for Memory {
    fn clone(&self) -> Self {
        Self { data: Arc::clone(&self.data), closed: AtomicBool::new(false) }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("closed", &self.closed).finish_non_exhaustive()
    }
}

impl Store for Memory {
    fn acquire(&self, shards: u32, _owner: String) -> Answer<'_, Lease> {
        self.with(|data| data.acquire(shards))
    }

    fn commit(&self, batch: Arc<Batch>) -> Answer<'_, ()> {
        self.with(|data| data.commit(batch))
    }

    fn last_commit(&self) -> Answer<'_, u64> {
        self.with(|data| Ok(data.last_commit))
    }

    fn load(&self, lookup: Lookup) -> Answer<'_, Option<RunRows>> {
        self.with(|data| Ok(data.load(&lookup)))
    }

    fn workflow_ids(&self, after: Option<WorkflowId>, limit: usize) -> Answer<'_, Vec<WorkflowId>> {
        self.with(|data| Ok(data.workflow_ids(after, limit)))
    }

    fn history(
        &self,
        run: RunNumber,
        first: i64,
        last: i64,
        events_max: usize,
        order: Order,
    ) -> Answer<'_, Vec<EventBatch>> {
        self.with(|data| Ok(data.history(run, first..=last, events_max, order)))
    }

    fn due(
        &self,
        shard: ShardNumber,
        until: Timestamp,
        after: Option<(Timestamp, RunNumber)>,
        limit: usize,
    ) -> Answer<'_, Vec<(Timestamp, RunNumber)>> {
        self.with(|data| Ok(data.due(shard, until, after, limit)))
    }

    fn with_work(
        &self,
        shard: ShardNumber,
        after: RunNumber,
        limit: usize,
    ) -> Answer<'_, Vec<RunNumber>> {
        self.with(|data| Ok(data.with_work(shard, after, limit)))
    }

    fn list(
        &self,
        namespace: String,
        filter: Filter,
        after: Option<VisibilityPosition>,
        limit: usize,
    ) -> Answer<'_, Listing> {
        self.with(|data| Ok(data.list(&namespace, &filter, after, limit)))
    }

    fn count(
        &self,
        namespace: String,
        filter: Filter,
        by: Option<Field>,
    ) -> Answer<'_, Vec<Group>> {
        self.with(|data| Ok(data.count(&namespace, &filter, by.as_ref())))
    }

    fn attempts(&self, run: RunNumber, activity: i64) -> Answer<'_, AttemptLog> {
        self.with(|data| Ok(data.attempts(run, activity)))
    }

    fn retried(
        &self,
        namespace: String,
        more_than: u32,
        after: Option<(RunNumber, i64)>,
        limit: usize,
    ) -> Answer<'_, Vec<Retried>> {
        self.with(|data| Ok(data.retried(&namespace, more_than, after, limit)))
    }

    fn run_attempts(&self, run: RunNumber) -> Answer<'_, Vec<AttemptLog>> {
        self.with(|data| Ok(data.run_attempts(run)))
    }

    fn errors(
        &self,
        namespace: String,
        filter: ErrorFilter,
        order: Order,
        after: Option<ErrorPosition>,
        limit: usize,
    ) -> Answer<'_, ErrorListing> {
        self.with(|data| Ok(data.errors(&namespace, &filter, order, after, limit)))
    }

    fn error_groups(
        &self,
        namespace: String,
        filter: ErrorFilter,
        by: ErrorGroup,
        limit: usize,
    ) -> Answer<'_, Vec<ErrorGroupRow>> {
        self.with(|data| Ok(data.error_groups(&namespace, &filter, by, limit)))
    }

    fn error_count(&self, namespace: String, filter: ErrorFilter) -> Answer<'_, u64> {
        self.with(|data| Ok(data.error_count(&namespace, &filter)))
    }

    fn error(&self, run: RunNumber, subject: i64) -> Answer<'_, Option<ErrorEntry>> {
        self.with(|data| Ok(data.error(run, subject)))
    }

    fn errors_by_id(&self, ids: Vec<ErrorId>) -> Answer<'_, Vec<ErrorEntry>> {
        self.with(|data| Ok(data.errors_by_id(&ids)))
    }

    fn put_namespace(&self, row: NamespaceRow) -> Answer<'_, ()> {
        self.with(|data| data.put_namespace(row))
    }

    fn delete_namespace(&self, id: String) -> Answer<'_, ()> {
        self.with(|data| {
            data.delete_namespace(&id);
            Ok(())
        })
    }

    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRow>> {
        self.with(|data| Ok(data.namespaces()))
    }

    fn setting(&self, name: String) -> Answer<'_, Option<Vec<u8>>> {
        self.with(|data| Ok(data.setting(&name)))
    }

    fn put_setting(&self, name: String, value: Option<Vec<u8>>) -> Answer<'_, ()> {
        self.with(|data| {
            data.put_setting(name, value);
            Ok(())
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        self.closed.store(true, Ordering::SeqCst);
        Box::pin(future::ready(Ok(())))
    }
}
