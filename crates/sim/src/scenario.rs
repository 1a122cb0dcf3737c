//! What a simulation has besides what its seed decides.
//!
//! Each part is there in some worlds and not in others. It can be left out of all of them, so that a
//! seed that found something before the part was thought of still tells the same story.

/// What a simulation has besides what its seed decides.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Scenario {
    /// What kind of disk.
    pub disk: Disk,
    /// Whether somebody sees to failures.
    pub steward: Part,
    /// Whether somebody resumes many at once, and somebody else is told of failures. Only where there
    /// is a steward.
    pub foreman: Part,
    /// Whether workers live in the engine's own process, and die with it.
    pub own_workers: Part,
    /// Whether the disk is a file, as in production, and not memory. Own workers write into it then,
    /// together with their results.
    pub file: Part,
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

/// Whether a world has something.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Part {
    /// Some worlds have it.
    #[default]
    Sometimes,
    /// No world has it.
    Never,
}

impl Scenario {
    /// As little as there can be.
    pub(crate) fn bare() -> Self {
        Self {
            disk: Disk::Honest,
            steward: Part::Never,
            foreman: Part::Never,
            own_workers: Part::Never,
            file: Part::Never,
        }
    }
}
