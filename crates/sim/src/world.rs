//! What all actors of a simulation share.

use std::{collections::BTreeSet, future::Future, sync::Arc, time::Duration};

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
    /// What it has that not all have.
    parts: BTreeSet<Part>,
}

impl World {
    /// The world of a seed. Must be made inside the runtime of the simulation.
    pub(crate) fn new(seed: u64, shown: bool, scenario: Scenario) -> Self {
        let chance = Chance::root(seed);
        let clock = Arc::new(SimClock::new());
        let faults = Arc::new(Faults::new(chance.child("store faults")));
        let parts = scenario.draw(&chance);
        let medium = if parts.contains(&Part::File) { Medium::file() } else { Medium::memory() };
        let host = Host::new(medium, Arc::clone(&clock), Arc::clone(&faults), &chance);
        let (ledger, log) = (Ledger::default(), Log::new(shown));
        Self { host, clock, faults, ledger, log, chance, parts }
    }

    /// Whether it has this.
    pub(crate) fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
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
