//! Tokens: what a worker or a reader hands back to say what it is about. Opaque to them, a
//! protobuf message to us, so that those of an older release still open.

use prost::Message;
use steadfast_core::{ActivityToken, WorkflowTaskToken};

use crate::error::Error;

/// What a worker hands back with a workflow task or an activity.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TaskToken {
    #[prost(string, tag = "1")]
    pub(crate) namespace_id: String,
    #[prost(string, tag = "2")]
    pub(crate) workflow_id: String,
    #[prost(string, tag = "3")]
    pub(crate) run_id: String,
    #[prost(int64, tag = "4")]
    pub(crate) scheduled_event_id: i64,
    #[prost(int64, tag = "5")]
    pub(crate) started_event_id: i64,
    #[prost(uint32, tag = "6")]
    pub(crate) attempt: u32,
    #[prost(fixed64, tag = "7")]
    pub(crate) nonce: u64,
    #[prost(string, tag = "8")]
    pub(crate) activity_id: String,
    /// Set on the task of a query.
    #[prost(string, tag = "9")]
    pub(crate) query_id: String,
}

/// The run that a token names. Other servers of this protocol begin their tokens like ours and go
/// on in their own way; a task of theirs is one that is not found here, which workers and those
/// who complete activities from outside know how to take.
#[derive(Clone, PartialEq, Message)]
#[expect(clippy::struct_field_names, reason = "they are ids, and named like everywhere else")]
struct RunToken {
    #[prost(string, tag = "1")]
    namespace_id: String,
    #[prost(string, tag = "2")]
    workflow_id: String,
    #[prost(string, tag = "3")]
    run_id: String,
}

impl From<RunToken> for TaskToken {
    fn from(RunToken { namespace_id, workflow_id, run_id }: RunToken) -> Self {
        Self { namespace_id, workflow_id, run_id, ..Self::default() }
    }
}

/// Where the next page of a history begins.
#[derive(Clone, PartialEq, Message)]
#[expect(clippy::struct_field_names, reason = "they are ids, and named like everywhere else")]
pub(crate) struct HistoryToken {
    #[prost(string, tag = "1")]
    pub(crate) workflow_id: String,
    #[prost(string, tag = "2")]
    pub(crate) run_id: String,
    #[prost(int64, tag = "3")]
    pub(crate) next_event_id: i64,
    /// The started event of the workflow task that is being read; 0 for other readers.
    #[prost(int64, tag = "4")]
    pub(crate) task_started_event_id: i64,
}

/// Where the next page of a listing begins.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListToken {
    /// -1 while open.
    #[prost(sint64, tag = "1")]
    pub(crate) close_time: i64,
    #[prost(sint64, tag = "2")]
    pub(crate) start_time: i64,
    #[prost(int64, tag = "3")]
    pub(crate) run: i64,
}

/// Where the next page of workers begins.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WorkersToken {
    /// The key of the last one on the page before.
    #[prost(string, tag = "1")]
    pub(crate) last: String,
}

/// Where the next page of batches begins.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct BatchesToken {
    /// The id of the last one on the page before.
    #[prost(string, tag = "1")]
    pub(crate) last: String,
}

impl TaskToken {
    pub(crate) fn workflow_task(&self) -> WorkflowTaskToken {
        WorkflowTaskToken {
            scheduled_event_id: self.scheduled_event_id,
            started_event_id: self.started_event_id,
            attempt: self.attempt,
            nonce: self.nonce,
        }
    }

    pub(crate) fn activity(&self) -> ActivityToken {
        ActivityToken::Attempt {
            scheduled_event_id: self.scheduled_event_id,
            attempt: self.attempt,
            nonce: self.nonce,
        }
    }

    /// Reads what a worker handed back.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.is_empty() {
            return Err(Error::invalid("Task token not set on request."));
        }
        let invalid = |_| Error::invalid("Invalid TaskToken.");
        let token = Self::decode(bytes)
            .or_else(|_| RunToken::decode(bytes).map(Self::from))
            .map_err(invalid)?;
        if token.workflow_id.is_empty() || token.namespace_id.is_empty() {
            return Err(Error::invalid("Invalid TaskToken."));
        }
        Ok(token)
    }
}

/// Reads a page token; empty is the first page.
pub(crate) fn page<M: Message + Default>(bytes: &[u8]) -> Result<Option<M>, Error> {
    if bytes.is_empty() {
        return Ok(None);
    }
    M::decode(bytes).map(Some).map_err(|_| Error::invalid("Next page token is invalid."))
}
