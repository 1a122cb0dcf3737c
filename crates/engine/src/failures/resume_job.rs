//! A bulk resume: many errors, resumed at a chosen pace, the first few to see whether it helps.
//!
//! ```text
//!   chosen ──▶ canaries ──▶ all settled? ──▶ the rest, at its rate ──▶ all settled? ──▶ done
//!                             │ too many have failed again: stopped      │
//!                             └──────────────────────────────────────────┘
//! ```

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast_core::ActivityChange;

use super::{JobReport, Resume, Selection, Who, book::refuse, ramp};
use crate::{
    error::Error,
    jobs::{Job, Jobs},
};

/// All bulk resumes.
pub(crate) type ResumeJobs = Jobs<ResumeJob>;

/// A bulk resume as somebody asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct NewResumeJob {
    /// Its name; made when empty.
    pub id: String,
    /// Which errors.
    pub selection: Selection,
    /// How each is resumed. Its request id is the job's.
    pub resume: Resume,
    /// How many are resumed first, and waited for; 0 for none.
    pub canary: u32,
    /// How many are resumed a second.
    pub rate: JobRate,
    /// The share of resumed errors, from 0 to 1, above which the job stops; 1 for never.
    pub max_failures: f64,
    /// Which of them come first.
    pub order: JobOrder,
}

/// How many errors a job resumes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JobRate {
    /// So many.
    Fixed(f64),
    /// As many as go well: faster while they do, slower when they fail again.
    Auto,
}

/// Which errors come first.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, prost::Enumeration)]
#[serde(rename_all = "snake_case")]
#[repr(i32)]
pub enum JobOrder {
    /// Those that failed longest ago.
    Oldest = 0,
    /// Those that failed last.
    Newest = 1,
    /// Those that must have ended soonest: by the time that the activity or its run may take, or that
    /// it is kept. Those without an end come last, the oldest first.
    Deadline = 2,
    /// The most urgent by their priority, then the oldest.
    Priority = 3,
}

/// What a bulk resume is about.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize, prost::Enumeration)]
#[serde(rename_all = "snake_case")]
#[repr(i32)]
pub enum JobState {
    /// It goes on.
    Running = 0,
    /// Somebody holds it.
    Paused = 1,
    /// All were resumed, and have settled.
    Completed = 2,
    /// Somebody ended it.
    Stopped = 3,
    /// Too many have failed again.
    TooManyFailures = 4,
}

/// How a bulk resume goes.
#[derive(Clone, Debug, PartialEq)]
pub struct JobProgress {
    /// Its name.
    pub id: String,
    /// What it is about.
    pub state: JobState,
    /// Who began it, and why.
    pub who: Who,
    /// When it was begun, in nanoseconds since the epoch.
    pub started_at: i64,
    /// When it ended; 0 while it has not.
    pub closed_at: i64,
    /// How many errors it is for.
    pub total: u64,
    /// How many it has resumed.
    pub resumed: u64,
    /// How many could not be resumed: they had gone on, or were gone.
    pub refused: u64,
    /// How many are done since.
    pub succeeded: u64,
    /// How many have failed again.
    pub failed: u64,
    /// How many it resumes first.
    pub canary: u32,
    /// How many it resumes a second.
    pub rate: f64,
    /// Whether it finds that out by itself.
    pub is_auto: bool,
    /// The share of failures at which it stops.
    pub max_failures: f64,
    /// How long it still takes at its rate.
    pub left: Duration,
    /// Why some could not be resumed, the commonest first.
    pub refusals: Vec<JobReport>,
    /// Of what some have failed again, the commonest first.
    pub failures: Vec<JobReport>,
}

/// What is kept of a bulk resume. A tag is never reused.
#[expect(clippy::struct_excessive_bools, reason = "each is stored under a tag of its own")]
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ResumeJob {
    #[prost(enumeration = "JobState", tag = "1")]
    pub(crate) state: i32,
    #[prost(int64, tag = "2")]
    pub(crate) started_at: i64,
    #[prost(int64, tag = "3")]
    pub(crate) closed_at: i64,
    #[prost(string, tag = "4")]
    pub(crate) identity: String,
    #[prost(string, tag = "5")]
    pub(crate) reason: String,
    #[prost(uint64, tag = "6")]
    pub(crate) total: u64,
    /// How many of them had their turn.
    #[prost(uint64, tag = "7")]
    pub(crate) turns: u64,
    #[prost(uint64, tag = "8")]
    pub(crate) refused: u64,
    /// Of how many, from the first on, it is known what became of them.
    #[prost(uint64, tag = "9")]
    pub(crate) settled: u64,
    #[prost(uint64, tag = "10")]
    pub(crate) succeeded: u64,
    #[prost(uint64, tag = "11")]
    pub(crate) failed: u64,
    #[prost(uint32, tag = "12")]
    pub(crate) canary: u32,
    #[prost(double, tag = "13")]
    pub(crate) rate: f64,
    #[prost(double, tag = "14")]
    pub(crate) max_failures: f64,
    #[prost(bool, tag = "15")]
    pub(crate) reset_attempts: bool,
    #[prost(bool, tag = "16")]
    pub(crate) reset_heartbeat: bool,
    #[prost(btree_map = "string, message", tag = "17")]
    pub(crate) metadata: std::collections::BTreeMap<String, steadfast_proto::common::Payload>,
    #[prost(message, optional, tag = "18")]
    pub(crate) input: Option<steadfast_proto::common::Payloads>,
    /// Another policy, as JSON.
    #[prost(string, optional, tag = "19")]
    pub(crate) policy: Option<String>,
    #[prost(message, optional, tag = "20")]
    pub(crate) options: Option<steadfast_proto::activity::ActivityOptions>,
    /// Which of the options are other ones.
    #[prost(string, repeated, tag = "21")]
    pub(crate) mask: Vec<String>,
    #[prost(bool, tag = "22")]
    pub(crate) rekey: bool,
    /// Why some could not be resumed.
    #[prost(message, repeated, tag = "23")]
    pub(crate) refusals: Vec<JobReport>,
    /// Of what some have failed again.
    #[prost(message, repeated, tag = "24")]
    pub(crate) failures: Vec<JobReport>,
    /// Whether the rate is found out by itself.
    #[prost(bool, tag = "25")]
    pub(crate) is_auto: bool,
    /// How many of them have had their turn, or may have had it.
    #[prost(uint64, tag = "26")]
    pub(crate) begun: u64,
}

/// Some of the errors that a job is for.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Targets {
    #[prost(message, repeated, tag = "1")]
    pub(crate) all: Vec<Target>,
}

/// An error that a job is for.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Target {
    #[prost(int64, tag = "1")]
    pub(crate) run: i64,
    #[prost(sint64, tag = "2")]
    pub(crate) subject: i64,
    /// How often it had been tried before the job.
    #[prost(uint32, tag = "3")]
    pub(crate) attempts: u32,
}

impl NewResumeJob {
    /// Refuses what cannot be done, and tells all that is wrong.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut faults = Vec::new();
        faults.extend(self.rate.fault());
        if !(0.0..=1.0).contains(&self.max_failures) {
            faults.push("maxFailures must be a share from 0 to 1".to_owned());
        }
        if self.id.contains('/') {
            faults.push("id must not contain a slash".to_owned());
        }
        refuse(faults)
    }
}

impl JobRate {
    /// What is wrong with it.
    pub(crate) fn fault(self) -> Option<String> {
        let is_good = match self {
            Self::Fixed(rate) => rate.is_finite() && rate > 0.0 && rate <= RATE_MAX,
            Self::Auto => true,
        };
        let fault = || format!("rate must be above 0 and at most {RATE_MAX} a second, or auto");
        (!is_good).then(fault)
    }

    /// How many a second to begin with.
    pub(crate) fn first(self) -> f64 {
        match self {
            Self::Fixed(rate) => rate,
            Self::Auto => ramp::FLOOR,
        }
    }
}

impl ResumeJob {
    pub(crate) fn of(new: &NewResumeJob, total: u64, now: i64) -> Self {
        let Resume { who, reset_attempts, reset_heartbeat, rekey, metadata, change, .. } =
            new.resume.clone();
        Self {
            state: JobState::Running.into(),
            started_at: now,
            identity: who.identity,
            reason: who.reason,
            total,
            canary: new.canary,
            rate: new.rate.first(),
            is_auto: new.rate == JobRate::Auto,
            max_failures: new.max_failures,
            reset_attempts,
            reset_heartbeat,
            rekey,
            metadata,
            input: change.input,
            policy: change.policy,
            options: (!change.mask.is_empty()).then_some(change.options),
            mask: change.mask,
            ..Self::default()
        }
    }

    /// How it resumes each.
    pub(crate) fn resume(&self, id: &str) -> Resume {
        Resume {
            who: Who { identity: self.identity.clone(), reason: self.reason.clone() },
            request_id: id.to_owned(),
            reset_attempts: self.reset_attempts,
            reset_heartbeat: self.reset_heartbeat,
            rekey: self.rekey,
            spread: Duration::ZERO,
            metadata: self.metadata.clone(),
            change: ActivityChange {
                policy: self.policy.clone(),
                options: self.options.clone().unwrap_or_default(),
                mask: self.mask.clone(),
                input: self.input.clone(),
            },
        }
    }

    /// How many may have had their turn before more is known of them.
    pub(crate) fn gate(&self) -> u64 {
        let canary = u64::from(self.canary).min(self.total);
        if self.settled < canary { canary } else { self.total }
    }

    pub(crate) fn progress(&self, id: String) -> JobProgress {
        let left = count(self.total.saturating_sub(self.turns)) / self.rate;
        let left = Duration::try_from_secs_f64(left);
        JobProgress {
            id,
            state: self.state(),
            who: Who { identity: self.identity.clone(), reason: self.reason.clone() },
            started_at: self.started_at,
            closed_at: self.closed_at,
            total: self.total,
            resumed: self.turns - self.refused,
            refused: self.refused,
            succeeded: self.succeeded,
            failed: self.failed,
            canary: self.canary,
            rate: self.rate,
            is_auto: self.is_auto,
            max_failures: self.max_failures,
            left: left.unwrap_or(Duration::MAX),
            refusals: JobReport::told(&self.refusals),
            failures: JobReport::told(&self.failures),
        }
    }
}

impl Job for ResumeJob {
    const KIND: &'static str = "resume";
    const KINDS: &'static str = "resumes";

    fn is_running(&self) -> bool {
        matches!(self.state(), JobState::Running | JobState::Paused)
    }

    fn started_at(&self) -> i64 {
        self.started_at
    }

    fn total(&self) -> u64 {
        self.total
    }
}

/// A count as a number to reckon with. Beyond four billions it is an estimate.
pub(crate) fn count(number: u64) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Errors that may be resumed a second.
const RATE_MAX: f64 = 10_000.0;
