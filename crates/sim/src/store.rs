//! A store that fails as disks do: before a commit, after it, slowly, or by not answering a read.
//!
//! A write that was handed to the disk goes on when the process dies, like the last write of a
//! real one: it may land after the crash, and must then be refused if a new process has begun.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use steadfast_engine::Timestamp;
use steadfast_store::{
    Answer, AttemptLog, Batch, Error, ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId,
    ErrorListing, ErrorPosition, EventBatch, Field, Filter, Group, Lease, Listing, Lookup,
    NamespaceRow, Order, Retried, RunNumber, RunRows, ShardNumber, Store, VisibilityPosition,
    WorkflowId,
};

use crate::{
    faults::{Cut, Fate, Faults, Sight},
    medium::wait_for,
    watch::Watch,
};

/// A store that fails.
#[derive(Debug)]
pub(crate) struct Faulty {
    disk: Arc<dyn Store>,
    faults: Arc<Faults>,
    watch: Arc<Watch>,
    /// Whether the plug was pulled: nothing comes from here or gets here any more.
    is_cut: Arc<AtomicBool>,
}

impl Faulty {
    /// A new opening of a disk.
    pub(crate) fn new(disk: Arc<dyn Store>, faults: Arc<Faults>, watch: Arc<Watch>) -> Self {
        Self { disk, faults, watch, is_cut: Arc::default() }
    }

    /// Writes, unless the plug is pulled just before it or just after.
    fn write<'a>(&self, write: Answer<'a, ()>) -> Answer<'a, ()> {
        let faults = Arc::clone(&self.faults);
        let is_cut = Arc::clone(&self.is_cut);
        if is_cut.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        let Some(cut) = faults.count_write() else { return write };
        is_cut.store(true, Ordering::Relaxed);
        Box::pin(async move {
            if cut == Cut::After {
                write.await?;
            }
            faults.pull();
            std::future::pending().await
        })
    }

    /// Reads, with what may go wrong.
    fn read<'a, T: Send + 'a>(&self, answer: Answer<'a, T>) -> Answer<'a, T> {
        if self.is_cut.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        let sight = self.faults.sight();
        Box::pin(async move {
            match sight {
                Sight::Stale(wait) => {
                    let seen = wait_for(answer);
                    pause(wait).await;
                    seen
                }
                Sight::Late(wait) => {
                    pause(wait).await;
                    wait_for(answer)
                }
                Sight::Blind(wait, error) => {
                    pause(wait).await;
                    Err(error)
                }
            }
        })
    }
}

impl Store for Faulty {
    fn acquire(&self, shards: u32, owner: String) -> Answer<'_, Lease> {
        let disk = Arc::clone(&self.disk);
        Box::pin(async move { wait_for(disk.acquire(shards, owner)) })
    }

    fn commit(&self, mut batch: Arc<Batch>) -> Answer<'_, ()> {
        if self.faults.is_torn() {
            Arc::make_mut(&mut batch).writes.pop();
        }
        let (disk, watch) = (Arc::clone(&self.disk), Arc::clone(&self.watch));
        let done = async move { commit(&*disk, &watch, &batch) };
        self.write(match self.faults.fate() {
            Fate::Done(wait) if wait.is_zero() => Box::pin(done),
            Fate::Done(wait) => {
                // The disk works on whether or not anybody still waits for it.
                let under_way = tokio::spawn(async move {
                    pause(wait).await;
                    done.await
                });
                Box::pin(async move {
                    under_way.await.unwrap_or_else(|error| Err(Error::Io(error.to_string())))
                })
            }
            Fate::Quiet(wait) => Box::pin(async move {
                let done = done.await;
                pause(wait).await;
                done
            }),
            Fate::Refused(wait, error) => Box::pin(async move {
                pause(wait).await;
                Err(error)
            }),
            Fate::Muddled(wait, error) => Box::pin(async move {
                done.await?;
                pause(wait).await;
                Err(error)
            }),
        })
    }

    fn last_commit(&self) -> Answer<'_, u64> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.last_commit().await }))
    }

    fn load(&self, lookup: Lookup) -> Answer<'_, Option<RunRows>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.load(lookup).await }))
    }

    fn workflow_ids(&self, after: Option<WorkflowId>, limit: usize) -> Answer<'_, Vec<WorkflowId>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.workflow_ids(after, limit).await }))
    }

    fn history(
        &self,
        run: RunNumber,
        first: i64,
        last: i64,
        events_max: usize,
        order: Order,
    ) -> Answer<'_, Vec<EventBatch>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.history(run, first, last, events_max, order).await }))
    }

    fn due(
        &self,
        shard: ShardNumber,
        until: Timestamp,
        after: Option<(Timestamp, RunNumber)>,
        limit: usize,
    ) -> Answer<'_, Vec<(Timestamp, RunNumber)>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.due(shard, until, after, limit).await }))
    }

    fn with_work(
        &self,
        shard: ShardNumber,
        after: RunNumber,
        limit: usize,
    ) -> Answer<'_, Vec<RunNumber>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.with_work(shard, after, limit).await }))
    }

    fn list(
        &self,
        namespace: String,
        filter: Filter,
        after: Option<VisibilityPosition>,
        limit: usize,
    ) -> Answer<'_, Listing> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.list(namespace, filter, after, limit).await }))
    }

    fn count(
        &self,
        namespace: String,
        filter: Filter,
        by: Option<Field>,
    ) -> Answer<'_, Vec<Group>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.count(namespace, filter, by).await }))
    }

    fn attempts(&self, run: RunNumber, activity: i64) -> Answer<'_, AttemptLog> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.attempts(run, activity).await }))
    }

    fn retried(
        &self,
        namespace: String,
        more_than: u32,
        after: Option<(RunNumber, i64)>,
        limit: usize,
    ) -> Answer<'_, Vec<Retried>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.retried(namespace, more_than, after, limit).await }))
    }

    fn run_attempts(&self, run: RunNumber) -> Answer<'_, Vec<AttemptLog>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.run_attempts(run).await }))
    }

    fn errors(
        &self,
        namespace: String,
        filter: ErrorFilter,
        order: Order,
        after: Option<ErrorPosition>,
        limit: usize,
    ) -> Answer<'_, ErrorListing> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(
            async move { disk.errors(namespace, filter, order, after, limit).await },
        ))
    }

    fn error_groups(
        &self,
        namespace: String,
        filter: ErrorFilter,
        by: ErrorGroup,
        limit: usize,
    ) -> Answer<'_, Vec<ErrorGroupRow>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.error_groups(namespace, filter, by, limit).await }))
    }

    fn error_count(&self, namespace: String, filter: ErrorFilter) -> Answer<'_, u64> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.error_count(namespace, filter).await }))
    }

    fn error(&self, run: RunNumber, subject: i64) -> Answer<'_, Option<ErrorEntry>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.error(run, subject).await }))
    }

    fn errors_by_id(&self, ids: Vec<ErrorId>) -> Answer<'_, Vec<ErrorEntry>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.errors_by_id(ids).await }))
    }

    fn put_namespace(&self, row: NamespaceRow) -> Answer<'_, ()> {
        let disk = Arc::clone(&self.disk);
        self.write(Box::pin(async move { wait_for(disk.put_namespace(row)) }))
    }

    fn delete_namespace(&self, id: String) -> Answer<'_, ()> {
        let disk = Arc::clone(&self.disk);
        self.write(Box::pin(async move { wait_for(disk.delete_namespace(id)) }))
    }

    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRow>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.namespaces().await }))
    }

    fn setting(&self, name: String) -> Answer<'_, Option<Vec<u8>>> {
        let disk = Arc::clone(&self.disk);
        self.read(Box::pin(async move { disk.setting(name).await }))
    }

    fn put_setting(&self, name: String, value: Option<Vec<u8>>) -> Answer<'_, ()> {
        let disk = Arc::clone(&self.disk);
        self.write(Box::pin(async move { wait_for(disk.put_setting(name, value)) }))
    }

    fn close(&self) -> Answer<'_, ()> {
        // The process lets go of it, and the disk stays.
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A commit, and a look at it.
fn commit(disk: &dyn Store, watch: &Watch, batch: &Arc<Batch>) -> Result<(), Error> {
    wait_for(disk.commit(Arc::clone(batch)))?;
    watch.see(batch);
    Ok(())
}

/// The time that the disk takes.
async fn pause(wait: std::time::Duration) {
    if !wait.is_zero() {
        #[expect(clippy::disallowed_methods, reason = "time is virtual here")]
        tokio::time::sleep(wait).await;
    }
}
