//! What breaks, and when: bursts of trouble with the disk, until faults stop for good.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use steadfast_store::Error;
use tokio::sync::Notify;

use crate::chance::Chance;

/// What breaks, and when.
#[derive(Debug)]
pub(crate) struct Faults {
    chance: Mutex<Chance>,
    /// How many commits of a hundred meet trouble now.
    writes: AtomicU64,
    /// How many reads of a hundred meet trouble now.
    reads: AtomicU64,
    /// Whether commits may be torn: something that no store may do.
    tears: AtomicBool,
    over: AtomicBool,
    /// How often something was made to fail.
    made: AtomicU64,
    /// How many writes there were, of whatever kind.
    writes_seen: AtomicU64,
    /// At which write the plug is pulled; 0 for none.
    cut_at: AtomicU64,
    cut: Mutex<Cut>,
    /// Told when the plug was pulled.
    pulled: Notify,
}

/// When the plug is pulled.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Cut {
    /// Just before a write.
    #[default]
    Before,
    /// Just after it: nobody hears that it was done.
    After,
}

/// What happens to a commit.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It is done, after a while.
    Done(Duration),
    /// It is done at once, but its answer takes a while.
    Quiet(Duration),
    /// It is not done, and says so.
    Refused(Duration, Error),
    /// It is done, and says that it does not know.
    Muddled(Duration, Error),
}

/// What happens to a read.
#[derive(Debug)]
pub(crate) enum Sight {
    /// It sees what is there when it answers.
    Late(Duration),
    /// It sees what was there when it was asked.
    Stale(Duration),
    /// It fails.
    Blind(Duration, Error),
}

impl Faults {
    /// Nothing breaks until [`burst`](Self::burst).
    pub(crate) fn new(chance: Chance) -> Self {
        Self {
            chance: Mutex::new(chance),
            writes: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            tears: AtomicBool::new(false),
            over: AtomicBool::new(false),
            made: AtomicU64::new(0),
            writes_seen: AtomicU64::new(0),
            cut_at: AtomicU64::new(0),
            cut: Mutex::default(),
            pulled: Notify::new(),
        }
    }

    /// Has the plug pulled at a write, counted from 1.
    pub(crate) fn cut_at(&self, write: u64, cut: Cut) {
        self.cut_at.store(write, Ordering::Relaxed);
        *self.cut.lock().unwrap_or_else(PoisonError::into_inner) = cut;
    }

    /// How many writes there were.
    pub(crate) fn writes_seen(&self) -> u64 {
        self.writes_seen.load(Ordering::Relaxed)
    }

    /// Counts a write. If the plug is pulled at it, says when.
    pub(crate) fn count_write(&self) -> Option<Cut> {
        let number = self.writes_seen.fetch_add(1, Ordering::Relaxed) + 1;
        let is_cut = number == self.cut_at.load(Ordering::Relaxed);
        is_cut.then(|| *self.cut.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Pulls the plug.
    pub(crate) fn pull(&self) {
        self.pulled.notify_one();
    }

    /// Waits until the plug is pulled.
    pub(crate) async fn are_pulled(&self) {
        self.pulled.notified().await;
    }

    /// From now on so many of a hundred commits and reads meet trouble.
    pub(crate) fn burst(&self, writes: u64, reads: u64) {
        self.writes.store(writes, Ordering::Relaxed);
        self.reads.store(reads, Ordering::Relaxed);
    }

    /// From now on some commits lose a part of what they were to write, and nobody is told.
    pub(crate) fn tear(&self) {
        self.tears.store(true, Ordering::Relaxed);
    }

    /// Whether the next commit is torn.
    pub(crate) fn is_torn(&self) -> bool {
        if !self.tears.load(Ordering::Relaxed) || self.are_over() {
            return false;
        }
        self.chance.lock().unwrap_or_else(PoisonError::into_inner).percent(5)
    }

    /// Nothing breaks any more, and everybody behaves.
    pub(crate) fn end(&self) {
        self.burst(0, 0);
        self.over.store(true, Ordering::Relaxed);
    }

    /// Whether faults have stopped for good.
    pub(crate) fn are_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// How often something was made to fail.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// What happens to the next commit.
    pub(crate) fn fate(&self) -> Fate {
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = disk(&mut chance);
        if !chance.percent(self.writes.load(Ordering::Relaxed)) {
            return if chance.percent(50) { Fate::Done(wait) } else { Fate::Quiet(wait) };
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        match chance.below(6) {
            0 => Fate::Refused(wait, Error::Busy("simulated".to_owned())),
            1 => Fate::Refused(wait, Error::Full("simulated".to_owned())),
            2 => Fate::Refused(wait, Error::Io("simulated, not applied".to_owned())),
            3 => Fate::Done(chance.millis(100, 4_000)),
            4 => Fate::Quiet(chance.millis(100, 4_000)),
            _ => Fate::Muddled(wait, Error::Io("simulated, applied".to_owned())),
        }
    }

    /// What happens to the next read.
    pub(crate) fn sight(&self) -> Sight {
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = disk(&mut chance);
        if !chance.percent(self.reads.load(Ordering::Relaxed)) {
            return if chance.percent(50) { Sight::Late(wait) } else { Sight::Stale(wait) };
        }
        self.made.fetch_add(1, Ordering::Relaxed);
        match chance.below(4) {
            0 => Sight::Blind(wait, Error::Busy("simulated".to_owned())),
            1 => Sight::Blind(wait, Error::Io("simulated".to_owned())),
            2 => Sight::Late(chance.millis(50, 2_000)),
            _ => Sight::Stale(chance.millis(50, 2_000)),
        }
    }
}

/// How long a healthy disk takes: mostly next to nothing.
fn disk(chance: &mut Chance) -> Duration {
    if chance.percent(60) { Duration::ZERO } else { chance.millis(1, 8) }
}
