//! Batches: one operation for many runs. What is kept of each.

use steadfast_proto::{enums::BatchOperationState, workflowservice::StartBatchOperationRequest};

use crate::jobs::{Job, Jobs};

/// All batches.
pub(crate) type Batches = Jobs<Batch>;

/// What is kept of a batch. A tag is never reused.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Batch {
    #[prost(message, optional, tag = "1")]
    pub(crate) request: Option<StartBatchOperationRequest>,
    #[prost(enumeration = "BatchOperationState", tag = "2")]
    pub(crate) state: i32,
    #[prost(int64, tag = "3")]
    pub(crate) started_at: i64,
    #[prost(int64, tag = "4")]
    pub(crate) closed_at: i64,
    /// Whether it is known which runs it is for.
    #[prost(bool, tag = "5")]
    pub(crate) selected: bool,
    #[prost(uint64, tag = "6")]
    pub(crate) total: u64,
    #[prost(uint64, tag = "7")]
    pub(crate) completed: u64,
    #[prost(uint64, tag = "8")]
    pub(crate) failed: u64,
}

/// Some of the runs that a batch is for.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Targets {
    #[prost(message, repeated, tag = "1")]
    pub(crate) all: Vec<Target>,
}

/// A run that a batch is for.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Target {
    #[prost(string, tag = "1")]
    pub(crate) workflow_id: String,
    /// Empty for the newest.
    #[prost(string, tag = "2")]
    pub(crate) run_id: String,
}

impl Batch {
    /// How many runs it has dealt with.
    pub(crate) fn done(&self) -> u64 {
        self.completed + self.failed
    }
}

impl Job for Batch {
    const KIND: &'static str = "batch";
    const KINDS: &'static str = "batches";

    fn is_running(&self) -> bool {
        self.state == i32::from(BatchOperationState::Running)
    }

    fn started_at(&self) -> i64 {
        self.started_at
    }

    fn total(&self) -> u64 {
        self.total
    }
}
