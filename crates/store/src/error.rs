//! What can go wrong with a store, and what it means for the write that was under way.

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Somebody else holds the database; the write was not applied. Try again.
    #[error("the database is busy: {0}")]
    Busy(String),
    /// The disk is full; the write was not applied. Make room, the engine tries again.
    #[error("the disk is full: {0}")]
    Full(String),
    /// Reading or writing failed; whether the write was applied is unknown.
    #[error("the disk failed: {0}")]
    Io(String),
    /// Another process owns the shard now; the write was not applied and never will be.
    #[error("shard {shard} has epoch {found}, this process holds {held}: another one owns it now")]
    Fenced {
        /// Which shard.
        shard: u32,
        /// The epoch that the commit named.
        held: u64,
        /// The epoch in the store.
        found: u64,
    },
    /// Another process has the file open, and is alive. It was not changed.
    #[error(
        "{path} is open in another process{}: stop that one first, or use another file",
        process.map(|id| format!(" (process id {id})")).unwrap_or_default()
    )]
    InUse {
        /// Which file.
        path: String,
        /// Which process, if that is known.
        process: Option<u32>,
    },
    /// The file was taken away while it was open. What was written last may be nowhere.
    #[error(
        "{path} was removed, renamed or replaced while this process had it open: what is written now \
         would be lost. Put it back, or start again with the file that is there"
    )]
    Gone {
        /// Which file.
        path: String,
    },
    /// The file is not a healthy database of ours. Restore a backup; it was not changed.
    #[error("{path} is damaged and was not opened: {reason}")]
    Damaged {
        /// Which file.
        path: String,
        /// What was found.
        reason: String,
    },
    /// The data was written by a newer release. Use that one.
    #[error("the data has format {found}, this release reads up to {known}: use a newer release")]
    TooNew {
        /// The format found.
        found: u32,
        /// The newest one known.
        known: u32,
    },
    /// The write can never succeed: a rule of the store was broken. Nothing was applied.
    #[error("the store refused the write: {0}")]
    Rejected(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// What a failed commit left behind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Nothing was applied; the same batch may be tried again.
    NotApplied,
    /// It may have been applied; ask [`last_commit`](crate::Store::last_commit).
    Unknown,
    /// Nothing was applied where it would be found, and trying again is of no use.
    Final,
}

impl Error {
    /// What this error means for a commit that met it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Busy(_) | Self::Full(_) => Outcome::NotApplied,
            Self::Io(_) => Outcome::Unknown,
            Self::Fenced { .. }
            | Self::InUse { .. }
            | Self::Gone { .. }
            | Self::Damaged { .. }
            | Self::TooNew { .. }
            | Self::Rejected(_)
            | Self::Closed => Outcome::Final,
        }
    }

    /// Whether the same may be answered later, or by whoever owns the data then.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Busy(_)
            | Self::Full(_)
            | Self::Io(_)
            | Self::Fenced { .. }
            | Self::InUse { .. }
            | Self::Gone { .. }
            | Self::Closed => true,
            Self::Damaged { .. } | Self::TooNew { .. } | Self::Rejected(_) => false,
        }
    }
}
