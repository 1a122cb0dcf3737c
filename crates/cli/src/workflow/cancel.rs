//! `workflow cancel`: asks workflows to cancel themselves.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    batch::BatchOperationCancellation,
    workflowservice::{
        RequestCancelWorkflowExecutionRequest, start_batch_operation_request::Operation,
    },
};

use crate::{
    client::{Client, fresh_id},
    output::View,
    target::{Chosen, Many, reason_or_default},
};

/// What can be said to `cancel`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    runs: Many,

    /// Why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// `workflow cancel`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let identity = client.identity.clone();
    let execution = match args.runs.chosen() {
        Chosen::One(execution) => execution,
        Chosen::All => {
            let operation =
                Operation::CancellationOperation(BatchOperationCancellation { identity });
            return args.runs.start_batch(client, view, &args.reason, operation).await;
        }
    };
    let workflow_id = execution.workflow_id.clone();
    let request = RequestCancelWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(execution),
        identity,
        request_id: fresh_id(),
        reason: reason_or_default(&args.reason, client),
        ..RequestCancelWorkflowExecutionRequest::default()
    };
    client.answer(client.workflow.clone().request_cancel_workflow_execution(request)).await?;
    view.answer_value(&json!({ "workflowId": workflow_id }), || {
        format!("asked workflow {workflow_id} to cancel itself")
    })
}
