//! Something to be done with one workflow, by the shard that owns it.
//!
//! A job says whom it is for. The shard sees to it that this run is in memory, and then lets the
//! job do its work at a [`Desk`], alone and to its end: nothing else happens to the shard's runs
//! meanwhile. What the job wants to tell the world it leaves as a release.

use steadfast_store::RunNumber;

use super::desk::Desk;
use crate::error::Error;

/// Whom a job is for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Address {
    /// The newest run of a workflow id.
    Current {
        /// The namespace's id.
        namespace_id: String,
        /// The workflow id.
        workflow_id: String,
    },
    /// One run of a workflow id.
    Run {
        /// The namespace's id.
        namespace_id: String,
        /// The workflow id.
        workflow_id: String,
        /// The run id.
        run_id: String,
    },
    /// The run with this number.
    Number(RunNumber),
}

/// What must not be read twice at the same time.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum PendingKey {
    /// The runs of a workflow id.
    Workflow(String, String),
    /// The run with this number.
    Number(RunNumber),
}

/// Something to be done with one workflow.
pub(crate) trait Job: Send {
    /// Whom it is for.
    fn address(&self) -> &Address;

    /// Does it. `found` is the run that was asked for, if there is one.
    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>);

    /// Whether it must be done in the end, so that it is tried again when storage fails.
    fn must_be_done(&self) -> bool {
        false
    }

    /// Whether it waits while storage is behind. Others are refused then.
    fn waits_for_room(&self) -> bool {
        false
    }

    /// Whether it creates the workflow if there is none.
    fn creates(&self) -> bool {
        false
    }

    /// It could not be done.
    fn fail(self: Box<Self>, error: Error);
}

/// A job that waits while storage is behind.
pub(crate) struct Patient(pub(crate) Box<dyn Job>);

impl Job for Patient {
    fn address(&self) -> &Address {
        self.0.address()
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        self.0.run(desk, found);
    }

    fn must_be_done(&self) -> bool {
        self.0.must_be_done()
    }

    fn waits_for_room(&self) -> bool {
        true
    }

    fn creates(&self) -> bool {
        self.0.creates()
    }

    fn fail(self: Box<Self>, error: Error) {
        self.0.fail(error);
    }
}

impl Address {
    /// A run of a workflow id: the newest if `run_id` is empty.
    pub(crate) fn of(
        namespace_id: impl Into<String>,
        workflow_id: impl Into<String>,
        run_id: impl Into<String>,
    ) -> Self {
        let (namespace_id, workflow_id) = (namespace_id.into(), workflow_id.into());
        let run_id = run_id.into();
        if run_id.is_empty() {
            Self::Current { namespace_id, workflow_id }
        } else {
            Self::Run { namespace_id, workflow_id, run_id }
        }
    }

    /// The namespace's id and the workflow id, where it is by those.
    pub(crate) fn workflow(&self) -> Option<(&str, &str)> {
        match self {
            Self::Current { namespace_id, workflow_id }
            | Self::Run { namespace_id, workflow_id, .. } => Some((namespace_id, workflow_id)),
            Self::Number(_) => None,
        }
    }

    pub(crate) fn key(&self) -> PendingKey {
        match self {
            Self::Current { namespace_id, workflow_id }
            | Self::Run { namespace_id, workflow_id, .. } => {
                PendingKey::Workflow(namespace_id.clone(), workflow_id.clone())
            }
            Self::Number(number) => PendingKey::Number(*number),
        }
    }
}
