//! The rows of what has failed and is not settled: one for each activity, workflow task or run that
//! is in trouble. Nothing is written for what never fails.

use steadfast_retry::Timestamp;
use xxhash_rust::xxh3::xxh3_64;

/// What becomes of an error next. The numbers are stored: never reuse one.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u8)]
pub enum ErrorState {
    /// It waits for its next attempt, or is at it.
    #[default]
    Retrying = 1,
    /// It waits for a resume.
    Parked = 2,
    /// The run has closed, and can be resumed from where it failed.
    Failed = 3,
    /// It was given up, and is kept to be looked at.
    Dead = 4,
}

/// What has failed, how often, with what, and what comes next. Which one it is (its run and its
/// subject) is said beside it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ErrorRow {
    /// The type of the run's workflow.
    pub workflow_type: String,
    /// The activity's id; empty if it is none.
    pub activity_id: String,
    /// The activity's type; empty if it is none.
    pub activity_type: String,
    /// What kind of action it is, if its author said so.
    pub kind: String,
    /// What becomes of it next.
    pub state: ErrorState,
    /// How many attempts were made.
    pub attempts: u32,
    /// The type of the last failure.
    pub error_type: String,
    /// The message of the last failure.
    pub cause: String,
    /// Equal for failures that differ only in numbers, ids and quoted text.
    pub fingerprint: u64,
    /// When it failed for the first time.
    pub first_at: Timestamp,
    /// When it failed for the last time.
    pub last_at: Timestamp,
    /// When the next attempt is due, or the next resume.
    pub next_at: Option<Timestamp>,
    /// Which policy resumes it, or why it is as it is.
    pub reason: String,
    /// Who has seen to it, if somebody has.
    pub acknowledged: Option<Acknowledged>,
    /// How often it was resumed.
    pub resumes: u32,
}

/// That somebody has seen to an error, so that nothing is done about it by itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Acknowledged {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
}

/// One error written, or settled (`row` is `None`).
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ErrorWrite {
    /// What of the run it is about: an activity by its scheduled event id, 0 for the run itself,
    /// -1 for its workflow task.
    pub subject: i64,
    /// The new content; `None` deletes, and deleting what is not there is fine.
    pub row: Option<ErrorRow>,
}

impl ErrorState {
    /// Every state, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Retrying, Self::Parked, Self::Failed, Self::Dead];

    /// The number that is stored.
    pub const fn number(self) -> u8 {
        match self {
            Self::Retrying => 1,
            Self::Parked => 2,
            Self::Failed => 3,
            Self::Dead => 4,
        }
    }

    /// The state that is stored as `number`.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|state| i64::from(state.number()) == number)
    }

    /// Its name, everywhere that people see it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retrying => "retrying",
            Self::Parked => "parked",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }

    /// The state with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl ErrorRow {
    /// One number for each cause: stored beside it, so that errors are found and grouped by their
    /// exact cause without long texts in an index.
    pub(crate) fn cause_hash(cause: &str) -> i64 {
        xxh3_64(cause.as_bytes()).cast_signed()
    }
}
