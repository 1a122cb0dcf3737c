//! `workflow start` and `workflow execute`.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    common::{Memo, RetryPolicy, SearchAttributes, WorkflowExecution, WorkflowType},
    enums::{WorkflowIdConflictPolicy, WorkflowIdReusePolicy},
    sdk::UserMetadata,
    taskqueue::TaskQueue,
    workflow::NewWorkflowExecutionInfo,
    workflowservice::StartWorkflowExecutionRequest,
};

use super::result;
use crate::{
    client::{Client, fresh_id},
    input::{Input, Pair, json_payload, payload_map},
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

/// What a new workflow is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Start {
    /// The workflow's id; without it, a fresh one
    #[arg(long, short, value_name = "ID")]
    pub(crate) workflow_id: Option<String>,

    /// The workflow's type
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) workflow_type: String,

    /// The task queue that its workers wait on
    #[arg(long, short, value_name = "NAME")]
    pub(crate) task_queue: String,

    #[command(flatten)]
    pub(crate) input: Input,

    /// How long it may take, with everything that follows it
    #[arg(long, value_name = "DURATION")]
    pub(crate) execution_timeout: Option<Span>,

    /// How long one run may take
    #[arg(long, value_name = "DURATION")]
    pub(crate) run_timeout: Option<Span>,

    /// How long one workflow task may take
    #[arg(long, value_name = "DURATION")]
    pub(crate) task_timeout: Option<Span>,

    #[command(flatten)]
    pub(crate) retry: Retry,

    /// A note that is kept with the run, as key=JSON; may be repeated
    #[arg(long, value_name = "KEY=JSON")]
    pub(crate) memo: Vec<Pair>,

    /// An attribute to search by, as name=JSON; may be repeated
    #[arg(long, value_name = "NAME=JSON")]
    pub(crate) search_attribute: Vec<Pair>,

    /// A line that says what it is for
    #[arg(long, value_name = "TEXT")]
    pub(crate) static_summary: Option<String>,

    /// More than a line of that
    #[arg(long, value_name = "TEXT")]
    pub(crate) static_details: Option<String>,
}

/// When a failed workflow, or an activity, is tried again.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Retry {
    /// The first wait before another try
    #[arg(long = "retry-initial-interval", value_name = "DURATION")]
    pub(crate) initial_interval: Option<Span>,

    /// The longest wait
    #[arg(long = "retry-maximum-interval", value_name = "DURATION")]
    pub(crate) maximum_interval: Option<Span>,

    /// How much longer each wait is than the one before
    #[arg(long = "retry-backoff-coefficient", value_name = "FACTOR")]
    pub(crate) backoff_coefficient: Option<f64>,

    /// How many tries in all; 0 for no limit
    #[arg(long = "retry-maximum-attempts", value_name = "COUNT")]
    pub(crate) maximum_attempts: Option<i32>,
}

impl Retry {
    /// The policy, if anything of one was given.
    pub(crate) fn policy(&self) -> Option<RetryPolicy> {
        let is_given = self.initial_interval.is_some()
            || self.maximum_interval.is_some()
            || self.backoff_coefficient.is_some()
            || self.maximum_attempts.is_some();
        is_given.then(|| RetryPolicy {
            initial_interval: self.initial_interval.map(Span::wire),
            maximum_interval: self.maximum_interval.map(Span::wire),
            backoff_coefficient: self.backoff_coefficient.unwrap_or_default(),
            maximum_attempts: self.maximum_attempts.unwrap_or_default(),
            non_retryable_error_types: Vec::new(),
        })
    }
}

impl Start {
    /// As the API has it.
    pub(crate) fn info(&self) -> Result<NewWorkflowExecutionInfo> {
        let fields = || payload_map(&self.memo);
        Ok(NewWorkflowExecutionInfo {
            workflow_id: self.workflow_id.clone().unwrap_or_else(fresh_id),
            workflow_type: Some(WorkflowType { name: self.workflow_type.clone() }),
            task_queue: Some(TaskQueue { name: self.task_queue.clone(), ..TaskQueue::default() }),
            input: self.input.payloads()?,
            workflow_execution_timeout: self.execution_timeout.map(Span::wire),
            workflow_run_timeout: self.run_timeout.map(Span::wire),
            workflow_task_timeout: self.task_timeout.map(Span::wire),
            retry_policy: self.retry.policy(),
            memo: (!self.memo.is_empty()).then(|| Memo { fields: fields() }),
            search_attributes: search_attributes(&self.search_attribute),
            user_metadata: self.metadata()?,
            ..NewWorkflowExecutionInfo::default()
        })
    }

    fn metadata(&self) -> Result<Option<UserMetadata>> {
        if self.static_summary.is_none() && self.static_details.is_none() {
            return Ok(None);
        }
        let text = |text: &Option<String>| {
            let text = text.as_ref().map(|text| json!(text).to_string());
            text.map(|text| json_payload("--static-summary", &text)).transpose()
        };
        let (summary, details) = (text(&self.static_summary)?, text(&self.static_details)?);
        Ok(Some(UserMetadata { summary, details }))
    }
}

/// Attributes to search by, if there are any.
pub(crate) fn search_attributes(pairs: &[Pair]) -> Option<SearchAttributes> {
    (!pairs.is_empty()).then(|| SearchAttributes { indexed_fields: payload_map(pairs) })
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
