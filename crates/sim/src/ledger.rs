//! What was promised: every answer that a client or a worker got, and every delivery it saw.
//!
//! The oracle holds the engine to it. Only what was acknowledged is a promise; a call that was cut
//! off may have been carried out or not.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use steadfast_engine::Timestamp;
use steadfast_proto::{enums::ScheduleOverlapPolicy, history::HistoryEvent};

/// What was promised.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    book: Mutex<Book>,
}

/// The pages of the ledger.
#[derive(Debug, Default)]
pub(crate) struct Book {
    /// Starts by request id.
    pub(crate) starts: BTreeMap<String, Start>,
    /// Signals by the text that they carry.
    pub(crate) signals: BTreeMap<String, Signal>,
    /// Cancel requests that were taken: the workflow id, the run id, and when by the latest time
    /// that the clock had shown.
    pub(crate) cancels: Vec<(String, String, Timestamp)>,
    /// Terminations by their reason: the workflow id, run id, and whether they were taken.
    pub(crate) terminations: BTreeMap<String, (String, String, bool)>,
    /// Updates that completed well, by update id: the workflow id, run id and outcome.
    pub(crate) updates: BTreeMap<String, (String, String, String)>,
    /// Ends of runs that somebody waited for and saw.
    pub(crate) closes: Vec<Close>,
    /// Attempts that a worker saw.
    pub(crate) deliveries: BTreeMap<Attempt, Delivery>,
    /// Attempts whose worker died with the engine's process before it had an answer.
    pub(crate) lost: BTreeSet<Attempt>,
    /// Deletions that were asked for, by run id.
    pub(crate) deletions: BTreeMap<String, Deletion>,
    /// Schedules by their ids.
    pub(crate) plans: BTreeMap<String, Plan>,
    /// Workflow ids whose activities an operator held back or let go. An attempt that ends while it
    /// is held back is followed by another one when it is let go, at once, even if it was the last.
    pub(crate) held: BTreeSet<String>,
    /// Whether somebody resumes activities, of whatever workflow: then they may be tried more often
    /// and earlier than their policies say.
    pub(crate) resumed: bool,
    /// What went against the rules along the way.
    pub(crate) faults: Vec<Fault>,
}

/// A start that was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    /// The workflow id.
    pub(crate) workflow_id: String,
    /// The runs that were said to be begun for it: always the same, if all is well.
    pub(crate) runs: Vec<String>,
}

/// A signal that was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signal {
    /// The workflow id.
    pub(crate) workflow_id: String,
    /// The run it was for; empty for the newest.
    pub(crate) run_id: String,
    /// Whether it was acknowledged.
    pub(crate) acknowledged: bool,
}

/// The end of a run, as it was shown to somebody who waited for it.
#[derive(Clone, Debug)]
pub(crate) struct Close {
    /// The workflow id.
    pub(crate) workflow_id: String,
    /// The run.
    pub(crate) run_id: String,
    /// Its last event.
    pub(crate) event: HistoryEvent,
}

/// An attempt of an activity.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Attempt {
    /// The run.
    pub(crate) run_id: String,
    /// The activity.
    pub(crate) activity_id: String,
    /// Which attempt, from 1.
    pub(crate) number: u32,
}

/// What is known of an attempt that a worker saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    /// The workflow id.
    pub(crate) workflow_id: String,
    /// The earliest moment at which it can have ended, by the engine's clock.
    pub(crate) over_at: Timestamp,
    /// The result that was acknowledged.
    pub(crate) completed: Option<String>,
}

/// A deletion that was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletion {
    /// The workflow id.
    pub(crate) workflow_id: String,
    /// Whether it was acknowledged: the run is gone, or will be.
    pub(crate) acknowledged: bool,
}

/// A schedule.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// How often it starts something.
    pub(crate) every: Duration,
    /// What becomes of a start while another run goes on.
    pub(crate) overlap: ScheduleOverlapPolicy,
    /// Whether nobody holds or triggers it.
    pub(crate) is_left_alone: bool,
    /// Whether it was said to be there.
    pub(crate) is_made: bool,
    /// When it was taken away, by the engine's clock.
    pub(crate) ended_at: Option<Timestamp>,
}

/// A rule that was broken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault {
    /// Which rule, and how.
    pub what: String,
    /// The workflow whose history tells more.
    pub workflow_id: String,
}

impl Book {
    /// Whether activities of this workflow may be tried more often than their policies say.
    pub(crate) fn is_held(&self, workflow_id: &str) -> bool {
        self.resumed || self.held.contains(workflow_id)
    }
}

impl Ledger {
    /// The pages.
    pub(crate) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a rule was broken.
    pub(crate) fn fault(&self, workflow_id: &str, what: impl Into<String>) {
        let fault = Fault { what: what.into(), workflow_id: workflow_id.to_owned() };
        self.book().faults.push(fault);
    }
}
