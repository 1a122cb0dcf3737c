//! A store in one file, for production.
//!
//! ```text
//!   commit ──▶ ┌───────┐    writer thread ────▶ ┌──────────────────┐
//!              │ queue │                        │ write-ahead log  │ one fsync a commit
//!              └───────┘                        └──────────────────┘
//!    reads ──▶ ┌───────┐    reader threads ───▶     │ checkpoint thread, meanwhile
//!              │ queue │                            ▼
//!              └───────┘                        ┌──────────────────┐
//!                                               │ database file    │
//!                                               └──────────────────┘
//! ```
//!
//! There is one writer, because the database has one lock for writing; readers see the last commit
//! and wait for nobody, unless what they ask for is packed: then for the writer. The
//! callers' threads never touch the disk. Opening does, and blocks.

mod asides;
mod attempts;
mod backup;
mod checkpoint;
mod commit;
mod condition;
mod crew;
mod error_query;
mod errors;
mod fault;
mod file;
mod history;
mod lane;
mod namespaces;
mod number;
mod packed;
mod place;
mod query;
mod runs;
mod schema;
mod settings;
mod shards;
mod sole;
mod statements;
mod value;
mod visibility;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;
use steadfast_retry::Timestamp;

use self::{
    asides::Guard,
    crew::{Chore, Connect},
    fault::Fault,
    lane::Lane,
    packed::{Concern, Packed},
    place::Place,
    sole::Sole,
};
use crate::{
    aside::Aside,
    error::Error,
    error_view::{
        ErrorEntry, ErrorFilter, ErrorGroup, ErrorGroupRow, ErrorId, ErrorListing, ErrorPosition,
    },
    filter::{Field, Filter},
    rows::{
        AttemptLog, Batch, EventBatch, Group, Lease, Listing, Lookup, NamespaceRow, Retried,
        RunNumber, RunRows, ShardNumber, VisibilityPosition,
    },
    store::{Answer, Order, Store, WorkflowId},
};

/// How to open a file.
#[derive(Clone, Debug)]
pub struct Options {
    /// What a commit waits for.
    pub synchronous: Synchronous,
    /// How many reads may go on at once. Each has a connection, which is made when it is needed.
    pub readers: usize,
    /// Memory for pages of the writer, in KiB.
    pub writer_cache_kib: u32,
    /// Memory for pages of each reader, in KiB.
    pub reader_cache_kib: u32,
    /// How much of what was committed may wait for the tables, in KiB. The more, the less often a run
    /// that is busy is written to them.
    pub packed_kib: u32,
    /// How long to wait for another process that is writing before answering
    /// [`Busy`](Error::Busy).
    pub busy_timeout: Duration,
    /// How long to wait for another process that has the file open before answering
    /// [`InUse`](Error::InUse): one that was killed has it until it is gone.
    pub lock_timeout: Duration,
    /// How closely to look at the file before using it.
    pub check: Check,
    /// The size that the file may grow to before commits are answered with [`Full`](Error::Full).
    pub file_bytes_max: Option<u64>,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Synchronous {
    /// The disk. A power cut loses nothing that was acknowledged.
    #[default]
    Full,
    /// The operating system, and the disk now and then. A crash of the process loses nothing; a
    /// power cut may lose the last commits, but not their order.
    Normal,
    /// Nothing. A power cut may damage the file: for tests.
    Off,
}

/// How closely to look at a file before using it. Whether it is ours, complete and of a known
/// version is always looked at.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Check {
    /// Every page, as long as that takes no more than about a second: of files up to 16 MiB, and up
    /// to 256 MiB if the last process did not close it. The write-ahead log makes a crash of the
    /// process harmless; this is for what else may have happened then.
    #[default]
    Auto,
    /// Every page. Takes some seconds a gigabyte.
    Always,
    /// No pages.
    Never,
}

/// Numbers to watch.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Transactions that were committed; each is one fsync of the write-ahead log, if commits
    /// wait for the disk.
    pub commits: u64,
    /// Times that the write-ahead log was copied into the file.
    pub checkpoints: u64,
    /// Pages in the write-ahead log after the last commit.
    pub wal_pages: u64,
}

/// A store in one file. See the [module](self) for how it works.
#[derive(Debug)]
pub struct Sqlite {
    path: PathBuf,
    writer: Lane,
    readers: Lane,
    checkpoints: Lane,
    guard: Arc<Guard>,
    packed: Arc<Packed>,
    counters: Arc<Counters>,
    place: Arc<Place>,
    /// Until it is closed.
    sole: Mutex<Option<Sole>>,
}

#[derive(Debug, Default)]
struct Counters {
    commits: AtomicU64,
    checkpoints: AtomicU64,
    wal_pages: AtomicU64,
}

impl Counters {
    /// Brings all that waits to the tables; that is a commit if there was anything.
    fn unpack(&self, db: &mut Connection, packed: &Packed) -> Result<(), Fault> {
        if packed.unpack_all(db)? {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// What the writer does when enough has come, or nothing for a while.
fn unpacking(packed: &Arc<Packed>, counters: &Arc<Counters>) -> Chore {
    let (packed, counters) = (Arc::clone(packed), Arc::clone(counters));
    Box::new(move |db, moment| {
        if packed.is_due(moment)
            && let Err(fault) = counters.unpack(db, &packed)
        {
            let error = fault.into_error(Path::new(db.path().unwrap_or_default()));
            tracing::warn!(%error, "what was committed could not be brought to the tables; it is tried again");
        }
        !packed.is_empty()
    })
}

impl Default for Options {
    fn default() -> Self {
        Self {
            synchronous: Synchronous::default(),
            readers: 2,
            writer_cache_kib: 16 * 1024,
            reader_cache_kib: 2 * 1024,
            packed_kib: 512,
            busy_timeout: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(2),
            check: Check::default(),
            file_bytes_max: None,
        }
    }
}

impl Options {
    /// For an engine inside somebody else's program, which has other uses for its memory.
    pub fn embedded() -> Self {
        Self { writer_cache_kib: 256, reader_cache_kib: 256, packed_kib: 128, ..Self::default() }
    }
}

impl Sqlite {
    /// Opens the file, or makes it. Blocks until that is done.
    ///
    /// A file that is not ours, is damaged, was written by a newer release or is open in another
    /// process is refused and left as it is. That process may be killed: once it is gone, the file is free.
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Self, Error> {
        let path = file::prepare(path.as_ref(), options)?;
        let sole = Sole::of(path.clone(), options.lock_timeout)?;
        let counters = Arc::<Counters>::default();
        let mut writer = file::connect(&path, file::Role::Writer, options)
            .map_err(|fault| fault.into_error(&path))?;
        schema::migrate(&mut writer).map_err(|fault| fault.into_error(&path))?;
        let guard = Guard::of(&mut writer).map_err(|fault| fault.into_error(&path))?;
        let place = Arc::new(Place::of(&path));
        let later = |role| -> Connect {
            let (path, options, place) = (path.clone(), options.clone(), Arc::clone(&place));
            Arc::new(move || {
                let db = file::connect(&path, role, &options).map_err(|e| e.into_error(&path))?;
                // Another file may have its name by now.
                place.check().map(|()| db)
            })
        };
        let checkpoints = Lane::new("store-checkpoint", 1, later(file::Role::Checkpoint));
        checkpoint::watch(&mut writer, checkpoints.clone(), &counters)
            .map_err(|fault| fault.into_error(&path))?;
        let bytes_max =
            usize::try_from(options.packed_kib).unwrap_or(usize::MAX).saturating_mul(1024);
        let packed = Arc::new(Packed::new(bytes_max));
        Ok(Self {
            writer: Lane::start_with(
                "store-writer",
                writer,
                packed::IDLE,
                unpacking(&packed, &counters),
            )?,
            readers: Lane::new("store-reader", options.readers.max(1), later(file::Role::Reader)),
            checkpoints,
            guard,
            packed,
            counters,
            place,
            path,
            sole: Mutex::new(Some(sole)),
        })
    }

    /// Numbers to watch, as of now.
    pub fn stats(&self) -> Stats {
        Stats {
            commits: self.counters.commits.load(Ordering::Relaxed),
            checkpoints: self.counters.checkpoints.load(Ordering::Relaxed),
            wal_pages: self.counters.wal_pages.load(Ordering::Relaxed),
        }
    }

    /// Copies everything that is committed by now to a new file, while work goes on, and reads every page
    /// of it. There is either a whole and healthy copy at `path` afterwards or none; a file that is there
    /// already is [`Rejected`](Error::Rejected).
    pub fn backup_to(&self, path: impl Into<PathBuf>) -> Answer<'_, ()> {
        backup::backup(&self.path, path.into())
    }

    /// Copies the file of a store as [`backup_to`](Self::backup_to) does, also while another process has
    /// it open. Blocks until that is done.
    pub fn copy(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<(), Error> {
        file::look_at(source.as_ref(), Check::Never)?;
        backup::copy(source.as_ref(), target.as_ref())
    }

    /// Reads every page and answers [`Damaged`](Error::Damaged) if one makes no sense. Takes some
    /// seconds a gigabyte, of one reader.
    pub fn verify(&self) -> Answer<'_, ()> {
        self.readers.call(|db| file::verify(db))
    }

    /// Runs an aside in a transaction of its own, with no run: to make its tables, say. If it fails,
    /// nothing of it is written and the answer is [`Rejected`](Error::Rejected) with its reason.
    pub fn run_aside(&self, aside: Aside) -> Answer<'_, ()> {
        let guard = Arc::clone(&self.guard);
        self.write(move |db| asides::alone(db, &guard, &aside))
    }

    /// A read that sees all that was committed by now.
    fn read<T, F>(&self, concern: Concern<'_>, job: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        self.read_or(concern, Err, job)
    }

    /// A read for people, about many runs. It sees all that was committed by now, or, while the disk is full
    /// or fails, what was in the tables before: then they need it most.
    fn look<T, F>(&self, job: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        let go_on = |error| {
            tracing::warn!(%error, "a list does not show what was committed last");
            Ok(())
        };
        self.read_or(Concern::Everything, go_on, job)
    }

    /// A read behind all that was committed by now; `or` says what if that cannot be brought to the tables.
    fn read_or<T, F>(
        &self,
        concern: Concern<'_>,
        or: fn(Error) -> Result<(), Error>,
        job: F,
    ) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        if !self.packed.concerns(concern) {
            return self.readers.call(job);
        }
        let unpacked = self.unpack();
        Box::pin(async move {
            self.in_the_end(unpacked).await.or_else(or)?;
            self.readers.call(job).await
        })
    }

    /// Brings all that was committed by now to the tables.
    fn unpack(&self) -> Answer<'static, ()> {
        let (packed, counters) = (Arc::clone(&self.packed), Arc::clone(&self.counters));
        self.writer.call(move |db| counters.unpack(db, &packed))
    }

    /// Tries it again while another process holds the file: a read would not have to wait for that one if
    /// nothing were packed, so it is not for the reader to try again.
    async fn in_the_end(&self, unpacked: Answer<'static, ()>) -> Result<(), Error> {
        let mut done = unpacked.await;
        for _ in 1..TRIES_MAX {
            if !matches!(done, Err(Error::Busy(_))) {
                break;
            }
            done = self.unpack().await;
        }
        done
    }

    /// Work for the writer. It counts as a commit if it succeeds, and if the file is still there.
    fn write<T, F>(&self, job: F) -> Answer<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> Result<T, Fault> + Send + 'static,
    {
        let (counters, place) = (Arc::clone(&self.counters), Arc::clone(&self.place));
        self.writer.call(move |db| {
            let result = job(db)?;
            place.check()?;
            counters.commits.fetch_add(1, Ordering::Relaxed);
            Ok(result)
        })
    }
}

/// How often it is tried to unpack what a read is about, if another process holds the file. Each time waits
/// for as long as the options say.
const TRIES_MAX: u32 = 20;

impl Store for Sqlite {
    fn acquire(&self, shards: u32, owner: String) -> Answer<'_, Lease> {
        let packed = Arc::clone(&self.packed);
        self.write(move |db| shards::acquire(db, shards, &owner, &packed))
    }

    fn commit(&self, batch: Arc<Batch>) -> Answer<'_, ()> {
        let (guard, packed) = (Arc::clone(&self.guard), Arc::clone(&self.packed));
        self.write(move |db| commit::commit(db, &batch, &guard, &packed))
    }

    fn last_commit(&self) -> Answer<'_, u64> {
        self.readers.call(shards::last_commit)
    }

    fn load(&self, lookup: Lookup) -> Answer<'_, Option<RunRows>> {
        let again = lookup.clone();
        let found = self.read(Concern::of(&again), move |db| runs::load(db, &lookup));
        Box::pin(async move {
            match found.await? {
                // Its id does not tell that something of it waits; its number does.
                Some(rows) if self.packed.concerns(Concern::Run(rows.run)) => {
                    let run = Concern::Run(rows.run);
                    self.read(run, move |db| runs::load(db, &again)).await
                }
                found => Ok(found),
            }
        })
    }

    fn workflow_ids(&self, after: Option<WorkflowId>, limit: usize) -> Answer<'_, Vec<WorkflowId>> {
        self.read(Concern::Everything, move |db| runs::workflow_ids(db, after, limit))
    }

    fn history(
        &self,
        run: RunNumber,
        first: i64,
        last: i64,
        events_max: usize,
        order: Order,
    ) -> Answer<'_, Vec<EventBatch>> {
        self.read(Concern::Run(run), move |db| {
            history::history(db, run, &(first..=last), events_max, order)
        })
    }

    fn due(
        &self,
        shard: ShardNumber,
        until: Timestamp,
        after: Option<(Timestamp, RunNumber)>,
        limit: usize,
    ) -> Answer<'_, Vec<(Timestamp, RunNumber)>> {
        self.read(Concern::Everything, move |db| runs::due(db, shard, until, after, limit))
    }

    fn with_work(
        &self,
        shard: ShardNumber,
        after: RunNumber,
        limit: usize,
    ) -> Answer<'_, Vec<RunNumber>> {
        self.read(Concern::Everything, move |db| runs::with_work(db, shard, after, limit))
    }

    fn list(
        &self,
        namespace: String,
        filter: Filter,
        after: Option<VisibilityPosition>,
        limit: usize,
    ) -> Answer<'_, Listing> {
        self.look(move |db| visibility::list(db, &namespace, &filter, after, limit))
    }

    fn count(
        &self,
        namespace: String,
        filter: Filter,
        by: Option<Field>,
    ) -> Answer<'_, Vec<Group>> {
        self.look(move |db| visibility::count(db, &namespace, &filter, by.as_ref()))
    }

    fn attempts(&self, run: RunNumber, activity: i64) -> Answer<'_, AttemptLog> {
        self.read(Concern::Run(run), move |db| attempts::attempts(db, run, activity))
    }

    fn retried(
        &self,
        namespace: String,
        more_than: u32,
        after: Option<(RunNumber, i64)>,
        limit: usize,
    ) -> Answer<'_, Vec<Retried>> {
        self.look(move |db| attempts::retried(db, &namespace, more_than, after, limit))
    }

    fn run_attempts(&self, run: RunNumber) -> Answer<'_, Vec<AttemptLog>> {
        self.read(Concern::Run(run), move |db| attempts::of_run(db, run))
    }

    fn errors(
        &self,
        namespace: String,
        filter: ErrorFilter,
        order: Order,
        after: Option<ErrorPosition>,
        limit: usize,
    ) -> Answer<'_, ErrorListing> {
        self.look(move |db| errors::list(db, &namespace, &filter, order, after, limit))
    }

    fn error_groups(
        &self,
        namespace: String,
        filter: ErrorFilter,
        by: ErrorGroup,
        limit: usize,
    ) -> Answer<'_, Vec<ErrorGroupRow>> {
        self.look(move |db| errors::groups(db, &namespace, &filter, by, limit))
    }

    fn error_count(&self, namespace: String, filter: ErrorFilter) -> Answer<'_, u64> {
        self.look(move |db| errors::count(db, &namespace, &filter))
    }

    fn error(&self, run: RunNumber, subject: i64) -> Answer<'_, Option<ErrorEntry>> {
        self.read(Concern::Run(run), move |db| errors::one(db, run, subject))
    }

    fn errors_by_id(&self, ids: Vec<ErrorId>) -> Answer<'_, Vec<ErrorEntry>> {
        self.read(Concern::Everything, move |db| errors::by_id(db, &ids))
    }

    fn put_namespace(&self, row: NamespaceRow) -> Answer<'_, ()> {
        self.write(move |db| namespaces::put(db, &row))
    }

    fn delete_namespace(&self, id: String) -> Answer<'_, ()> {
        self.write(move |db| namespaces::delete(db, &id))
    }

    fn namespaces(&self) -> Answer<'_, Vec<NamespaceRow>> {
        self.readers.call(namespaces::all)
    }

    fn setting(&self, name: String) -> Answer<'_, Option<Vec<u8>>> {
        self.readers.call(move |db| settings::get(db, &name))
    }

    fn put_setting(&self, name: String, value: Option<Vec<u8>>) -> Answer<'_, ()> {
        self.write(move |db| settings::put(db, &name, value.as_deref()))
    }

    fn close(&self) -> Answer<'_, ()> {
        // The writer goes last: the last connection copies the log into the file and removes it.
        let others = [self.readers.stop(), self.checkpoints.stop()];
        let unpacked = self.unpack();
        Box::pin(async move {
            for stopped in others {
                stopped.await?;
            }
            // If that fails, whoever opens the file next does it.
            _ = unpacked.await;
            let stopped = self.writer.stop().await;
            self.sole.lock().unwrap_or_else(PoisonError::into_inner).take();
            stopped
        })
    }
}
