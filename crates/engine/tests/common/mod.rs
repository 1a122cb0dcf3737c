//! An engine on virtual time, and the few calls that tests make of it.

pub(crate) mod calls;
mod commands;
mod hook;
mod schedules;
mod store;

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
    time::Duration,
};

use steadfast_engine::{Clock, Engine, Limits, Options, Timestamp, Wait};
use steadfast_store::{Memory, Sqlite, Store, sqlite};

pub(crate) use commands::*;
pub(crate) use hook::Hook;
pub(crate) use schedules::*;
pub(crate) use store::{Fault, Scripted};

pub(crate) const NAMESPACE: &str = "default";
pub(crate) const QUEUE: &str = "queue";

/// Time that moves only when everybody waits.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    start: tokio::time::Instant,
}

impl VirtualClock {
    fn new() -> Arc<Self> {
        Arc::new(Self { start: tokio::time::Instant::now() })
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1_000_000).after(self.start.elapsed())
    }

    fn sleep(&self, span: Duration) -> Wait {
        #[expect(clippy::disallowed_methods, reason = "virtual time")]
        let sleep = tokio::time::sleep(span);
        Box::pin(sleep)
    }
}

/// Where the data is.
#[derive(Debug)]
pub(crate) enum Base {
    Memory(Arc<Memory>),
    Sqlite(tempfile::TempDir),
}

impl Base {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::new(Memory::new()))
    }

    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().expect("a folder"))
    }

    fn open(&self) -> Arc<Scripted> {
        match self {
            Self::Memory(memory) => {
                let memory: Arc<dyn Store> = memory.clone();
                Scripted::new(memory)
            }
            Self::Sqlite(folder) => {
                let options = sqlite::Options::default();
                let store = Sqlite::open(folder.path().join("data.db"), &options).expect("a file");
                Scripted::new(Arc::new(store))
            }
        }
    }
}

/// An engine on a store.
pub(crate) struct Rig {
    engine: RefCell<Engine>,
    store: RefCell<Arc<Scripted>>,
    base: Base,
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) hook: Arc<Hook>,
    limits: Limits,
    opened: Cell<u64>,
    /// Places in the story where the plug can be pulled, so far.
    points: Cell<usize>,
    crash_at: Option<usize>,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::on(Base::memory()).await
    }

    pub(crate) async fn on(base: Base) -> Self {
        Self::with(base, Limits::default()).await
    }

    pub(crate) async fn with(base: Base, limits: Limits) -> Self {
        let clock = VirtualClock::new();
        let store = base.open();
        let hook = Arc::default();
        let engine = open(&store, &clock, &hook, &limits, 1).await;
        Self {
            engine: RefCell::new(engine),
            store: RefCell::new(store),
            base,
            clock,
            hook,
            limits,
            opened: Cell::new(1),
            points: Cell::new(0),
            crash_at: None,
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine.borrow().clone()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn store(&self) -> Arc<Scripted> {
        Arc::clone(&self.store.borrow())
    }

    /// Pulls the plug and starts again on the same data.
    pub(crate) async fn crash(&self) {
        self.engine().abandon();
        self.reopen().await;
    }

    /// Pulls the plug, and starts again on the same data after a while.
    pub(crate) async fn be_away(&self, seconds: u64) {
        self.engine().abandon();
        self.wait(seconds).await;
        self.reopen().await;
    }

    /// Stops in good order and starts again on the same data.
    pub(crate) async fn restart(&self) {
        self.engine().stop().await;
        self.reopen().await;
    }

    async fn reopen(&self) {
        // Tasks that were aborted end at their next turn.
        tokio::task::yield_now().await;
        self.opened.set(self.opened.get() + 1);
        if matches!(self.base, Base::Sqlite(_)) {
            self.store.replace(self.base.open());
        }
        let store = self.store();
        let engine = open(&store, &self.clock, &self.hook, &self.limits, self.opened.get()).await;
        self.engine.replace(engine);
    }

    /// Another engine on the same data.
    pub(crate) async fn second(&self) -> Engine {
        open(&self.store(), &self.clock, &self.hook, &self.limits, 99).await
    }

    /// A place where the plug may be pulled.
    pub(crate) async fn point(&self) {
        let here = self.points.get();
        self.points.set(here + 1);
        if self.crash_at == Some(here) {
            self.crash().await;
        }
    }

    pub(crate) async fn wait(&self, seconds: u64) {
        self.clock.sleep(Duration::from_secs(seconds)).await;
    }

    /// Waits, in virtual time.
    pub(crate) async fn wait_millis(&self, millis: u64) {
        self.clock.sleep(Duration::from_millis(millis)).await;
    }

    /// Lets everybody do what they can without time passing.
    pub(crate) async fn settle(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    /// Another connection to the file.
    pub(crate) fn connect(&self) -> rusqlite::Connection {
        let Base::Sqlite(folder) = &self.base else { panic!("there is no file") };
        rusqlite::Connection::open(folder.path().join("data.db")).expect("a file")
    }

    /// Whole seconds since the beginning: what is retried or read takes some milliseconds.
    pub(crate) fn elapsed(&self) -> u64 {
        (self.clock.start.elapsed() + Duration::from_millis(500)).as_secs()
    }

    /// Milliseconds since the beginning.
    pub(crate) fn millis(&self) -> u128 {
        self.clock.start.elapsed().as_millis()
    }
}

/// Tells a story straight through, and once more for each of its points with the plug pulled there,
/// in memory and on `SQLite`. Its end must be the same, and is given back.
pub(crate) async fn survives(tell: impl AsyncFn(&Rig) -> String) -> String {
    survives_on(&[Base::memory, Base::sqlite], tell).await
}

/// As [`survives`], on these bases.
pub(crate) async fn survives_on(
    bases: &[fn() -> Base],
    tell: impl AsyncFn(&Rig) -> String,
) -> String {
    let mut first: Option<String> = None;
    for base in bases {
        let mut points = 1;
        let mut crash_at = None;
        while crash_at.is_none_or(|at| at < points) {
            let mut rig = Rig::on(base()).await;
            rig.crash_at = crash_at;
            let told = tell(&rig).await;
            let expected = first.get_or_insert_with(|| told.clone());
            assert_eq!(*expected, told, "on {:?} with a crash at {crash_at:?}", rig.base);
            if crash_at.is_none() {
                points = rig.points.get();
            }
            rig.engine().abandon();
            crash_at = Some(crash_at.map_or(0, |at| at + 1));
        }
    }
    first.expect("it was told")
}

async fn open(
    store: &Arc<Scripted>,
    clock: &Arc<VirtualClock>,
    hook: &Arc<Hook>,
    limits: &Limits,
    seed: u64,
) -> Engine {
    let store: Arc<dyn Store> = store.clone();
    let options = Options {
        clock: clock.clone(),
        seed: Some(seed),
        limits: limits.clone(),
        webhooks: Some(hook.clone()),
        ..Options::default()
    };
    Engine::open(store, options).await.expect("an engine")
}
