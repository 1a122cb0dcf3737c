//! What a simulation has besides what its seed decides.
//!
//! Some worlds have this and others that, as their seeds draw it. A part can be left out of all of them,
//! so that a seed that found something before the part was thought of still tells the same story.

use std::collections::BTreeSet;

use crate::chance::Chance;

/// What a simulation has besides what its seed decides.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Scenario {
    /// What kind of disk.
    pub disk: Disk,
    /// What no world has.
    pub without: &'static [Part],
}

/// What kind of disk a simulation has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Disk {
    /// It fails as disks do, and says so.
    #[default]
    Honest,
    /// It loses parts of commits and says nothing: whoever judges must find out.
    Torn,
}

/// Something that only some worlds have.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Part {
    /// Somebody sees to failures.
    Steward,
    /// Somebody resumes many at once, and somebody else is told of failures. Only where there is a
    /// steward.
    Foreman,
    /// Somebody makes schedules.
    Planner,
    /// Somebody deletes workflows.
    Cleaner,
    /// Workers live in the engine's own process, and die with it.
    OwnWorkers,
    /// The disk is a file, as in production, and not memory. Own workers write into it then, together
    /// with their results.
    File,
}

impl Part {
    /// All of them, those first that others depend on.
    const ALL: [Self; 6] =
        [Self::Steward, Self::Foreman, Self::Planner, Self::Cleaner, Self::OwnWorkers, Self::File];

    /// What its chance is drawn by.
    fn name(self) -> &'static str {
        match self {
            Self::Steward => "steward",
            Self::Foreman => "foreman",
            Self::Planner => "planner",
            Self::Cleaner => "cleaner",
            Self::OwnWorkers => "own workers",
            Self::File => "file",
        }
    }

    /// How many worlds of a hundred have it, of those that have these already.
    fn worlds(self, has: &BTreeSet<Self>) -> u64 {
        match self {
            Self::Foreman if !has.contains(&Self::Steward) => 0,
            Self::Steward | Self::Foreman => 60,
            Self::Planner | Self::Cleaner => 30,
            Self::OwnWorkers => 40,
            // Own workers are mostly those of a program with its data in a file.
            Self::File if has.contains(&Self::OwnWorkers) => 60,
            Self::File => 15,
        }
    }
}

impl Scenario {
    /// As little as there can be.
    pub(crate) fn bare() -> Self {
        Self { disk: Disk::Honest, without: &Part::ALL }
    }

    /// What a world has, by its chance.
    pub(crate) fn draw(self, chance: &Chance) -> BTreeSet<Part> {
        let mut has = BTreeSet::new();
        for part in Part::ALL.into_iter().filter(|part| !self.without.contains(part)) {
            if chance.child(part.name()).percent(part.worlds(&has)) {
                has.insert(part);
            }
        }
        has
    }
}
