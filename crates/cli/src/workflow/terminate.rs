//! `workflow terminate`: ends workflows at once.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    batch::BatchOperationTermination,
    workflowservice::{
        TerminateWorkflowExecutionRequest, start_batch_operation_request::Operation,
    },
};

use crate::{
    client::Client,
    output::View,
    target::{Chosen, Many, reason_or_default},
};

/// What can be said to `terminate`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    runs: Many,

    /// Why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// `workflow terminate`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let identity = client.identity.clone();
    let execution = match args.runs.chosen() {
        Chosen::One(execution) => execution,
        Chosen::All => {
            let termination = BatchOperationTermination { details: None, identity };
            let operation = Operation::TerminationOperation(termination);
            return args.runs.start_batch(client, view, &args.reason, operation).await;
        }
    };
    let workflow_id = execution.workflow_id.clone();
    let request = TerminateWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(execution),
        identity,
        reason: reason_or_default(&args.reason, client),
        ..TerminateWorkflowExecutionRequest::default()
    };
    client.answer(client.workflow.clone().terminate_workflow_execution(request)).await?;
    view.answer_value(&json!({ "workflowId": workflow_id }), || {
        format!("terminated workflow {workflow_id}")
    })
}
