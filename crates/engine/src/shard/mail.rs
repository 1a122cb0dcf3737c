//! What a shard is sent.

use std::fmt;

use steadfast_core::{Run, Timestamp};
use steadfast_store::{RunNumber, RunRows};
use tokio::sync::{mpsc, oneshot};

use super::job::{Address, Job};
use crate::{error::Error, rows::Unreadable, schedules};

/// A letter to a shard.
pub(crate) enum Mail {
    /// Do this.
    Job(Box<dyn Job>),
    /// This was read, for those who wait for it.
    Loaded(Box<Loaded>),
    /// These are due.
    Due(Result<Vec<(Timestamp, RunNumber)>, steadfast_store::Error>),
    /// These have work to hand out.
    Work(Result<Vec<RunNumber>, steadfast_store::Error>),
    /// The store will not have what this run has become.
    Refused(RunNumber),
    /// What was on its way when jobs had to be held back is durable.
    CaughtUp,
    /// What this run was to become together with an aside is durable.
    Settled(RunNumber),
    /// What this run was to become together with an aside, it does not become.
    Undone(RunNumber),
    /// Say so when all is durable that was done until now.
    WhenDurable(oneshot::Sender<()>),
    /// Finish what you have and go.
    Stop(oneshot::Sender<()>),
}

/// What came of reading a run.
pub(crate) struct Loaded {
    pub(crate) address: Address,
    /// How many runs the shard had let go of when the reading began.
    pub(crate) evictions: u64,
    /// How far the shard's works were durable when the reading began.
    pub(crate) durable: u64,
    pub(crate) outcome: Result<Option<(RunRows, Content)>, LoadError>,
}

/// What was read.
pub(crate) enum Content {
    /// A run.
    Run(Box<Run>),
    /// A schedule.
    Schedule(Box<schedules::Entry<Box<dyn Job>>>),
}

/// Why a run could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] steadfast_store::Error),
    /// Its rows make no sense.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl LoadError {
    /// Whether the same run may be readable later, or by whoever owns the data then.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Store(error) => error.may_pass(),
            Self::Unreadable(_) => false,
        }
    }
}

/// Where a shard is sent letters. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Mailbox {
    letters: mpsc::UnboundedSender<Mail>,
}

impl Mailbox {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Mail>) {
        let (letters, inbox) = mpsc::unbounded_channel();
        (Self { letters }, inbox)
    }

    pub(crate) fn send(&self, mail: Mail) {
        if let Err(mpsc::error::SendError(Mail::Job(job))) = self.letters.send(mail) {
            job.fail(Error::unavailable("the engine is stopping"));
        }
    }

    pub(crate) fn job(&self, job: impl Job + 'static) {
        self.send(Mail::Job(Box::new(job)));
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}
