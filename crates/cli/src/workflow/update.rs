//! `workflow update`: calls an update handler of a workflow.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use steadfast_proto::{
    common::WorkflowExecution,
    enums::UpdateWorkflowExecutionLifecycleStage as Stage,
    update::{Input as Arguments, Meta, Outcome, Request, UpdateRef, WaitPolicy, outcome},
    workflowservice::{PollWorkflowExecutionUpdateRequest, UpdateWorkflowExecutionRequest},
};

use super::result::single;
use crate::{
    client::{Client, fresh_id, patient},
    input::Input,
    output::{View, chain, message, show_all},
    target::One,
    trouble::Trouble,
};

/// Call an update handler of a workflow
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Call it and wait for its result
    Execute(CallArgs),
    /// Call it and wait until it was accepted
    Start(CallArgs),
    /// Wait for the result of an update that was called before
    Result(RefArgs),
}

/// What can be said to `execute` and `start`.
#[derive(Debug, clap::Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    run: One,

    /// The update handler's name
    #[arg(long, value_name = "NAME")]
    name: String,

    /// The update's id; without it, a fresh one
    #[arg(long, value_name = "ID")]
    update_id: Option<String>,

    #[command(flatten)]
    input: Input,
}

/// What can be said to `result`.
#[derive(Debug, clap::Args)]
pub(crate) struct RefArgs {
    #[command(flatten)]
    run: One,

    /// The update's id
    #[arg(long, value_name = "ID")]
    update_id: String,
}

/// `workflow update`.
pub(super) async fn run(command: &Command, client: &Client, view: &View) -> Result<()> {
    match command {
        Command::Execute(args) => {
            let (update, outcome) = call(args, client, Stage::Completed).await?;
            let outcome = match outcome {
                Some(outcome) => outcome,
                None => wait(&update, client).await?,
            };
            tell(&update, &outcome, view)
        }
        Command::Start(args) => {
            let (update, outcome) = call(args, client, Stage::Accepted).await?;
            // A rejected update is known at once.
            match outcome {
                Some(outcome) => tell(&update, &outcome, view),
                None => view.answer_value(&named(&update), || {
                    format!("update {} was accepted", update.update_id)
                }),
            }
        }
        Command::Result(args) => {
            let execution = Some(args.run.execution());
            let update =
                UpdateRef { workflow_execution: execution, update_id: args.update_id.clone() };
            tell(&update, &wait(&update, client).await?, view)
        }
    }
}

/// Calls until the server says that it has the update, and how far it has come.
async fn call(
    args: &CallArgs,
    client: &Client,
    stage: Stage,
) -> Result<(UpdateRef, Option<Outcome>)> {
    let update_id = args.update_id.clone().unwrap_or_else(fresh_id);
    let meta = Meta { update_id, identity: client.identity.clone() };
    let input = Arguments { header: None, name: args.name.clone(), args: args.input.payloads()? };
    let request = UpdateWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(args.run.execution()),
        wait_policy: Some(WaitPolicy { lifecycle_stage: stage.into() }),
        request: Some(Request { meta: Some(meta), input: Some(input), ..Request::default() }),
        ..UpdateWorkflowExecutionRequest::default()
    };
    let request = client.encoded(request).await?;
    loop {
        let mut call = client.workflow.clone();
        let call = call.update_workflow_execution(patient(request.clone()));
        let answer = client.answer(call).await?;
        // Nobody has looked at it yet: the same request, with the same id, asks again.
        if answer.stage >= Stage::Accepted.into() {
            let update = answer.update_ref.context("the answer names no update")?;
            return Ok((update, answer.outcome));
        }
    }
}

async fn wait(update: &UpdateRef, client: &Client) -> Result<Outcome> {
    loop {
        let request = PollWorkflowExecutionUpdateRequest {
            namespace: client.namespace.clone(),
            update_ref: Some(update.clone()),
            identity: client.identity.clone(),
            wait_policy: Some(WaitPolicy { lifecycle_stage: Stage::Completed.into() }),
        };
        let mut call = client.workflow.clone();
        let answer = client.answer(call.poll_workflow_execution_update(patient(request))).await?;
        if let Some(outcome) = answer.outcome {
            return Ok(outcome);
        }
    }
}

fn tell(update: &UpdateRef, outcome: &Outcome, view: &View) -> Result<()> {
    match &outcome.value {
        Some(outcome::Value::Failure(failure)) => Err(Trouble::not_completed(format!(
            "update {} failed: {}",
            update.update_id,
            chain(failure)
        ))),
        Some(outcome::Value::Success(result)) => {
            let mut answer = named(update);
            answer["result"] = single(message(result, view.payloads())?);
            view.answer_value(&answer, || show_all(Some(result)))
        }
        None => view.answer_value(&named(update), || "null".to_owned()),
    }
}

fn named(update: &UpdateRef) -> Value {
    let WorkflowExecution { workflow_id, run_id } =
        update.workflow_execution.clone().unwrap_or_default();
    json!({ "workflowId": workflow_id, "runId": run_id, "updateId": update.update_id })
}
