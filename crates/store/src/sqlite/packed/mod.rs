//! Commits that are durable as they came, and not in the tables yet.
//!
//! ```text
//!   commit ──▶ [ packed_commits ]  one row, one fsync ──▶ answered
//!                     │
//!                     │  many commits later, or when a read needs it, or nobody writes
//!                     ▼
//!              [ runs, items, events, visibility, ... ]  each run once
//! ```
//!
//! A run that is busy is written with each of its steps, and a step is a dozen places all over the file.
//! So a commit is first written as it is, in a row of its own; what it changes waits in memory, folded by
//! run, until it is *unpacked* into the tables. A short workflow is then written there once, as it ended.
//! What has waited goes away in the transaction that unpacks it, so a crash loses nothing and does
//! nothing twice.
//!
//! Nobody outside of this backend sees any of it: a read that could miss something that waits has it
//! unpacked first.

mod admission;
mod message;
mod unpack;
mod waiting;
mod writer;

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rusqlite::Connection;

use self::waiting::Marks;
use super::{crew::Moment, fault::Fault};
use crate::rows::{Lookup, RunNumber};

pub(super) use self::{unpack::unpack, waiting::Waiting, writer::pack};

/// How long nobody writes until what waits is unpacked: then there is time for it, and who looks at the
/// file with other tools sees all of it.
pub(super) const IDLE: Duration = Duration::from_millis(100);

/// What waits to be unpacked.
#[derive(Debug)]
pub(super) struct Packed {
    /// The writer's. Nobody else takes this lock for long.
    waiting: Mutex<Waiting>,
    /// What readers are told of it.
    marks: Mutex<Marks>,
    /// Whether what waits in memory is all that waits in the file. It is not before the shards were
    /// acquired, nor once somebody else has them.
    is_ours: AtomicBool,
    bytes_max: usize,
}

/// What a read is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Concern<'a> {
    /// Any run.
    Everything,
    /// One run.
    Run(RunNumber),
    /// The runs of one workflow id in a namespace.
    WorkflowId(&'a str, &'a str),
}

impl Packed {
    /// Nothing yet. So many bytes may wait.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            marks: Mutex::default(),
            is_ours: AtomicBool::default(),
            bytes_max,
        }
    }

    /// Whether a read would miss something that waits.
    pub(super) fn concerns(&self, read: Concern<'_>) -> bool {
        !self.is_ours.load(Ordering::Acquire) || lock(&self.marks).concern(read)
    }

    /// The shards were acquired, or are lost.
    pub(super) fn set_ours(&self, is_ours: bool) {
        self.is_ours.store(is_ours, Ordering::Release);
    }

    /// For the writer.
    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// Readers are told of what waits by now. To be called before the commit is answered.
    pub(super) fn tell(&self, waiting: &Waiting) {
        waiting.tell_newest(&mut lock(&self.marks));
    }

    /// Nothing waits any more.
    pub(super) fn forget(&self, waiting: &mut Waiting) {
        *waiting = Waiting::default();
        *lock(&self.marks) = Marks::default();
    }

    /// Whether it is time: enough has come, or has waited for long enough, or nobody writes.
    pub(super) fn is_due(&self, moment: Moment) -> bool {
        self.waiting().is_due(self.bytes_max, moment)
    }

    /// Whether anything waits that is known of.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Unpacks whatever waits in the file. Tells whether that was anything.
    pub(super) fn unpack_all(&self, db: &mut Connection) -> Result<bool, Fault> {
        let mut waiting = self.waiting();
        let tx = super::commit::begin(db)?;
        let done = unpack(&tx, &mut waiting)
            .and_then(|any| tx.commit().map(|()| any).map_err(Fault::from));
        match done {
            Ok(any) => {
                self.forget(&mut waiting);
                Ok(any)
            }
            Err(fault) => {
                waiting.has_failed();
                Err(fault)
            }
        }
    }
}

impl<'a> Concern<'a> {
    /// Looking for a run.
    pub(super) fn of(lookup: &'a Lookup) -> Self {
        match lookup {
            Lookup::Number(run) => Self::Run(*run),
            Lookup::Current { namespace, workflow_id } => Self::WorkflowId(namespace, workflow_id),
            Lookup::Run(names) => Self::WorkflowId(&names.namespace, &names.workflow_id),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
