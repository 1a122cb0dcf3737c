//! Checks that code still does what recorded histories say.

use std::sync::Arc;

use steadfast_proto::{
    history::{History, HistoryEvent, history_event::Attributes},
    prost::{DecodeError, Message as _},
};

use crate::{
    codec::{Codec, PayloadCodec},
    replay::{Broken, Execution, Work},
    workflow::Registry,
    workflow::{Workflow, WorkflowFn, WorkflowInfo},
};

/// Replays recorded histories against today's code, without an engine: in a test, before the code
/// goes out.
///
/// ```no_run
/// use steadfast::{Failure, Replayer, WorkflowContext};
///
/// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
///     Ok(id)
/// }
///
/// # fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let replayer = Replayer::new().workflow(order);
/// replayer.replay_encoded(&std::fs::read("tests/histories/order-17.bin")?)?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Replayer {
    registry: Registry,
    codec: Codec,
}

/// Why a history was not replayed to its end.
///
/// ```
/// use steadfast::{ReplayError, Replayer};
///
/// let nothing = Replayer::new().replay_encoded(b"no history").unwrap_err();
/// assert!(matches!(nothing, ReplayError::Encoding(_)));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The code cannot go on with it.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// It is not a history.
    #[error("not a history: {0}")]
    Encoding(#[from] DecodeError),
    /// It is not the JSON of a history.
    #[cfg(feature = "json-histories")]
    #[error("not the JSON of a history: {0}")]
    Json(#[from] serde_json::Error),
}

impl Replayer {
    /// One that knows no workflow yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows a workflow, under the name of its function.
    #[must_use]
    pub fn workflow<F, Shape>(self, workflow: F) -> Self
    where
        F: WorkflowFn<Shape>,
    {
        self.register_workflow(Workflow::new(workflow))
    }

    /// Knows a workflow under another name.
    #[must_use]
    pub fn register_workflow(mut self, workflow: Workflow) -> Self {
        self.registry.add_workflow(workflow);
        self
    }

    /// Reads payloads by this codec, with which they were recorded.
    #[must_use]
    pub fn payload_codec(self, codec: impl PayloadCodec) -> Self {
        Self { codec: Codec::new(codec), ..self }
    }

    /// Replays events, the first one first. It is an error if the code does something else than
    /// they say, or less, or more.
    pub fn replay(&self, mut events: Vec<HistoryEvent>) -> Result<(), ReplayError> {
        self.codec.decode(&mut events).map_err(|error| Broken::Codec(error.message))?;
        let info = info(&events);
        let mut execution = Execution::new(Arc::new(self.registry.clone()), info);
        execution.advance(Work { events, ..Work::default() })?;
        execution.answer()?;
        Ok(())
    }

    /// Replays a history in the public protobuf encoding.
    pub fn replay_encoded(&self, history: &[u8]) -> Result<(), ReplayError> {
        let history = History::decode(history)?;
        self.replay(history.events)
    }

    /// Replays a history as JSON, as `steadfast workflow show --output json` and other servers' tools
    /// and pages export it: an object with `events`, in the standard mapping of protobuf.
    #[cfg(feature = "json-histories")]
    pub fn replay_json(&self, history: &str) -> Result<(), ReplayError> {
        self.replay(json::events(history)?)
    }
}

#[cfg(feature = "json-histories")]
mod json {
    //! Histories as JSON. What a newer server says that this crate does not know is left out.

    use std::sync::LazyLock;

    use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage};
    use serde::de::Error as _;
    use steadfast_proto::{
        DESCRIPTORS,
        history::{History, HistoryEvent},
        prost::{Message as _, Name as _},
    };

    pub(super) fn events(text: &str) -> Result<Vec<HistoryEvent>, serde_json::Error> {
        static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
            DescriptorPool::decode(DESCRIPTORS).expect("the description of the API is our own")
        });
        let kind = POOL.get_message_by_name(&History::full_name());
        let kind = kind.ok_or_else(|| serde_json::Error::custom("the API has no histories"))?;
        let options = DeserializeOptions::new().deny_unknown_fields(false);
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = DynamicMessage::deserialize_with_options(kind, &mut reader, &options)?;
        reader.end()?;
        let history = History::decode(read.encode_to_vec().as_slice());
        Ok(history.map_err(serde_json::Error::custom)?.events)
    }
}

fn info(events: &[HistoryEvent]) -> WorkflowInfo {
    let started = events.first().and_then(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => Some(started),
        _ => None,
    });
    let started = started.cloned().unwrap_or_default();
    let run_id = started.original_execution_run_id;
    WorkflowInfo::new("replay".to_owned(), started.workflow_id, run_id, String::new())
}
