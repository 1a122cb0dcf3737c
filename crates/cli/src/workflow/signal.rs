//! `workflow signal` and `workflow signal-with-start`.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    batch::BatchOperationSignal,
    workflowservice::{
        SignalWithStartWorkflowExecutionRequest, SignalWorkflowExecutionRequest,
        start_batch_operation_request::Operation,
    },
};

use super::new::Start;
use crate::{
    client::{Client, fresh_id},
    input::{Input, json_payload},
    output::View,
    target::{Chosen, Many},
};

/// What can be said to `signal`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    runs: Many,

    /// The signal's name
    #[arg(long, value_name = "NAME")]
    name: String,

    /// Why, if it is a batch job
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,

    #[command(flatten)]
    input: Input,
}

/// What can be said to `signal-with-start`.
#[derive(Debug, clap::Args)]
pub(crate) struct WithStartArgs {
    #[command(flatten)]
    start: Start,

    /// The signal's name
    #[arg(long, value_name = "NAME")]
    signal_name: String,

    /// An argument of the signal, as JSON; may be repeated
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    signal_input: Vec<String>,
}

/// `workflow signal`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let input = args.input.payloads()?;
    let identity = client.identity.clone();
    let execution = match args.runs.chosen() {
        Chosen::One(execution) => execution,
        Chosen::All => {
            let signal = args.name.clone();
            let signal = BatchOperationSignal { signal, input, identity, ..Default::default() };
            let operation = Operation::SignalOperation(signal);
            return args.runs.start_batch(client, view, &args.reason, operation).await;
        }
    };
    let workflow_id = execution.workflow_id.clone();
    let request = SignalWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(execution),
        signal_name: args.name.clone(),
        input,
        identity,
        request_id: fresh_id(),
        ..SignalWorkflowExecutionRequest::default()
    };
    let request = client.encoded(request).await?;
    client.answer(client.workflow.clone().signal_workflow_execution(request)).await?;
    view.answer_value(&json!({ "workflowId": workflow_id, "signalName": args.name }), || {
        format!("signalled workflow {workflow_id}")
    })
}

/// `workflow signal-with-start`.
pub(super) async fn with_start(args: &WithStartArgs, client: &Client, view: &View) -> Result<()> {
    let info = args.start.info()?;
    let payloads: Result<Vec<_>> =
        args.signal_input.iter().map(|text| json_payload("--signal-input", text)).collect();
    let payloads = payloads?;
    let signal_input =
        (!payloads.is_empty()).then_some(steadfast_proto::common::Payloads { payloads });
    let request = SignalWithStartWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_id: info.workflow_id.clone(),
        workflow_type: info.workflow_type,
        task_queue: info.task_queue,
        input: info.input,
        workflow_execution_timeout: info.workflow_execution_timeout,
        workflow_run_timeout: info.workflow_run_timeout,
        workflow_task_timeout: info.workflow_task_timeout,
        identity: client.identity.clone(),
        request_id: fresh_id(),
        signal_name: args.signal_name.clone(),
        signal_input,
        retry_policy: info.retry_policy,
        memo: info.memo,
        search_attributes: info.search_attributes,
        user_metadata: info.user_metadata,
        ..SignalWithStartWorkflowExecutionRequest::default()
    };
    let request = client.encoded(request).await?;
    let mut call = client.workflow.clone();
    let answer = client.answer(call.signal_with_start_workflow_execution(request)).await?;
    let (id, run) = (info.workflow_id, answer.run_id);
    let value = json!({ "workflowId": id, "runId": run, "started": answer.started });
    view.answer_value(&value, || {
        let done = if answer.started { "started and signalled" } else { "signalled" };
        format!("{done} workflow {id}, run {run}")
    })
}
