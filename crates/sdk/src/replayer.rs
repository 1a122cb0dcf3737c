//! Checks that code still does what recorded histories say.

use std::sync::Arc;

use steadfast_proto::{
    history::{History, HistoryEvent, history_event::Attributes},
    prost::{DecodeError, Message as _},
};

use crate::{
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
}

/// Why a history was not replayed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The code cannot go on with it.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// It is not a history.
    #[error("not a history: {0}")]
    Encoding(#[from] DecodeError),
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

    /// Replays events, the first one first. It is an error if the code does something else than
    /// they say, or less, or more.
    pub fn replay(&self, events: Vec<HistoryEvent>) -> Result<(), ReplayError> {
        let info = info(&events);
        let mut execution = Execution::new(Arc::new(self.registry.clone()), info);
        execution.advance(Work { events, ..Work::default() })?;
        Ok(())
    }

    /// Replays a history in the public protobuf encoding.
    pub fn replay_encoded(&self, history: &[u8]) -> Result<(), ReplayError> {
        let history = History::decode(history)?;
        self.replay(history.events)
    }
}

fn info(events: &[HistoryEvent]) -> WorkflowInfo {
    let started = events.first().and_then(|event| match &event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => Some(started),
        _ => None,
    });
    let started = started.cloned().unwrap_or_default();
    WorkflowInfo {
        namespace: "replay".to_owned(),
        workflow_id: started.workflow_id,
        run_id: started.original_execution_run_id,
        ..WorkflowInfo::default()
    }
}
