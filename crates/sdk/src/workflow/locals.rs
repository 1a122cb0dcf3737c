//! Local activities that the code waits for, and what history says of them.
//!
//! ```text
//!   the code asks ──▶ wanted ──▶ a worker runs it ──▶ mark ──▶ the code goes on
//!                                at a replay ───────▶ mark, read from history
//! ```
//!
//! A mark is a marker in history. Marks are given to the code one by one, in their order, so it sees
//! at a replay what it has seen before.

use std::{
    collections::{BTreeMap, VecDeque},
    time::{Duration, SystemTime},
};

use steadfast_proto::common::Payloads;

use super::{journal::State, mark::Mark};
use crate::policy::RetryPolicy;

/// What a worker is to do.
#[derive(Clone, Debug)]
pub(crate) struct LocalTask {
    pub(crate) activity_id: String,
    pub(crate) name: String,
    pub(crate) input: Option<Payloads>,
    pub(crate) policy: RetryPolicy,
    pub(crate) start_to_close: Option<Duration>,
    pub(crate) schedule_to_close: Option<Duration>,
    /// A wait that is longer is a timer in history.
    pub(crate) threshold: Duration,
    /// The attempt to begin with.
    pub(crate) attempt: u32,
    /// When the first of all attempts was asked for.
    pub(crate) scheduled_at: SystemTime,
}

/// One that the code waits for.
#[derive(Debug)]
struct Wanted {
    slot: u64,
    task: LocalTask,
    /// Asked for since the code was last at rest: no worker can have seen it.
    fresh: bool,
    /// It was asked to stop, and is waited for.
    stopping: bool,
}

/// All of a run.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    next: u32,
    wanted: BTreeMap<u32, Wanted>,
    /// Whether a worker should look.
    changed: bool,
    /// Waits before the next attempt that are timers, by slot.
    backoffs: BTreeMap<u64, Duration>,
    /// What history holds for this turn.
    ahead: VecDeque<Mark>,
}

impl Locals {
    /// The number of the next one, the same at every replay.
    pub(super) fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub(super) fn want(&mut self, seq: u32, slot: u64, task: LocalTask) {
        self.wanted.insert(seq, Wanted { slot, task, fresh: true, stopping: false });
        self.changed = true;
    }

    /// The code is at rest: workers can see what it asked for.
    pub(crate) fn rest(&mut self) {
        if self.changed {
            self.wanted.values_mut().for_each(|wanted| wanted.fresh = false);
        }
    }

    /// Nobody wants it any more, or it is asked to stop and waited for. Says whether there is
    /// something left to wait for.
    pub(super) fn stop(&mut self, seq: u32, waits: bool) -> bool {
        self.changed = true;
        match self.wanted.get_mut(&seq) {
            Some(wanted) if waits && !wanted.fresh => {
                wanted.stopping = true;
                true
            }
            _ => {
                self.wanted.remove(&seq);
                false
            }
        }
    }

    pub(crate) fn are_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Those that are wanted, if that has changed since this was asked: their numbers, what they are,
    /// and whether they are to stop.
    pub(crate) fn changes(&mut self) -> Option<Vec<(u32, LocalTask, bool)>> {
        let changed = std::mem::take(&mut self.changed);
        let wanted = self.wanted.iter();
        changed.then(|| wanted.map(|(seq, it)| (*seq, it.task.clone(), it.stopping)).collect())
    }

    /// What one that is wanted was asked for as.
    pub(crate) fn task(&self, seq: u32) -> Option<&LocalTask> {
        self.wanted.get(&seq).map(|wanted| &wanted.task)
    }

    /// What history holds for the turn that is replayed.
    pub(crate) fn look_ahead(&mut self, marks: impl Iterator<Item = Mark>) {
        self.ahead = marks.collect();
    }

    /// The next mark, if the code waits for what it marks.
    pub(crate) fn next_mark(&mut self) -> Option<Mark> {
        let next = self.ahead.front()?;
        if !self.wanted.contains_key(&next.seq) {
            return None;
        }
        self.ahead.pop_front()
    }

    pub(super) fn take_backoff(&mut self, slot: u64) -> Option<Duration> {
        self.backoffs.remove(&slot)
    }
}

impl State {
    /// One has ended: that goes into history, and the code goes on.
    pub(crate) fn local_ended(&mut self, mark: Mark) {
        let Some(wanted) = self.locals.wanted.remove(&mark.seq) else { return };
        if let Some(backoff) = mark.backoff {
            self.locals.backoffs.insert(wanted.slot, backoff);
        }
        if let Some(slot) = self.slot_mut(wanted.slot) {
            slot.attempt = mark.attempt;
        }
        self.now = self.now.max(mark.completed_at);
        let (command, outcome) = mark.record(wanted.task);
        self.tell(command);
        self.resolve(wanted.slot, outcome);
    }
}
