//! An engine's life: opened on a store, stopped without losing anything.

use std::{
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use steadfast_store::{RunNumber, ShardNumber, Store};
use tokio::sync::Notify;

use crate::{
    batch::Batches,
    clock::{Clock, SystemClock},
    committer::{CommitStats, Committer, Hot, Unwritten, Watermark},
    ended::Lost,
    errands::Errands,
    failures::{Books, ResumeJobs},
    hands::Hands,
    ids::Ids,
    known_ids::KnownIds,
    limits::Limits,
    matching::Matching,
    namespaces::{Namespace, Namespaces},
    query::Queries,
    running::Running,
    service::{Engine, default_namespace},
    shard::{Held, Listening, Mail, Mailbox, RunNumbers, Shard, Shared, Sum, earlier},
    tally::Tally,
    webhooks::{Undeliverable, Webhooks},
    workers::Workers,
};

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many shards a fresh store gets. A store keeps its number for ever.
    pub shards: u32,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where chance comes from; `None` for the machine's own.
    pub seed: Option<u64>,
    /// What is too much.
    pub limits: Limits,
    /// Who this is, for whoever takes the store over.
    pub owner: String,
    /// How documents are posted to those who want to hear of failures; `None` if they cannot be.
    pub webhooks: Option<Arc<dyn Webhooks>>,
}

/// Why an engine could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] steadfast_store::Error),
    /// A namespace cannot be read.
    #[error("namespace {name:?} cannot be read: {error}")]
    Namespace {
        /// Which.
        name: String,
        /// Why.
        error: steadfast_store::codec::Error,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shards: 4,
            clock: Arc::new(SystemClock),
            seed: None,
            limits: Limits::default(),
            owner: "steadfast".to_owned(),
            webhooks: None,
        }
    }
}

impl Engine {
    /// Opens an engine on a store: from now on it owns the data. It serves at once; what waited
    /// is brought back meanwhile.
    pub async fn open(store: Arc<dyn Store>, options: Options) -> Result<Self, OpenError> {
        let lease = store.acquire(options.shards.max(1), options.owner).await?;
        let shards = lease.shards;
        let limits = Arc::new(options.limits);
        let hands: Arc<Hands> = Arc::default();
        let shared = Arc::new(Shared {
            ids: Ids::new(options.seed),
            namespaces: Namespaces::default(),
            tasks: Matching::new(Arc::clone(&options.clock), Arc::default()),
            activities: Matching::new(Arc::clone(&options.clock), Arc::clone(&hands)),
            nexus: Matching::new(Arc::clone(&options.clock), Arc::default()),
            hands,
            queries: Queries::default(),
            workers: Workers::default(),
            batches: Batches::default(),
            books: Books::default(),
            resume_jobs: ResumeJobs::default(),
            webhooks: Errands::default(),
            start_overs: Errands::default(),
            undeliverable: Undeliverable::default(),
            resume_jobs_changed: Notify::new(),
            hot: Arc::new(Hot::default()),
            stats: Arc::new(CommitStats::default()),
            tally: Tally::default(),
            held: Sum::default(),
            ended: Arc::default(),
            numbers: RunNumbers::from(lease.next_run),
            known_ids: KnownIds::new(lease.next_run == RunNumber(1)),
            process: lease.epoch.0,
            listening: Listening::from(options.clock.now()),
            mailboxes: OnceLock::new(),
            clock: options.clock,
            store,
            limits,
        });
        open_namespaces(&shared).await?;
        let watermarks: Vec<Arc<Watermark>> =
            (0..shards).map(|_| Arc::new(Watermark::default())).collect();
        let committer = Committer {
            store: Arc::clone(&shared.store),
            clock: Arc::clone(&shared.clock),
            limits: Arc::clone(&shared.limits),
            epoch: lease.epoch,
            last_commit: lease.last_commit,
            watermarks: watermarks.clone(),
            hot: Arc::clone(&shared.hot),
            stats: Arc::clone(&shared.stats),
            ended: Arc::clone(&shared.ended),
            unwritten: tell_unwritten(Arc::downgrade(&shared)),
        };
        let (handle, committing) = committer.spawn();
        let (mailboxes, inboxes): (Vec<_>, Vec<_>) = (0..shards).map(|_| Mailbox::new()).unzip();
        // Nobody else has set it: the engine was made above.
        let _ = shared.mailboxes.set(mailboxes);
        let mut tasks = vec![committing];
        for (number, (inbox, durable)) in (0..).zip(inboxes.into_iter().zip(watermarks)) {
            let count = usize::try_from(shards).unwrap_or(1);
            let number = ShardNumber(number);
            let shard = Shard::new(number, Arc::clone(&shared), handle.clone(), durable, count);
            tasks.push(tokio::spawn(shard.run(inbox)));
        }
        tasks.push(tokio::spawn(sweep(Arc::downgrade(&shared))));
        let engine = Self::new(Running::new(shared, tasks));
        engine.post_documents(options.webhooks);
        engine.start_runs_over();
        engine.resume_background().await?;
        Ok(engine)
    }

    /// Stops: everything that was begun becomes durable, then nothing more is taken. Polls are
    /// answered empty at once; whoever else still waits hears that the engine stops.
    pub async fn stop(&self) {
        if !self.running.begin_stop() {
            return;
        }
        for wait in self.shared().ask_all(Mail::Stop) {
            // A shard that is gone has nothing more to make durable.
            let _ = wait.await;
        }
        self.running.abort();
    }

    /// Ends at once, like a crash: what is not durable is lost, and was never shown.
    pub fn abandon(&self) {
        self.running.begin_stop();
        self.running.abort();
    }

    /// Why the data is lost to this engine, if it is: then the engine is of no more use.
    pub fn lost(&self) -> Option<&Lost> {
        self.running.shared.ended.lost()
    }

    /// Waits until the data is lost to this engine, which may be never.
    pub async fn wait_until_lost(&self) -> Lost {
        self.shared().ended.wait().await;
        match self.lost() {
            Some(lost) => lost.clone(),
            // It was asked to stop.
            None => std::future::pending().await,
        }
    }

    /// How many workflow tasks and activity tasks wait for a worker.
    pub fn backlog(&self) -> (usize, usize) {
        (self.shared().tasks.backlog(), self.shared().activities.backlog())
    }

    /// How much is held in memory, about.
    pub fn held(&self) -> Held {
        self.shared().held.get()
    }

    /// Numbers about failures and retries.
    pub fn tally(&self) -> &Tally {
        &self.running.shared.tally
    }

    /// Numbers about commits.
    pub fn commit_stats(&self) -> &CommitStats {
        &self.running.shared.stats
    }
}

/// Tells a shard which run of it was not written.
fn tell_unwritten(
    shared: Weak<Shared>,
) -> Box<dyn Fn(ShardNumber, RunNumber, Unwritten) + Send + Sync> {
    Box::new(move |shard, run, why| {
        let Some(shared) = shared.upgrade() else { return };
        let mail = match why {
            Unwritten::Refused => Mail::Refused(run),
            Unwritten::Undone => Mail::Undone(run),
        };
        shared.mail(shard, mail);
    })
}

/// Forgets queues that nobody has used for a while.
async fn sweep(shared: Weak<Shared>) {
    loop {
        let Some(clock) = shared.upgrade().map(|shared| Arc::clone(&shared.clock)) else { return };
        clock.sleep(SWEEP_EVERY).await;
        let Some(shared) = shared.upgrade() else { return };
        let since = earlier(shared.now(), SWEEP_AFTER);
        shared.tasks.sweep(since);
        shared.activities.sweep(since);
        shared.workers.sweep(shared.now());
        shared.hands.sweep(shared.now());
    }
}

async fn open_namespaces(shared: &Shared) -> Result<(), OpenError> {
    let limits = &shared.limits.run;
    let rows = shared.store.namespaces().await?;
    for row in &rows {
        let namespace = Namespace::read(row, limits)
            .map_err(|error| OpenError::Namespace { name: row.name.clone(), error })?;
        shared.namespaces.insert(namespace);
        let book = shared.books.read(&*shared.store, &row.id).await?;
        shared.namespaces.set_rulebook(&row.id, &Arc::new(book.rulebook()));
    }
    if shared.namespaces.named("default").is_err() {
        let namespace = default_namespace(shared.ids.id(), limits);
        shared.store.put_namespace(namespace.row()).await?;
        shared.namespaces.insert(namespace);
    }
    Ok(())
}

const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// How long after its last poll a queue is forgotten.
const SWEEP_AFTER: Duration = Duration::from_secs(300);
