//! Group commit: everything that waits becomes durable together, with one fsync.
//!
//! ```text
//!  shard ─┐                       ┌─▶ commit n      (writes of all shards, folded by run)
//!  shard ─┼─▶ [work work work] ───┤
//!  shard ─┘        ▲              └─▶ releases: answers, dispatches, messages
//!                  └── more comes in while commit n is under way: that is commit n + 1
//! ```
//!
//! A shard goes on while a commit is under way. What leaves the engine is a *release*, and is let
//! go only when everything that it builds on is durable. A commit that fails is tried again, the
//! very same one, until it is in: its number tells whether it is. So a busy or full disk delays
//! answers, and is never anybody's failure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use steadfast_store::{
    Aside, Batch, Epoch, Error as StoreError, Outcome, RunNumber, RunWrite, ShardNumber, Store,
};
use tokio::sync::mpsc;

use crate::{clock::Clock, ended::Ended, histogram::Histogram, limits::Limits, pace::Pace};

/// Something that leaves the engine once what it builds on is durable. Dropped unsaid if the
/// engine stops before, or the store refuses what it builds on: whoever waits for it hears which.
pub(crate) type Release = Box<dyn FnOnce() + Send>;

/// What a shard wants durable, and what to let go then.
pub(crate) struct Work {
    pub(crate) shard: ShardNumber,
    /// Its place among the shard's works.
    pub(crate) number: u64,
    /// Bytes of its writes.
    pub(crate) bytes: usize,
    pub(crate) writes: Vec<RunWrite>,
    pub(crate) sayings: Vec<Saying>,
}

/// What is let go together, and the runs that it builds on: nothing of it is said if the store
/// refuses one of them.
#[derive(Default)]
pub(crate) struct Saying {
    /// The run that was looked at.
    pub(crate) found: Option<RunNumber>,
    /// The runs that were changed.
    pub(crate) touched: BTreeSet<RunNumber>,
    /// What must have been written with them.
    pub(crate) aside: Option<Arc<Aside>>,
    pub(crate) releases: Vec<Release>,
}

impl Saying {
    /// Something that builds on no run.
    pub(crate) fn free(release: Release) -> Self {
        Self { releases: vec![release], ..Self::default() }
    }

    pub(crate) fn say(self) {
        self.releases.into_iter().for_each(|release| release());
    }

    fn builds_on(&self, refused: &Refusals) -> bool {
        self.found.iter().chain(&self.touched).any(|run| refused.contains_key(run))
    }

    fn is_undone(&self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.has_failed())
    }
}

/// The runs that the store will not have, and whose they are.
type Refusals = BTreeMap<RunNumber, ShardNumber>;

/// Numbers about commits, for benchmarks and metrics.
#[derive(Debug)]
pub struct CommitStats {
    /// Commits made: each is one fsync.
    pub commits: AtomicU64,
    /// Pieces of work in them.
    pub works: AtomicU64,
    /// Commits that failed and were tried again.
    pub retries: AtomicU64,
    /// Bytes of what was handed in and is not durable yet.
    pub unwritten_bytes: AtomicUsize,
    /// Pieces of work by commit.
    pub sizes: Histogram,
    /// How long the store took for each commit, in microseconds.
    pub micros: Histogram,
}

impl Default for CommitStats {
    fn default() -> Self {
        Self {
            commits: AtomicU64::default(),
            works: AtomicU64::default(),
            retries: AtomicU64::default(),
            unwritten_bytes: AtomicUsize::default(),
            sizes: Histogram::new(SIZES),
            micros: Histogram::new(MICROS),
        }
    }
}

const SIZES: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];
const MICROS: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    10_000_000,
];

/// How far a shard's works are durable.
#[derive(Debug, Default)]
pub(crate) struct Watermark {
    work: AtomicU64,
    /// Bytes of the works that are not.
    missing: AtomicUsize,
}

impl Watermark {
    pub(crate) fn get(&self) -> u64 {
        self.work.load(Ordering::Acquire)
    }

    /// Bytes of the works that are not durable yet.
    pub(crate) fn missing(&self) -> usize {
        self.missing.load(Ordering::Relaxed)
    }

    /// A work with so many bytes is about to be handed in.
    pub(crate) fn expect(&self, bytes: usize) {
        self.missing.fetch_add(bytes, Ordering::Relaxed);
    }

    fn rise(&self, work: &Work) {
        self.missing.fetch_sub(work.bytes, Ordering::Relaxed);
        self.work.fetch_max(work.number, Ordering::Release);
    }
}

/// Workflow tasks in the hands of workers in this process whose cause is not durable yet. While
/// there are some, and little else is going on, a commit waits a moment for what they bring.
#[derive(Debug, Default)]
pub(crate) struct Hot(AtomicUsize);

impl Hot {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
    }

    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// Where shards hand in their work.
#[derive(Clone)]
pub(crate) struct Handle {
    works: mpsc::UnboundedSender<Work>,
    stats: Arc<CommitStats>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl Handle {
    pub(crate) fn submit(&self, work: Work) {
        self.stats.unwritten_bytes.fetch_add(work.bytes, Ordering::Relaxed);
        // If the committer is gone, the engine is: dropping the releases tells whoever waits.
        let _ = self.works.send(work);
    }
}

/// The one who commits.
pub(crate) struct Committer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) epoch: Epoch,
    pub(crate) last_commit: u64,
    pub(crate) watermarks: Vec<Arc<Watermark>>,
    pub(crate) hot: Arc<Hot>,
    pub(crate) stats: Arc<CommitStats>,
    pub(crate) ended: Arc<Ended>,
    /// Told of each run that was not written.
    pub(crate) unwritten: Box<dyn Fn(ShardNumber, RunNumber, Unwritten) + Send + Sync>,
}

/// Why a run was not written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unwritten {
    /// The store will not have it.
    Refused,
    /// What was to be written with it failed.
    Undone,
}

impl Committer {
    /// Starts committing. Ends when all handles are gone and their work is done.
    pub(crate) fn spawn(self) -> (Handle, tokio::task::JoinHandle<()>) {
        let (works, inbox) = mpsc::unbounded_channel();
        let handle = Handle { works, stats: Arc::clone(&self.stats) };
        (handle, tokio::spawn(self.run(inbox)))
    }

    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Work>) {
        let mut linger = Linger::default();
        let mut pace = Pace::default();
        let (mut last, mut last_size) = (Duration::ZERO, 0);
        let mut left: Vec<Work> = Vec::new();
        loop {
            let mut works = std::mem::take(&mut left);
            if works.is_empty() {
                let Some(first) = inbox.recv().await else { return };
                works.push(first);
            }
            self.take_waiting(&mut inbox, &mut works);
            if last_size >= GATHER_FROM {
                self.gather(&mut inbox, &mut works, last / 2).await;
            }
            let is_calm = works.len() <= LINGER_WORKS_MAX;
            if is_calm && !self.hot.is_empty() && linger.is_worth_it() {
                self.linger(&mut inbox, &mut works, &mut linger).await;
            }
            let wait = pace.wait(self.limits.commit_wait);
            if !wait.is_zero() {
                self.clock.sleep(wait).await;
                self.take_waiting(&mut inbox, &mut works);
            }
            left = works.split_off(end_before_asides(&works));
            let writes = fold(&mut works);
            let began = self.clock.now();
            pace.note(writes.len(), began);
            if let Err(error) = self.commit(&mut works, writes).await {
                tracing::error!(%error, "the data is lost to this engine; it stops");
                self.ended.lose(error);
                return;
            }
            (last, last_size) = (self.clock.now().since(began), works.len());
            self.release(works);
        }
    }

    fn take_waiting(&self, inbox: &mut mpsc::UnboundedReceiver<Work>, works: &mut Vec<Work>) {
        while works.len() < self.limits.commit_works_max
            && let Ok(work) = inbox.try_recv()
        {
            works.push(work);
        }
    }

    /// Takes in what the last commit let go and is on its way back, as long as it keeps coming
    /// and not for longer than `longest`. The first few of it alone would otherwise be a commit,
    /// and the rest would wait for that.
    async fn gather(
        &self,
        inbox: &mut mpsc::UnboundedReceiver<Work>,
        works: &mut Vec<Work>,
        longest: Duration,
    ) {
        let deadline = self.clock.now().after(longest);
        let mut idle = 0;
        while idle < GATHER_IDLE_MAX && self.clock.now() < deadline {
            let before = works.len();
            tokio::task::yield_now().await;
            self.take_waiting(inbox, works);
            idle = if works.len() > before { 0 } else { idle + 1 };
        }
    }

    /// Gives the workflow tasks that these works handed out a moment to come back, so that a step
    /// (an activity's end, the workflow task, the next dispatch) is one commit and not two.
    async fn linger(
        &self,
        inbox: &mut mpsc::UnboundedReceiver<Work>,
        works: &mut Vec<Work>,
        linger: &mut Linger,
    ) {
        let mut patience = self.clock.sleep(LINGER_MAX);
        while !self.hot.is_empty() {
            tokio::select! {
                biased;
                work = inbox.recv() => match work {
                    Some(work) => works.push(work),
                    None => break,
                },
                () = &mut patience => break,
            }
            self.take_waiting(inbox, works);
        }
        linger.was(self.hot.is_empty());
    }

    /// Makes the works durable; an error if the data is lost to this engine.
    async fn commit(
        &mut self,
        works: &mut [Work],
        writes: Vec<RunWrite>,
    ) -> Result<(), StoreError> {
        if writes.is_empty() {
            return Ok(());
        }
        let size = works.len().try_into().unwrap_or(0);
        self.stats.works.fetch_add(size, Ordering::Relaxed);
        self.stats.sizes.record(size);
        let batch = self.batch(writes);
        match self.commit_until_durable(&batch).await {
            Err(StoreError::Rejected(reason)) => {
                tracing::error!(%reason, "the store refused a commit; trying its runs one by one");
                let refused = self.commit_one_by_one(&batch.writes).await?;
                self.drop_refused(works, &refused);
            }
            other => other?,
        }
        self.drop_undone(works, &batch.writes);
        Ok(())
    }

    /// What builds on a run that was refused is never said, and its shard must forget it.
    fn drop_refused(&self, works: &mut [Work], refused: &Refusals) {
        for work in works {
            work.sayings.retain(|saying| !saying.builds_on(refused));
        }
        for (run, shard) in refused {
            (self.unwritten)(*shard, *run, Unwritten::Refused);
        }
    }

    /// What was to be written together with an aside that failed was not written: whoever waits for
    /// it hears so, and its shard goes on with the run as it was.
    fn drop_undone(&self, works: &mut [Work], writes: &[RunWrite]) {
        let is_undone = |write: &&RunWrite| write.aside.as_ref().is_some_and(|it| it.has_failed());
        let undone: Vec<&RunWrite> = writes.iter().filter(is_undone).collect();
        if undone.is_empty() {
            return;
        }
        for work in works {
            work.sayings.retain(|saying| !saying.is_undone());
        }
        for write in undone {
            (self.unwritten)(write.shard, write.run, Unwritten::Undone);
        }
    }

    fn batch(&self, writes: Vec<RunWrite>) -> Arc<Batch> {
        let leases = writes.iter().map(|write| (write.shard, self.epoch)).collect();
        Arc::new(Batch { sequence: self.last_commit + 1, leases, writes })
    }

    async fn commit_until_durable(&mut self, batch: &Arc<Batch>) -> Result<(), StoreError> {
        let sequence = batch.sequence;
        let (mut wait, longest) = self.limits.commit_retry;
        let began = self.clock.now();
        loop {
            let error = match self.store.commit(Arc::clone(batch)).await {
                Ok(()) => break,
                Err(error) => error,
            };
            if error.outcome() == Outcome::Final {
                return Err(error);
            }
            tracing::warn!(%error, sequence, "a commit failed; it is tried again");
            self.stats.retries.fetch_add(1, Ordering::Relaxed);
            self.clock.sleep(wait).await;
            wait = (wait * 2).min(longest);
            if error.outcome() == Outcome::Unknown && self.is_in(sequence).await? {
                break;
            }
        }
        self.last_commit = sequence;
        self.stats.commits.fetch_add(1, Ordering::Relaxed);
        let took = self.clock.now().since(began).as_micros();
        self.stats.micros.record(took.try_into().unwrap_or(u64::MAX));
        Ok(())
    }

    /// Whether the commit with this number is durable. Asks until it gets an answer.
    async fn is_in(&self, sequence: u64) -> Result<bool, StoreError> {
        let (mut wait, longest) = self.limits.commit_retry;
        loop {
            match self.store.last_commit().await {
                Ok(last) => return Ok(last >= sequence),
                Err(error) if error.outcome() == Outcome::Final => return Err(error),
                Err(_) => self.clock.sleep(wait).await,
            }
            wait = (wait * 2).min(longest);
        }
    }

    /// Finds the runs that the store will not have; the others must not suffer for them. An error if
    /// the data is lost to this engine.
    async fn commit_one_by_one(&mut self, writes: &[RunWrite]) -> Result<Refusals, StoreError> {
        let mut refused = Refusals::new();
        for write in writes {
            let batch = self.batch(vec![write.clone()]);
            match self.commit_until_durable(&batch).await {
                Err(StoreError::Rejected(reason)) => {
                    if let Some(aside) = &write.aside {
                        aside.refuse(reason);
                    } else {
                        tracing::error!(%reason, run = write.run.0, "the work of a run was dropped");
                        refused.insert(write.run, write.shard);
                    }
                }
                other => other?,
            }
        }
        Ok(refused)
    }

    fn release(&self, works: Vec<Work>) {
        for work in works {
            self.stats.unwritten_bytes.fetch_sub(work.bytes, Ordering::Relaxed);
            if let Some(mark) =
                usize::try_from(work.shard.0).ok().and_then(|shard| self.watermarks.get(shard))
            {
                mark.rise(&work);
            }
            work.sayings.into_iter().for_each(Saying::say);
        }
    }
}

/// Whether waiting a moment has paid off lately. With workers that take long it never does, so it
/// is tried less and less often.
#[derive(Default)]
struct Linger {
    fruitless: u32,
    skipped: u32,
}

impl Linger {
    fn is_worth_it(&mut self) -> bool {
        if self.skipped >= (1 << self.fruitless) - 1 {
            self.skipped = 0;
            return true;
        }
        self.skipped += 1;
        false
    }

    fn was(&mut self, fruitful: bool) {
        self.fruitless = if fruitful { 0 } else { (self.fruitless + 1).min(LINGER_SKIP_MAX) };
    }
}

/// Turns of everybody else without new work, after which no more is on its way.
const GATHER_IDLE_MAX: usize = 3;
/// Pieces of work in a commit from which on some of what it let go may be on its way back.
const GATHER_FROM: usize = 3;
const LINGER_MAX: Duration = Duration::from_millis(1);
const LINGER_WORKS_MAX: usize = 16;
const LINGER_SKIP_MAX: u32 = 8;

/// How many works to commit at once: an aside that fails must take nothing with it that its run has
/// done before, so those two are not in one commit.
fn end_before_asides(works: &[Work]) -> usize {
    let has_aside = |work: &Work| work.writes.iter().any(|write| write.aside.is_some());
    if !works.iter().any(has_aside) {
        return works.len();
    }
    let mut written = BTreeSet::new();
    let comes_late = |work: &Work| {
        let writes = work.writes.iter();
        let is_late = writes.clone().any(|it| it.aside.is_some() && written.contains(&it.run));
        written.extend(writes.map(|write| write.run));
        is_late
    };
    works.iter().position(comes_late).unwrap_or(works.len())
}

/// One write a run, in the order in which the runs first appear.
fn fold(works: &mut [Work]) -> Vec<RunWrite> {
    let mut places: BTreeMap<RunNumber, usize> = BTreeMap::new();
    let (mut folded, mut later): (Vec<RunWrite>, Vec<Vec<RunWrite>>) = Default::default();
    for write in works.iter_mut().flat_map(|work| work.writes.drain(..)) {
        if let Some(place) = places.get(&write.run) {
            later[*place].push(write);
        } else {
            places.insert(write.run, folded.len());
            folded.push(write);
            later.push(Vec::new());
        }
    }
    for (first, later) in folded.iter_mut().zip(later) {
        if !later.is_empty() {
            first.merge_all(later);
        }
    }
    folded
}
