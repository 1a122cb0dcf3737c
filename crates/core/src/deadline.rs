//! When a run must be looked at again.
//!
//! Every pending thing has at most one next deadline; the earliest of them all is what the store
//! keeps of the run, so that a sleeping run costs a row and no memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use steadfast_retry::Timestamp;

use crate::{
    span::kept,
    state::{Activity, State},
};

/// What is due. The order decides what comes first at one instant.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Deadline {
    /// The chain's time is over.
    Chain,
    /// The run's time is over.
    Run,
    /// The first workflow task may be scheduled.
    Backoff,
    /// The workflow task's time is over, or it is no longer held back.
    Task,
    /// A timer fires, by its started event.
    Timer(i64),
    /// Something about an activity, by its scheduled event.
    Activity(i64),
    /// The closed run, which failed, is resumed.
    Resume,
    /// The closed run may be deleted.
    Delete,
}

/// What is due about an activity. The order decides what comes first at one instant.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum ActivityDeadline {
    /// It is parked, and a policy resumes it.
    Resume,
    /// Its next attempt goes to the queue.
    Retry,
    /// This attempt took too long.
    StartToClose,
    /// No worker took it in time.
    ScheduleToStart,
    /// All its attempts together took too long.
    ScheduleToClose,
    /// Its worker has gone quiet.
    Heartbeat,
    /// It is parked, and is not kept any longer.
    Expire,
}

/// All deadlines of a run, earliest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    ordered: BTreeSet<(Timestamp, Deadline)>,
    by_subject: BTreeMap<Deadline, Timestamp>,
    /// Those of the run itself, as they were set last.
    of_run: [Option<Timestamp>; OF_RUN],
}

/// How many deadlines are not about a pending thing.
const OF_RUN: usize = 6;

impl Deadlines {
    /// The earliest.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.ordered.first().map(|(at, _)| *at)
    }

    /// Those at or before `now`, in order.
    pub(crate) fn due(&self, now: Timestamp) -> Vec<Deadline> {
        self.ordered.iter().take_while(|(at, _)| *at <= now).map(|(_, what)| *what).collect()
    }

    /// Sets or clears one.
    pub(crate) fn set(&mut self, what: Deadline, at: Option<Timestamp>) {
        if self.by_subject.get(&what).copied() == at {
            return;
        }
        if let Some(old) = self.by_subject.remove(&what) {
            self.ordered.remove(&(old, what));
        }
        if let Some(at) = at {
            self.by_subject.insert(what, at);
            self.ordered.insert((at, what));
        }
    }

    /// Sets or clears those of the run itself, always in one order. Most steps leave most of them as
    /// they are.
    pub(crate) fn set_of_run(&mut self, of_run: [(Deadline, Option<Timestamp>); OF_RUN]) {
        let before = std::mem::replace(&mut self.of_run, of_run.map(|(_, at)| at));
        for ((what, at), old) in of_run.into_iter().zip(before) {
            if at != old {
                self.set(what, at);
            }
        }
    }
}

impl Activity {
    /// What is due about it next, and when.
    pub(crate) fn deadline(&self) -> Option<(Timestamp, ActivityDeadline)> {
        let limits = self.timeouts();
        let row = &self.row;
        let whole = after(row.first_scheduled_at, limits.schedule_to_close)
            .filter(|_| !self.is_parked())
            .map(|at| (at, ActivityDeadline::ScheduleToClose));
        let attempt = if self.is_started() {
            let close = after(row.started_at, limits.start_to_close)
                .map(|at| (at, ActivityDeadline::StartToClose));
            let beat = after(self.silent_since().0, self.heard_within())
                .map(|at| (at, ActivityDeadline::Heartbeat));
            earlier(close, beat)
        } else if let Some(park) = &row.park {
            let resume = kept(park.resume_at).map(|at| at.max(Timestamp(park.held_until)));
            let resume = resume.map(|at| (at, ActivityDeadline::Resume));
            earlier(resume, kept(park.expires_at).map(|at| (at, ActivityDeadline::Expire)))
        } else if self.is_paused() {
            None
        } else if row.queued {
            after(row.scheduled_at, limits.schedule_to_start)
                .map(|at| (at, ActivityDeadline::ScheduleToStart))
        } else {
            Some((Timestamp(row.scheduled_at), ActivityDeadline::Retry))
        };
        earlier(attempt, whole)
    }

    /// From when the silence of its worker counts.
    pub(crate) fn silent_since(&self) -> Timestamp {
        let row = &self.row;
        Timestamp(row.last_heartbeat_at.max(row.started_at).max(row.listened_to_since))
    }
}

impl State {
    /// When the workflow task's time is over, be it to be done, to be taken or to be held back.
    pub(crate) fn task_deadline(&self) -> Option<Timestamp> {
        let task = self.task.as_ref()?;
        if task.is_started() {
            return Some(Timestamp(task.started_at.saturating_add(task.timeout)));
        }
        if task.parked {
            return None;
        }
        if let Some(held_until) = kept(task.held_until) {
            return Some(held_until);
        }
        let sticky = self.sticky.as_ref().filter(|_| task.sticky)?;
        Some(Timestamp(task.scheduled_at.saturating_add(sticky.timeout)))
    }

    /// When no run that failed is retried any more.
    pub(crate) fn retries_end(&self) -> Option<Timestamp> {
        let terms = self.cadence.and_then(|terms| kept(terms.expires_at));
        earlier(kept(self.chain_expires_at), terms)
    }

    /// The deadlines that are not about a pending thing.
    pub(crate) fn deadlines(&self) -> [(Deadline, Option<Timestamp>); OF_RUN] {
        let open = |nanos| kept(nanos).filter(|_| self.is_open());
        let waits = self.resume.as_ref().filter(|it| !it.handed_over);
        let resume = waits.map(|it| Timestamp(it.at.max(it.held_until)));
        [
            (Deadline::Chain, open(self.chain_expires_at)),
            (Deadline::Run, open(self.run_expires_at)),
            (Deadline::Backoff, open(self.backoff_until)),
            (Deadline::Task, self.task_deadline()),
            (Deadline::Resume, resume),
            // What is to go on is kept until it has.
            (Deadline::Delete, kept(self.delete_at).filter(|_| self.resume.is_none())),
        ]
    }
}

fn after(nanos: i64, span: Duration) -> Option<Timestamp> {
    (!span.is_zero()).then(|| Timestamp(nanos).after(span))
}

fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
