//! What is asked about errors, and what is answered.

use std::collections::BTreeMap;

use steadfast_retry::Timestamp;

use crate::{
    error_rows::{ErrorRow, ErrorState},
    rows::{RunIdentity, RunNumber},
};

/// Which errors are meant. What is not said is not asked; what is said must all hold.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ErrorFilter {
    /// In one of these states; empty is any.
    pub states: Vec<ErrorState>,
    /// Of runs of this type.
    pub workflow_type: Option<String>,
    /// Of activities of this type.
    pub activity_type: Option<String>,
    /// With exactly this cause.
    pub cause: Option<String>,
    /// With this somewhere in the cause, in the same case.
    pub cause_contains: Option<String>,
    /// With this type of failure.
    pub error_type: Option<String>,
    /// With this fingerprint.
    pub fingerprint: Option<u64>,
    /// Acknowledged, or not.
    pub acknowledged: Option<bool>,
    /// That failed for the last time at this time or later.
    pub since: Option<Timestamp>,
    /// That failed for the last time before this time.
    pub until: Option<Timestamp>,
    /// Of runs with this workflow id.
    pub workflow_id: Option<String>,
    /// These alone; empty is any.
    pub ids: Vec<ErrorId>,
    /// Tried this often or more.
    pub min_attempts: u32,
}

/// What names an error: its run and its [subject](crate::ErrorWrite::subject).
pub type ErrorId = (RunNumber, i64);

/// An error, and what it belongs to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ErrorEntry {
    /// The run's number.
    pub run: RunNumber,
    /// What of the run it is about.
    pub subject: i64,
    /// The run's names.
    pub identity: RunIdentity,
    /// What is said about it.
    pub row: ErrorRow,
}

/// A place in a listing of errors, which is ordered by the last failure.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ErrorPosition {
    /// When it failed for the last time.
    pub last_at: Timestamp,
    /// The run's number.
    pub run: RunNumber,
    /// What of the run it is about.
    pub subject: i64,
}

/// One page of errors.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ErrorListing {
    /// The errors, in order.
    pub errors: Vec<ErrorEntry>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<ErrorPosition>,
}

/// What errors are put together by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ErrorGroup {
    /// The type of their workflow.
    WorkflowType,
    /// The types of their workflow and their activity.
    Activity,
    /// Their exact cause.
    Cause,
    /// Their fingerprint.
    Fingerprint,
}

/// Errors that have something in common.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ErrorGroupRow {
    /// One of them: what they have in common is in its row. It is of the newest run among them,
    /// and of what was scheduled last in it.
    pub example: ErrorEntry,
    /// How many there are.
    pub count: u64,
    /// When the first of them failed for the first time.
    pub first_at: Timestamp,
    /// When the last of them failed for the last time.
    pub last_at: Timestamp,
    /// How many of them are acknowledged.
    pub acknowledged: u64,
    /// How many of them are in which state.
    pub states: BTreeMap<ErrorState, u64>,
}

impl ErrorEntry {
    /// Where it is in a listing.
    pub const fn position(&self) -> ErrorPosition {
        ErrorPosition { last_at: self.row.last_at, run: self.run, subject: self.subject }
    }
}
