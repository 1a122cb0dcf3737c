//! Where a worker lives: on a machine of its own, where it may give its word that it will be heard of, or
//! in the engine's process, with which it dies.

use std::time::Duration;

use steadfast_engine::Engine;

use crate::{chance::Chance, host::Process, scenario::Part, world::World};

/// Where a worker lives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Home {
    /// On a machine of its own. After so much silence it counts as lost; if that is zero, it has given
    /// no word.
    Elsewhere(Duration),
    /// In a process of the engine.
    Inside(Process),
}

/// How a worker finds its home.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    is_own: bool,
    silence_max: Duration,
}

impl Family {
    /// That of whoever has this name.
    pub(super) fn of(world: &World, who: &str) -> Self {
        let mut chance: Chance = world.chance.child(who).child("home");
        let is_own = world.has(Part::OwnWorkers) && chance.percent(75);
        let speaks = chance.percent(40);
        let silence_max = if speaks { chance.millis(400, 2_000) } else { Duration::ZERO };
        Self { is_own, silence_max }
    }

    /// Where it lives now; `None` if it does not, because the engine does not run.
    pub(super) fn home(self, world: &World) -> Option<Home> {
        if !self.is_own {
            return Some(Home::Elsewhere(self.silence_max));
        }
        world.host.process().map(Home::Inside)
    }
}

impl Home {
    /// The engine, for somebody who lives here.
    pub(super) fn door(self, engine: &Engine) -> Engine {
        match self {
            Self::Elsewhere(silence_max) => {
                engine.with_attempt_keys().with_signs_of_life(silence_max)
            }
            Self::Inside(_) => engine.for_own_workers().with_attempt_keys_alone(),
        }
    }

    /// Stays for as long as it can know how the engine's process ends.
    pub(super) async fn stay(self) {
        match self {
            Self::Elsewhere(_) => {}
            Self::Inside(_) => std::future::pending().await,
        }
    }

    /// Does something here: `None` if whoever does it has died before it was done.
    pub(super) async fn live<T>(self, world: &World, work: impl Future<Output = T>) -> Option<T> {
        match self {
            Self::Elsewhere(_) => Some(work.await),
            Self::Inside(process) => world.host.inside(process, work).await,
        }
    }
}
