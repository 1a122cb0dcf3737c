//! What all parts of one engine share.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use steadfast_core::Timestamp;
use steadfast_proto::workflowservice::PollActivityTaskQueueResponse;
use steadfast_store::{RunNumber, ShardNumber, Store};
use tokio::sync::{Notify, oneshot};
use xxhash_rust::xxh3::xxh3_64;

use super::{
    held::Sum,
    listening::Listening,
    mail::{Mail, Mailbox},
};
use crate::{
    batch::Batches,
    clock::Clock,
    committer::{CommitStats, Hot},
    ended::Ended,
    errands::Errands,
    failures::{Books, ResumeJobs},
    gift::Gift,
    hands::Hands,
    ids::Ids,
    known_ids::KnownIds,
    limits::Limits,
    matching::Matching,
    namespaces::Namespaces,
    query::Queries,
    tally::Tally,
    task::{ActivityOffer, NexusOffer, TaskGift, TaskOffer},
    webhooks::{Post, Undeliverable},
    workers::Workers,
};

/// What all parts of one engine share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Ids,
    pub(crate) limits: Arc<Limits>,
    pub(crate) namespaces: Namespaces,
    pub(crate) tasks: Arc<Matching<TaskOffer, Gift<TaskGift>>>,
    pub(crate) activities: Arc<Matching<ActivityOffer, Gift<Box<PollActivityTaskQueueResponse>>>>,
    pub(crate) nexus: Arc<Matching<NexusOffer, Gift<()>>>,
    pub(crate) hands: Arc<Hands>,
    pub(crate) queries: Queries,
    pub(crate) workers: Workers,
    pub(crate) batches: Batches,
    pub(crate) books: Books,
    pub(crate) resume_jobs: ResumeJobs,
    pub(crate) webhooks: Errands<Post>,
    /// Failed runs that a resume policy has go on now.
    pub(crate) start_overs: Errands<RunNumber>,
    pub(crate) undeliverable: Undeliverable,
    /// Told when somebody has changed a bulk resume.
    pub(crate) resume_jobs_changed: Notify,
    pub(crate) hot: Arc<Hot>,
    pub(crate) stats: Arc<CommitStats>,
    pub(crate) tally: Tally,
    pub(crate) held: Sum,
    pub(crate) ended: Arc<Ended>,
    pub(crate) numbers: RunNumbers,
    pub(crate) known_ids: KnownIds,
    /// The epoch under which this engine owns the store: no process before it had the same.
    pub(crate) process: u64,
    pub(crate) listening: Listening,
    pub(crate) mailboxes: OnceLock<Vec<Mailbox>>,
}

impl Shared {
    /// The time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The shard that owns a workflow id.
    pub(crate) fn shard_of(&self, namespace_id: &str, workflow_id: &str) -> ShardNumber {
        let shards = self.mailboxes.get().map_or(1, Vec::len).max(1);
        let hash = xxh3_64([namespace_id, workflow_id].join("/").as_bytes());
        let shard = hash % u64::try_from(shards).unwrap_or(1);
        ShardNumber(u32::try_from(shard).unwrap_or_default())
    }

    /// The mailbox of a shard.
    pub(crate) fn mailbox(&self, shard: ShardNumber) -> Option<&Mailbox> {
        self.mailboxes.get()?.get(usize::try_from(shard.0).ok()?)
    }

    /// Sends a letter to a shard. While there is none, the engine is not open yet.
    pub(crate) fn mail(&self, shard: ShardNumber, mail: Mail) {
        if let Some(mailbox) = self.mailbox(shard) {
            mailbox.send(mail);
        }
    }

    /// Sends a letter to every shard. What tells when it is done; at once if the shard is gone.
    pub(crate) fn ask_all(
        &self,
        letter: impl Fn(oneshot::Sender<()>) -> Mail,
    ) -> Vec<oneshot::Receiver<()>> {
        let mailboxes = self.mailboxes.get().map_or(&[][..], Vec::as_slice);
        let ask = |mailbox: &Mailbox| {
            let (slot, wait) = oneshot::channel();
            mailbox.send(letter(slot));
            wait
        };
        mailboxes.iter().map(ask).collect()
    }

    /// The mailbox of the shard that owns a workflow id.
    pub(crate) fn mailbox_of(&self, namespace_id: &str, workflow_id: &str) -> Option<&Mailbox> {
        self.mailbox(self.shard_of(namespace_id, workflow_id))
    }

    /// Since when a sticky queue must have been polled to count as attended.
    pub(crate) fn sticky_since(&self) -> Timestamp {
        earlier(self.now(), self.limits.sticky_idle_max)
    }
}

/// `span` before `at`.
pub(crate) fn earlier(at: Timestamp, span: Duration) -> Timestamp {
    Timestamp(at.nanos().saturating_sub(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)))
}

/// Numbers for new runs.
#[derive(Debug)]
pub(crate) struct RunNumbers {
    first: RunNumber,
    next: AtomicI64,
}

impl RunNumbers {
    pub(crate) fn from(first: RunNumber) -> Self {
        Self { first, next: AtomicI64::new(first.0) }
    }

    /// The first number that this engine gave out.
    pub(crate) fn first(&self) -> RunNumber {
        self.first
    }

    /// How many were given out, by this engine and those before.
    pub(crate) fn given(&self) -> u64 {
        u64::try_from(self.next.load(Ordering::Relaxed) - 1).unwrap_or_default()
    }

    pub(crate) fn next(&self) -> RunNumber {
        RunNumber(self.next.fetch_add(1, Ordering::Relaxed))
    }
}
