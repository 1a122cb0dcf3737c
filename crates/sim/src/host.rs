//! The simulated machine: a process with an engine on a store, which crashes and starts again.

use std::{
    fmt,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use steadfast_engine::{Clock, Code, Engine, Error, Limits, Options, Webhooks};
use steadfast_proto::enums::ResourceExhaustedCause;
use steadfast_store::Store;
use tokio::sync::Notify;

use crate::{
    chance::Chance, clock::SimClock, faults::Faults, hook::Hook, medium::Medium, store::Faulty,
    watch::Watch,
};

/// The simulated machine.
#[derive(Debug)]
pub(crate) struct Host {
    /// The disk: it stays when the process goes.
    disk: Medium,
    faults: Arc<Faults>,
    hook: Arc<Hook>,
    watch: Arc<Watch>,
    clock: Arc<SimClock>,
    ids: Chance,
    limits: Limits,
    shards: u32,
    opened: AtomicU64,
    process: Mutex<Option<(Process, Engine)>>,
    /// Told when the process goes. (Not a watch channel: that wakes its watchers in an order of its
    /// own, different each time.)
    gone: Notify,
}

/// One of the processes that the machine has had.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Process(u64);

/// Why a call has no answer, or a bad one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trouble {
    /// There is no process to call.
    Down,
    /// The process went away before it answered: whether it was done is unknown.
    Lost,
    /// The engine takes nothing on until its disk has caught up.
    Behind,
    /// The engine said no.
    Refused(Error),
}

impl Host {
    /// A machine that is off.
    pub(crate) fn new(
        medium: Medium,
        clock: Arc<SimClock>,
        faults: Arc<Faults>,
        chance: &Chance,
    ) -> Self {
        let mut draw = chance.child("machine");
        let cached = usize::try_from(draw.between(1, 24)).unwrap_or(1);
        let room = chance.child("room").between(0, 40);
        let limits = Limits {
            // Small, so that runs leave the memory, pages end and horizons pass.
            cached_runs_max: cached,
            cached_bytes_max: cached * 4_096,
            cached_schedules_max: cached,
            tail_events_max: usize::try_from(draw.between(1, 40)).unwrap_or(1),
            history_page_max: usize::try_from(draw.between(3, 60)).unwrap_or(3),
            list_page_max: usize::try_from(draw.between(2, 20)).unwrap_or(2),
            due_page_max: usize::try_from(draw.between(2, 40)).unwrap_or(2),
            recovery_page_max: usize::try_from(draw.between(2, 40)).unwrap_or(2),
            due_horizon: draw.millis(500, 20_000),
            unwritten_bytes_max: usize::try_from(room).unwrap_or(4) * 256,
            ..Limits::default()
        };
        Self {
            disk: medium,
            hook: Arc::new(Hook::new(chance.child("hook"), Arc::clone(&faults))),
            watch: Arc::default(),
            faults,
            clock,
            ids: chance.child("ids"),
            limits,
            shards: draw.small(1, 4),
            opened: AtomicU64::new(0),
            process: Mutex::new(None),
            gone: Notify::new(),
        }
    }

    /// Calls the engine. The call ends with the process.
    pub(crate) async fn call<T, F>(&self, what: impl FnOnce(Engine) -> F) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let gone = self.gone.notified();
        tokio::pin!(gone);
        gone.as_mut().enable();
        let Some(engine) = self.engine() else { return Err(Trouble::Down) };
        tokio::select! {
            biased;
            answer = what(engine) => answer.map_err(Trouble::of),
            () = gone => Err(Trouble::Lost),
        }
    }

    /// The process that runs now.
    pub(crate) fn process(&self) -> Option<Process> {
        self.lock().as_ref().map(|(process, _)| *process)
    }

    /// Does something inside a process: `None` if that ended first.
    pub(crate) async fn inside<T>(
        &self,
        process: Process,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let gone = self.gone.notified();
        tokio::pin!(gone);
        gone.as_mut().enable();
        if self.process() != Some(process) {
            return None;
        }
        tokio::select! {
            biased;
            () = gone => None,
            done = work => Some(done),
        }
    }

    /// The disk.
    pub(crate) fn disk(&self) -> &Medium {
        &self.disk
    }

    /// Switches it on, however often that takes.
    pub(crate) async fn start(&self) {
        loop {
            let (faults, watch) = (Arc::clone(&self.faults), Arc::clone(&self.watch));
            let store = Faulty::new(self.disk.store(), faults, watch);
            let opened = self.opened.fetch_add(1, Ordering::Relaxed);
            let clock: Arc<dyn Clock> = Arc::<SimClock>::clone(&self.clock);
            let hook: Arc<dyn Webhooks> = Arc::<Hook>::clone(&self.hook);
            let options = Options {
                shards: self.shards,
                clock,
                seed: Some(self.ids.child(&opened.to_string()).number()),
                limits: self.limits.clone(),
                owner: format!("process-{opened}"),
                webhooks: Some(hook),
            };
            let store: Arc<dyn Store> = Arc::new(store);
            if let Ok(engine) = Engine::open(store, options).await {
                *self.lock() = Some((Process(opened), engine));
                return;
            }
            self.clock.wait(Duration::from_millis(100)).await;
        }
    }

    /// Pulls the plug.
    pub(crate) async fn crash(&self) {
        if let Some(engine) = self.take() {
            engine.abandon();
        }
        // What was aborted ends at its next turn.
        tokio::task::yield_now().await;
    }

    /// Switches it off as one should.
    pub(crate) async fn stop(&self) {
        if let Some(engine) = self.engine() {
            engine.stop().await;
        }
        self.take();
    }

    fn engine(&self) -> Option<Engine> {
        self.lock().as_ref().map(|(_, engine)| engine.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Process, Engine)>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process goes, and everybody who waits for it hears that.
    fn take(&self) -> Option<Engine> {
        let process = self.lock().take();
        self.gone.notify_waiters();
        process.map(|(_, engine)| engine)
    }

    /// How often it was switched on, or that was tried.
    pub(crate) fn starts(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Everything that was told to whoever wants to hear of failures.
    pub(crate) fn heard(&self) -> Vec<serde_json::Value> {
        self.hook.heard()
    }

    /// Whether there is something that the hook is still to be told.
    pub(crate) fn owes_the_hook(&self) -> bool {
        self.hook.is_owed()
    }

    /// How often each error was resumed by each who did, as the disk has it.
    pub(crate) fn resumes(&self) -> Vec<((i64, i64, String), usize)> {
        self.watch.resumes()
    }

    /// Whether the engine has lost its data, which here never happens rightly.
    pub(crate) fn has_lost_data(&self) -> bool {
        self.engine().is_some_and(|engine| engine.lost().is_some())
    }
}

impl Trouble {
    fn of(error: Error) -> Self {
        match error.exhausted_by() {
            Some(ResourceExhaustedCause::SystemOverloaded) => Self::Behind,
            _ => Self::Refused(error),
        }
    }

    /// Whether the same request may be sent again: it was not done, or nobody knows whether it was.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Down | Self::Lost | Self::Behind => true,
            Self::Refused(error) => {
                matches!(error.code, Code::Unavailable | Code::ResourceExhausted)
            }
        }
    }
}

/// What was answered, for the log.
pub(crate) fn shown(answer: &Result<(), Trouble>) -> String {
    answer.as_ref().map_or_else(ToString::to_string, |()| "ok".to_owned())
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Down => f.write_str("down"),
            Self::Lost => f.write_str("lost"),
            Self::Behind => f.write_str("behind"),
            Self::Refused(error) => write!(f, "{}: {error}", error.code),
        }
    }
}
