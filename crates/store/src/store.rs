//! The trait that every backend implements.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use steadfast_retry::Timestamp;

use crate::{
    error::Error,
    error_view::{
        ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId, ErrorListing, ErrorPosition,
    },
    filter::{Field, Filter},
    rows::{
        AttemptLog, Batch, EventBatch, Group, Lease, Listing, Lookup, NamespaceRow, Retried,
        RunNumber, RunRows, ShardNumber, VisibilityPosition,
    },
};

/// What a store will answer. It never blocks the thread that awaits it.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A namespace's id, and a workflow id in it.
pub type WorkflowId = (String, String);

/// Which way to read a history, or a list of errors.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// Oldest first.
    Forward,
    /// Newest first.
    Backward,
}

/// A place that keeps runs.
///
/// Reads see every commit that was acknowledged before they were asked for.
pub trait Store: fmt::Debug + Send + Sync + 'static {
    /// Takes over all shards under a new epoch: commits of any earlier owner are refused from now
    /// on. A fresh store gets the number of shards that the first call names, and keeps it whatever later
    /// calls name: the lease says how many there are. None at all is [`Rejected`](Error::Rejected).
    fn acquire(&self, shards: u32, owner: String) -> Answer<'_, Lease>;

    /// Makes all of `batch` durable, or none of it. When it answers `Ok`, a power cut loses
    /// nothing of it (at the durability that the operator chose). It is shared with whoever may have
    /// to try it again, so that trying costs no copy.
    ///
    /// A write with an [`Aside`](crate::Aside) is left out if that fails, and only that: the rest is
    /// durable, and the aside [says why](crate::Aside::failure). A store that has no place for
    /// asides [refuses](crate::Aside::refuse) them.
    fn commit(&self, batch: Arc<Batch>) -> Answer<'_, ()>;

    /// The sequence number of the newest durable commit; 0 if there is none.
    fn last_commit(&self) -> Answer<'_, u64>;

    /// All of a run but its history.
    fn load(&self, lookup: Lookup) -> Answer<'_, Option<RunRows>>;

    /// The ids that runs have, with their namespaces, each once and in order, strictly after `after`,
    /// at most `limit`.
    fn workflow_ids(&self, after: Option<WorkflowId>, limit: usize) -> Answer<'_, Vec<WorkflowId>>;

    /// The batches that hold events `first..=last`, in `order`, cut after about `events_max`
    /// events, or after some megabytes of them; always whole batches, so the first and the last may
    /// hold events outside the range, and always at least one if there is any.
    fn history(
        &self,
        run: RunNumber,
        first: i64,
        last: i64,
        events_max: usize,
        order: Order,
    ) -> Answer<'_, Vec<EventBatch>>;

    /// Runs of `shard` with a `next_due` at or before `until`, ordered by (due, run), strictly
    /// after `after`, at most `limit`.
    fn due(
        &self,
        shard: ShardNumber,
        until: Timestamp,
        after: Option<(Timestamp, RunNumber)>,
        limit: usize,
    ) -> Answer<'_, Vec<(Timestamp, RunNumber)>>;

    /// Runs of `shard` that have work to hand out, by number, after `after`, at most `limit`.
    fn with_work(
        &self,
        shard: ShardNumber,
        after: RunNumber,
        limit: usize,
    ) -> Answer<'_, Vec<RunNumber>>;

    /// Runs of a namespace that match, one page. Order: see [`VisibilityPosition`].
    fn list(
        &self,
        namespace: String,
        filter: Filter,
        after: Option<VisibilityPosition>,
        limit: usize,
    ) -> Answer<'_, Listing>;

    /// How many runs of a namespace match, grouped by a field if one is given (groups in the
    /// order of their values).
    fn count(&self, namespace: String, filter: Filter, by: Option<Field>)
    -> Answer<'_, Vec<Group>>;

    /// The attempts of one activity.
    fn attempts(&self, run: RunNumber, activity: i64) -> Answer<'_, AttemptLog>;

    /// All attempts of a run: those of its workflow task first, then its own, then those of its
    /// activities as they were scheduled.
    fn run_attempts(&self, run: RunNumber) -> Answer<'_, Vec<AttemptLog>>;

    /// Errors of a namespace that match, one page, by the time of their last failure, and by run
    /// and subject where that is equal; strictly after `after`.
    fn errors(
        &self,
        namespace: String,
        filter: ErrorFilter,
        order: Order,
        after: Option<ErrorPosition>,
        limit: usize,
    ) -> Answer<'_, ErrorListing>;

    /// Errors of a namespace that match, in groups: the largest first, then the one that failed
    /// last, then that of the newest run; at most `limit`.
    fn error_groups(
        &self,
        namespace: String,
        filter: ErrorFilter,
        by: ErrorGroup,
        limit: usize,
    ) -> Answer<'_, Vec<ErrorGroupRow>>;

    /// How many errors of a namespace match.
    fn error_count(&self, namespace: String, filter: ErrorFilter) -> Answer<'_, u64>;

    /// One error.
    fn error(&self, run: RunNumber, subject: i64) -> Answer<'_, Option<ErrorEntry>>;

    /// These errors, in this order; those that are settled are left out.
    fn errors_by_id(&self, ids: Vec<ErrorId>) -> Answer<'_, Vec<ErrorEntry>>;

    /// The activities of a namespace of which more than `more_than` attempts have ended, at least
    /// one: the newest run first, and in it the activity that was scheduled last; strictly after
    /// `after`, at most `limit`.
    fn retried(
        &self,
        namespace: String,
        more_than: u32,
        after: Option<(RunNumber, i64)>,
        limit: usize,
    ) -> Answer<'_, Vec<Retried>>;

    /// Creates or replaces a namespace. A name that another id holds is
    /// [`Rejected`](Error::Rejected).
    fn put_namespace(&self, row: NamespaceRow) -> Answer<'_, ()>;

    /// Removes a namespace; its runs are deleted by the engine. Unknown ids are fine.
    fn delete_namespace(&self, id: String) -> Answer<'_, ()>;

    /// All namespaces, by name.
    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRow>>;

    /// Reads a setting.
    fn setting(&self, name: String) -> Answer<'_, Option<Vec<u8>>>;

    /// Writes a setting, or removes it.
    fn put_setting(&self, name: String, value: Option<Vec<u8>>) -> Answer<'_, ()>;

    /// Waits for what is under way and lets go of files. Later calls answer
    /// [`Closed`](Error::Closed).
    fn close(&self) -> Answer<'_, ()>;
}
