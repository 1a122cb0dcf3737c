//! `workflow start` and `workflow execute`.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    common::WorkflowExecution,
    enums::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy},
    workflowservice::StartWorkflowExecutionRequest,
};

use super::{new::Start, result};
use crate::{
    client::{Client, fresh_id},
    names,
    output::{View, say},
    time::Span,
};

/// What can be said to `start` and `execute`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    start: Start,

    /// What happens if a closed run has this id: `AllowDuplicate`, `AllowDuplicateFailedOnly`,
    /// `RejectDuplicate`
    #[arg(long, value_name = "POLICY", value_parser = reuse_policy)]
    id_reuse_policy: Option<WorkflowIdReusePolicy>,

    /// What happens if an open run has this id: `Fail`, `UseExisting`, `TerminateExisting`
    #[arg(long, value_name = "POLICY", value_parser = conflict_policy)]
    id_conflict_policy: Option<WorkflowIdConflictPolicy>,

    /// Wait this long before the first workflow task
    #[arg(long, value_name = "DURATION")]
    start_delay: Option<Span>,

    /// Start again and again by a cron rule; a schedule does it better
    #[arg(long, value_name = "CRON")]
    cron: Option<String>,
}

/// `workflow start`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let run = start(args, client).await?;
    let answer = json!({
        "workflowId": run.workflow_id,
        "runId": run.run_id,
        "type": args.start.workflow_type,
        "taskQueue": args.start.task_queue,
        "namespace": client.namespace,
    });
    view.answer_value(&answer, || told(&run))
}

/// `workflow execute`.
pub(super) async fn execute(args: &Args, client: &Client, view: &View) -> Result<()> {
    let run = start(args, client).await?;
    if !view.is_json() {
        say(&told(&run))?;
    }
    result::tell(run, client, view).await
}

async fn start(args: &Args, client: &Client) -> Result<WorkflowExecution> {
    let info = args.start.info()?;
    let request = StartWorkflowExecutionRequest {
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
        workflow_id_reuse_policy: args.id_reuse_policy.unwrap_or_default().into(),
        workflow_id_conflict_policy: args.id_conflict_policy.unwrap_or_default().into(),
        retry_policy: info.retry_policy,
        cron_schedule: args.cron.clone().unwrap_or_default(),
        memo: info.memo,
        search_attributes: info.search_attributes,
        workflow_start_delay: args.start_delay.map(Span::wire),
        user_metadata: info.user_metadata,
        ..StartWorkflowExecutionRequest::default()
    };
    let request = client.encoded(request).await?;
    let started = client.answer(client.workflow.clone().start_workflow_execution(request)).await?;
    Ok(WorkflowExecution { workflow_id: info.workflow_id, run_id: started.run_id })
}

fn told(run: &WorkflowExecution) -> String {
    format!("started workflow {}, run {}", run.workflow_id, run.run_id)
}

fn reuse_policy(text: &str) -> Result<WorkflowIdReusePolicy, names::NotAName> {
    names::parse(
        text,
        "WORKFLOW_ID_REUSE_POLICY_",
        WorkflowIdReusePolicy::from_str_name,
        "AllowDuplicate, AllowDuplicateFailedOnly, RejectDuplicate",
    )
}

fn conflict_policy(text: &str) -> Result<WorkflowIdConflictPolicy, names::NotAName> {
    names::parse(
        text,
        "WORKFLOW_ID_CONFLICT_POLICY_",
        WorkflowIdConflictPolicy::from_str_name,
        "Fail, UseExisting, TerminateExisting",
    )
}
