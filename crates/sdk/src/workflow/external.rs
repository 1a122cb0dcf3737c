//! Other workflows: signals to them, and requests that they cancel.

use serde::Serialize;
use steadfast_proto::{
    command::{
        Command, RequestCancelExternalWorkflowExecutionCommandAttributes as Cancel,
        SignalExternalWorkflowExecutionCommandAttributes as Signal,
    },
    common::WorkflowExecution,
};

use super::{child::Waiting, context::WorkflowContext, journal::Kind, pending::Pending};
use crate::{error::Failure, payload};

/// Another workflow, by its id.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn pay(ctx: WorkflowContext, order: String) -> Result<(), Failure> {
/// let shipping = ctx.external(format!("ship-{order}"));
/// shipping.signal("paid", &true).await?;
/// shipping.cancel().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ExternalWorkflow {
    ctx: WorkflowContext,
    workflow_id: String,
    run_id: String,
}

impl ExternalWorkflow {
    pub(crate) fn new(ctx: WorkflowContext, workflow_id: String) -> Self {
        Self { ctx, workflow_id, run_id: String::new() }
    }

    /// That run of it, not the one that is there then.
    #[must_use]
    pub fn run(self, run_id: impl Into<String>) -> Self {
        Self { run_id: run_id.into(), ..self }
    }

    /// Sends it a signal. An error if there is no such workflow.
    pub async fn signal<V: Serialize + ?Sized>(
        &self,
        name: &str,
        value: &V,
    ) -> Result<(), Failure> {
        signal(&self.ctx, self, name, value, false).await
    }

    /// Asks it to cancel. An error if there is no such workflow.
    pub async fn cancel(&self) -> Result<(), Failure> {
        let wait = {
            let mut state = self.ctx.journal.state();
            let attributes = Cancel {
                workflow_id: self.workflow_id.clone(),
                run_id: self.run_id.clone(),
                ..Cancel::default()
            };
            let cancel = Command::of(attributes);
            state.issue(Kind::External, self.ctx.scope, cancel)
        };
        Waiting(Pending::new(self.ctx.journal.clone(), wait)).await.map(drop)
    }
}

/// Sends a signal to another workflow, or to a child.
pub(crate) async fn signal<V: Serialize + ?Sized>(
    ctx: &WorkflowContext,
    other: &ExternalWorkflow,
    name: &str,
    value: &V,
    child_workflow_only: bool,
) -> Result<(), Failure> {
    let input = payload::encode_one(value)?;
    let wait = {
        let mut state = ctx.journal.state();
        let attributes = Signal {
            execution: Some(WorkflowExecution {
                workflow_id: other.workflow_id.clone(),
                run_id: other.run_id.clone(),
            }),
            signal_name: name.to_owned(),
            input,
            child_workflow_only,
            ..Signal::default()
        };
        let signal = Command::of(attributes);
        state.issue(Kind::External, ctx.scope, signal)
    };
    Waiting(Pending::new(ctx.journal.clone(), wait)).await.map(drop)
}
