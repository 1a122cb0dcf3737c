//! What all actors of a simulation share.

use std::{future::Future, sync::Arc, time::Duration};

use steadfast_engine::{Engine, Error};

use crate::{
    chance::Chance,
    clock::SimClock,
    faults::Faults,
    host::{Host, Trouble},
    ledger::Ledger,
    log::Log,
    medium::Medium,
    scenario::{Part, Scenario},
};

/// What all actors of a simulation share.
#[derive(Debug)]
pub(crate) struct World {
    /// The simulated machine.
    pub(crate) host: Host,
    /// Its clock.
    pub(crate) clock: Arc<SimClock>,
    /// What breaks.
    pub(crate) faults: Arc<Faults>,
    /// What was promised.
    pub(crate) ledger: Ledger,
    /// What happened.
    pub(crate) log: Log,
    /// Where everybody's chance comes from.
    pub(crate) chance: Chance,
    /// Whether somebody sees to failures.
    pub(crate) has_steward: bool,
    /// Whether somebody resumes many at once, and somebody else is told of failures.
    pub(crate) has_foreman: bool,
    /// Whether workers may live in the engine's own process.
    pub(crate) has_own_workers: bool,
}

impl World {
    /// The world of a seed. Must be made inside the runtime of the simulation.
    pub(crate) fn new(seed: u64, shown: bool, scenario: Scenario) -> Self {
        let chance = Chance::root(seed);
        let clock = Arc::new(SimClock::new());
        let faults = Arc::new(Faults::new(chance.child("store faults")));
        let has = |part: Part, name: &str, worlds: u64| {
            part == Part::Sometimes && chance.child(name).percent(worlds)
        };
        let has_steward = has(scenario.steward, "steward", 60);
        let has_foreman = has_steward && has(scenario.foreman, "foreman", 60);
        let has_own_workers = has(scenario.own_workers, "own workers", 40);
        // Own workers are mostly those of a program with its data in a file.
        let has_file = has(scenario.file, "file", if has_own_workers { 60 } else { 15 });
        let medium = if has_file { Medium::file() } else { Medium::memory() };
        let host = Host::new(medium, Arc::clone(&clock), Arc::clone(&faults), &chance);
        let (ledger, log) = (Ledger::default(), Log::new(shown));
        Self { host, clock, faults, ledger, log, chance, has_steward, has_foreman, has_own_workers }
    }

    /// Writes a line in the log.
    pub(crate) fn note(&self, who: &str, what: &str) {
        self.log.line(self.clock.elapsed(), who, what);
    }

    /// Waits.
    pub(crate) async fn wait(&self, span: Duration) {
        self.clock.wait(span).await;
    }

    /// Calls the engine, again and again while the trouble is of the kind that passes.
    pub(crate) async fn insist<T, F>(
        &self,
        tries: u32,
        what: impl Fn(Engine) -> F,
    ) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Error>>,
    {
        for _ in 1..tries {
            match self.host.call(&what).await {
                Err(trouble) if trouble.is_passing() => {
                    self.wait(Duration::from_millis(300)).await;
                }
                answer => return answer,
            }
        }
        self.host.call(&what).await
    }

    /// Calls the engine, but walks away after a while.
    pub(crate) async fn hurry<T, F>(
        &self,
        patience: Duration,
        what: impl FnOnce(Engine) -> F,
    ) -> Result<T, Trouble>
    where
        F: Future<Output = Result<T, Error>>,
    {
        tokio::select! {
            biased;
            answer = self.host.call(what) => answer,
            () = self.wait(patience) => Err(Trouble::Lost),
        }
    }
}
