//! `workflow delete`: removes runs and their histories.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    batch::BatchOperationDeletion,
    workflowservice::{DeleteWorkflowExecutionRequest, start_batch_operation_request::Operation},
};

use crate::{
    client::Client,
    output::View,
    target::{Chosen, Many},
};

/// What can be said to `delete`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    runs: Many,

    /// Why, if it is a batch job
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// `workflow delete`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let execution = match args.runs.chosen() {
        Chosen::One(execution) => execution,
        Chosen::All => {
            let identity = client.identity.clone();
            let operation = Operation::DeletionOperation(BatchOperationDeletion { identity });
            return args.runs.start_batch(client, view, &args.reason, operation).await;
        }
    };
    let workflow_id = execution.workflow_id.clone();
    let request = DeleteWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(execution),
    };
    client.answer(client.workflow.clone().delete_workflow_execution(request)).await?;
    view.answer_value(&json!({ "workflowId": workflow_id }), || {
        format!("deleted workflow {workflow_id}")
    })
}
