//! `workflow reset`: runs workflows again from a point in their histories.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    batch::BatchOperationReset,
    common::{ResetOptions, WorkflowExecution, reset_options::Target},
    enums::{EventType, ResetReapplyExcludeType},
    history::history_event::Attributes,
    workflowservice::{
        GetWorkflowExecutionHistoryRequest, ResetWorkflowExecutionRequest,
        start_batch_operation_request::Operation,
    },
};

use super::history;
use crate::{
    client::{Client, fresh_id},
    names,
    output::View,
    target::{Chosen, Many, reason_or_default},
    trouble::Trouble,
};

/// What can be said to `reset`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    runs: Many,

    /// Why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,

    /// The event to go back to: one that ended a workflow task
    #[arg(long, short, value_name = "NUMBER", conflicts_with_all = ["to", "query"])]
    event_id: Option<i64>,

    /// The point to go back to: `FirstWorkflowTask`, `LastWorkflowTask`, or `LastContinuedAsNew` for
    /// the last workflow task of the run before
    #[arg(
        long = "type",
        short = 't',
        value_name = "POINT",
        value_parser = point,
        required_unless_present = "event_id"
    )]
    to: Option<Point>,

    /// What is not to be given to the new run again: `Signal`, `Update`; may be repeated
    #[arg(long, value_name = "KIND", value_parser = excluded)]
    reapply_exclude: Vec<ResetReapplyExcludeType>,
}

/// A point that can be named.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Point {
    FirstWorkflowTask,
    LastWorkflowTask,
    /// Of the run that continued as this one.
    LastContinuedAsNew,
}

/// `workflow reset`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let mut execution = match args.runs.chosen() {
        Chosen::One(execution) => execution,
        Chosen::All => {
            let operation = Operation::ResetOperation(batch(args, client)?);
            return args.runs.start_batch(client, view, &args.reason, operation).await;
        }
    };
    if args.to == Some(Point::LastContinuedAsNew) {
        execution.run_id = before(&execution, client).await?;
    }
    let event_id = match args.event_id {
        Some(event_id) => event_id,
        None => find(args.to, &execution, client).await?,
    };
    let workflow_id = execution.workflow_id.clone();
    let request = ResetWorkflowExecutionRequest {
        namespace: client.namespace.clone(),
        workflow_execution: Some(execution),
        reason: reason_or_default(&args.reason, client),
        workflow_task_finish_event_id: event_id,
        request_id: fresh_id(),
        reset_reapply_exclude_types: excludes(args),
        identity: client.identity.clone(),
        ..ResetWorkflowExecutionRequest::default()
    };
    let answer = client.answer(client.workflow.clone().reset_workflow_execution(request)).await?;
    let value = json!({ "workflowId": workflow_id, "runId": answer.run_id, "eventId": event_id });
    view.answer_value(&value, || {
        format!(
            "reset workflow {workflow_id} to event {event_id}; it goes on as run {}",
            answer.run_id
        )
    })
}

fn batch(args: &Args, client: &Client) -> Result<BatchOperationReset> {
    let target = match args.to {
        Some(Point::FirstWorkflowTask) => Target::FirstWorkflowTask(()),
        Some(Point::LastWorkflowTask) | None => Target::LastWorkflowTask(()),
        Some(Point::LastContinuedAsNew) => {
            return Err(Trouble::usage(
                "--type LastContinuedAsNew is for one workflow; name it with --workflow-id",
            ));
        }
    };
    let options = ResetOptions {
        target: Some(target),
        reset_reapply_exclude_types: excludes(args),
        ..ResetOptions::default()
    };
    Ok(BatchOperationReset {
        identity: client.identity.clone(),
        options: Some(options),
        ..BatchOperationReset::default()
    })
}

/// The run that continued as this one.
async fn before(run: &WorkflowExecution, client: &Client) -> Result<String> {
    let request = GetWorkflowExecutionHistoryRequest {
        namespace: client.namespace.clone(),
        execution: Some(run.clone()),
        maximum_page_size: 1,
        ..GetWorkflowExecutionHistoryRequest::default()
    };
    let mut call = client.workflow.clone();
    let page = client.answer(call.get_workflow_execution_history(request)).await?;
    let first = page.history.and_then(|history| history.events.into_iter().next());
    match first.and_then(|event| event.attributes) {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(it))
            if !it.continued_execution_run_id.is_empty() =>
        {
            Ok(it.continued_execution_run_id)
        }
        _ => Err(Trouble::usage(format!(
            "--type LastContinuedAsNew: no run of workflow {} came before this one",
            run.workflow_id
        ))),
    }
}

/// The number of the event at a point.
async fn find(to: Option<Point>, run: &WorkflowExecution, client: &Client) -> Result<i64> {
    let mut found = None;
    history::each(client, run, false, |event| {
        let is_first = found.is_none();
        if event.event_type() == EventType::WorkflowTaskCompleted
            && (is_first || to != Some(Point::FirstWorkflowTask))
        {
            found = Some(event.event_id);
        }
        Ok(())
    })
    .await?;
    found.ok_or_else(|| {
        let id = &run.workflow_id;
        Trouble::usage(format!(
            "--type: workflow {id} has completed no workflow task to go back to"
        ))
    })
}

fn excludes(args: &Args) -> Vec<i32> {
    args.reapply_exclude.iter().map(|&kind| kind.into()).collect()
}

fn point(text: &str) -> Result<Point, names::NotAName> {
    let known = |name: &str| match name {
        "FIRST_WORKFLOW_TASK" => Some(Point::FirstWorkflowTask),
        "LAST_WORKFLOW_TASK" => Some(Point::LastWorkflowTask),
        "LAST_CONTINUED_AS_NEW" => Some(Point::LastContinuedAsNew),
        _ => None,
    };
    names::parse(text, "", known, "FirstWorkflowTask, LastWorkflowTask, LastContinuedAsNew")
}

fn excluded(text: &str) -> Result<ResetReapplyExcludeType, names::NotAName> {
    let prefix = "RESET_REAPPLY_EXCLUDE_TYPE_";
    names::parse(text, prefix, ResetReapplyExcludeType::from_str_name, "Signal, Update")
}
