//! Where a worker lives: on a machine of its own, or in the engine's process, with which it dies.

use steadfast_engine::Engine;

use crate::{chance::Chance, host::Process, scenario::Part, world::World};

/// Where a worker lives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Home {
    /// On a machine of its own.
    Elsewhere,
    /// In a process of the engine.
    Inside(Process),
}

/// How a worker finds its home.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    is_own: bool,
}

impl Family {
    /// That of whoever has this name.
    pub(super) fn of(world: &World, who: &str) -> Self {
        let mut chance: Chance = world.chance.child(who).child("home");
        Self { is_own: world.has(Part::OwnWorkers) && chance.percent(75) }
    }

    /// Where it lives now; `None` if it does not, because the engine does not run.
    pub(super) fn home(self, world: &World) -> Option<Home> {
        if !self.is_own {
            return Some(Home::Elsewhere);
        }
        world.host.process().map(Home::Inside)
    }
}

impl Home {
    /// The engine, for somebody who lives here.
    pub(super) fn door(self, engine: &Engine) -> Engine {
        match self {
            Self::Elsewhere => engine.clone(),
            Self::Inside(_) => engine.for_own_workers().with_attempt_keys_alone(),
        }
    }

    /// Stays for as long as it can know how the engine's process ends.
    pub(super) async fn stay(self) {
        match self {
            Self::Elsewhere => {}
            Self::Inside(_) => std::future::pending().await,
        }
    }

    /// Does something here: `None` if whoever does it has died before it was done.
    pub(super) async fn live<T>(self, world: &World, work: impl Future<Output = T>) -> Option<T> {
        match self {
            Self::Elsewhere => Some(work.await),
            Self::Inside(process) => world.host.inside(process, work).await,
        }
    }
}
