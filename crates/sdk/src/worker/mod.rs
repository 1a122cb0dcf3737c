//! A worker: it asks for tasks, has the code answer them, and tells the engine.
//!
//! ```text
//!   door ──▶ workflows ──▶ cache of executions ──▶ answer ──▶ door
//!     └────▶ activities ──▶ attempts, so many at once ──▶ result ──▶ door
//!                              │ heartbeats                report: how it does, that it goes
//!                              └────────▶ pulse ──▶ a door of its own, at a server ◀──┘
//! ```

mod activities;
mod attempt;
mod beats;
mod cache;
mod held;
mod local;
mod pace;
mod pulse;
mod report;
mod room;
mod workflows;

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use steadfast_engine::{Clock, Code, Error};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinSet,
};

use self::{activities::Attempts, cache::Cache, pulse::Pulse, report::Report, room::Room};
use crate::{activity::Surroundings, codec::Codec, door::Door, state::States, workflow::Registry};

/// How much a worker does at once.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) namespace: String,
    pub(crate) task_queue: String,
    pub(crate) identity: String,
    /// Names this very worker, which identities may not.
    pub(crate) key: String,
    pub(crate) activities_at_once: usize,
    /// Of this worker.
    pub(crate) activities_per_second: Option<f64>,
    /// Of all workers of the queue together.
    pub(crate) queue_activities_per_second: Option<f64>,
    pub(crate) cached_workflows: usize,
    pub(crate) pollers: Pollers,
}

/// How many polls of each kind are under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pollers {
    /// Of each of the queues that workflow tasks come from.
    pub(crate) workflows: usize,
    pub(crate) activities: usize,
}

impl Pollers {
    /// None of a kind of which there is no code.
    fn of(self, registry: &Registry) -> Self {
        let (workflows, activities) = registry.names();
        Self {
            workflows: if workflows.is_empty() { 0 } else { self.workflows },
            activities: if activities.is_empty() { 0 } else { self.activities },
        }
    }
}

/// What all parts of a worker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) door: Door,
    /// What payloads go through, which `door` does not do for a worker.
    pub(crate) codec: Codec,
    pub(crate) registry: Arc<Registry>,
    pub(crate) settings: Settings,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) states: States,
    cache: Cache,
    attempts: Attempts,
    pulse: Pulse,
    report: Report,
    slots: Room,
    /// Room for local activities, apart from the others: a poll for those holds its room.
    local_slots: Semaphore,
    /// Held by answers that wait for local activities.
    busy: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

/// A worker that runs. Dropped, it stops at once.
#[derive(Debug)]
pub(crate) struct Worker {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    pollers: JoinSet<()>,
}

impl Worker {
    /// Starts a worker on the current runtime.
    pub(crate) fn start(
        (door, codec): (Door, Codec),
        registry: Arc<Registry>,
        settings: Settings,
        clock: Arc<dyn Clock>,
        states: States,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let room = Room::new(settings.activities_at_once, settings.activities_per_second, &clock);
        let shared = Arc::new(Shared {
            door,
            codec,
            registry,
            cache: Cache::new(settings.cached_workflows),
            attempts: Attempts::default(),
            pulse: Pulse::default(),
            report: Report::new(clock.now()),
            slots: room,
            local_slots: Semaphore::new(settings.activities_at_once),
            busy: Arc::new(Semaphore::new(BUSY_MAX)),
            settings,
            clock,
            states,
            stop: stopped,
        });
        if let Some(pulse) = shared.pulse.of(&shared.door) {
            let repeat = report::repeat(Arc::clone(&shared), pulse.door().clone());
            drop(pulse.runtime().spawn(repeat));
        }
        let mut pollers = JoinSet::new();
        let Pollers { workflows, activities } = shared.settings.pollers.of(&shared.registry);
        for _ in 0..workflows {
            pollers.spawn(workflows::poll(Arc::clone(&shared), workflows::Queue::Normal));
            pollers.spawn(workflows::poll(Arc::clone(&shared), workflows::Queue::Sticky));
        }
        for _ in 0..activities {
            pollers.spawn(activities::poll(Arc::clone(&shared)));
        }
        Self { shared, stop, pollers }
    }

    /// Takes nothing more, and waits for what is under way, but not longer than this.
    pub(crate) async fn stop(mut self, patience: Duration) {
        // Whoever polls hears it; nobody is left to hear it otherwise.
        let _ = self.stop.send(true);
        while self.pollers.join_next().await.is_some() {}
        let Shared { slots, busy, .. } = &*self.shared;
        let answered = async {
            let _answers = busy.acquire_many(u32::try_from(BUSY_MAX).unwrap_or(u32::MAX)).await;
            report::leave(&self.shared).await;
        };
        tokio::select! {
            _ = futures_util::future::join(answered, slots.empty()) => {}
            () = self.shared.clock.sleep(patience) => {}
        }
    }
}

/// Does a piece of work here and now as far as it goes without waiting, and the rest in the
/// background. Most of it is short, and would wait longer for its turn than it takes.
fn begin(work: impl Future<Output = ()> + Send + 'static) {
    let mut work = Box::pin(work);
    if work.as_mut().now_or_never().is_none() {
        tokio::spawn(work);
    }
}

impl Shared {
    /// What all attempts share.
    fn surroundings(&self) -> Surroundings {
        let (states, door) = (self.states.clone(), self.door.clone());
        Surroundings { states, door, stop: self.stop.clone() }
    }

    /// Waits until the worker is to stop.
    async fn stopped(&self) {
        let mut stop = self.stop.clone();
        // An error means that the worker is gone.
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// Waits until the worker is no more.
    async fn gone(&self) {
        let mut stop = self.stop.clone();
        while stop.changed().await.is_ok() {}
    }

    /// Waits before the same poll is made again. Says whether that makes sense.
    async fn rest(&self, error: &Error, failures: &mut u32) -> bool {
        if error.code == Code::Unavailable && self.door.engine().is_some() {
            // The engine in this process has stopped, and does not come back.
            return false;
        }
        tracing::warn!(%error, failures, "the server did not answer a poll");
        tokio::select! {
            () = self.pause(failures) => true,
            () = self.stopped() => false,
        }
    }

    /// Waits the longer the more failures there were, of which there is one more.
    async fn pause(&self, failures: &mut u32) {
        *failures = failures.saturating_add(1);
        let span = Duration::from_millis(100).saturating_mul(1 << (*failures).min(6));
        self.clock.sleep(span).await;
    }
}

/// More answers than wait for local activities at any time.
const BUSY_MAX: usize = 1 << 20;
