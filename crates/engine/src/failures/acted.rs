//! What an operator has done about errors, and what came of it for each.

use std::{collections::BTreeMap, time::Duration};

use steadfast_core::ActivityChange;
use steadfast_proto::common::Payload;

use super::{ErrorId, Who};
use crate::error::Error;

/// How parked work is to go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resume {
    /// Who resumes it, and why.
    pub who: Who,
    /// A second resume with the same id changes nothing; empty for none.
    pub request_id: String,
    /// Whether its policy counts anew.
    pub reset_attempts: bool,
    /// Whether it forgets how far it had come.
    pub reset_heartbeat: bool,
    /// Whether it has a new idempotency key from now on.
    pub rekey: bool,
    /// Over how long the starts are spread.
    pub spread: Duration,
    /// Header fields for the next attempt alone.
    pub metadata: BTreeMap<String, Payload>,
    /// What is different from now on.
    pub change: ActivityChange,
}

impl Resume {
    /// Whether it goes on otherwise than it was: with another input or policy, or with metadata.
    pub(crate) fn has_changes(&self) -> bool {
        self.change != ActivityChange::default() || !self.metadata.is_empty()
    }
}

/// What came of it for one error.
#[derive(Clone, Debug, PartialEq)]
pub struct Acted {
    /// The error.
    pub id: ErrorId,
    /// The workflow that it belongs to.
    pub workflow_id: String,
    /// The run.
    pub run_id: String,
    /// The run that goes on in its place, if it was reset; empty otherwise. Or why nothing was done.
    pub outcome: Result<String, Error>,
}
