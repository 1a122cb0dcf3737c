//! What a new workflow is, and what may be changed of one that a schedule will start.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    common::{Memo, RetryPolicy, SearchAttributes, WorkflowType},
    sdk::UserMetadata,
    taskqueue::TaskQueue,
    workflow::NewWorkflowExecutionInfo,
};

use crate::{
    client::fresh_id,
    input::{Input, Pair, json_payload, payload_map},
    time::Span,
};

/// What a new workflow is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Start {
    /// The workflow's type
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) workflow_type: String,

    /// The task queue that its workers wait on
    #[arg(long, short, value_name = "NAME")]
    pub(crate) task_queue: String,

    #[command(flatten)]
    pub(crate) particulars: Particulars,
}

/// What a workflow is to be from now on; what is not named stays as it is.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Restart {
    /// The workflow's type
    #[arg(long = "type", value_name = "NAME")]
    workflow_type: Option<String>,

    /// The task queue that its workers wait on
    #[arg(long, short, value_name = "NAME")]
    task_queue: Option<String>,

    #[command(flatten)]
    particulars: Particulars,
}

/// What may be said about a workflow beside its type and its task queue.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Particulars {
    /// The workflow's id; a new one gets a fresh id without it
    #[arg(long, short, value_name = "ID")]
    pub(crate) workflow_id: Option<String>,

    #[command(flatten)]
    input: Input,

    /// How long it may take, with everything that follows it
    #[arg(long, value_name = "DURATION")]
    execution_timeout: Option<Span>,

    /// How long one run may take
    #[arg(long, value_name = "DURATION")]
    run_timeout: Option<Span>,

    /// How long one workflow task may take
    #[arg(long, value_name = "DURATION")]
    task_timeout: Option<Span>,

    #[command(flatten)]
    retry: Retry,

    /// A note that is kept with the run, as key=JSON; may be repeated
    #[arg(long, value_name = "KEY=JSON")]
    memo: Vec<Pair>,

    /// An attribute to search by, as name=JSON; may be repeated
    #[arg(long, value_name = "NAME=JSON")]
    search_attribute: Vec<Pair>,

    /// A line that says what it is for
    #[arg(long, value_name = "TEXT")]
    static_summary: Option<String>,

    /// More than a line of that
    #[arg(long, value_name = "TEXT")]
    static_details: Option<String>,
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

impl Start {
    /// As the API has it.
    pub(crate) fn info(&self) -> Result<NewWorkflowExecutionInfo> {
        let mut info = NewWorkflowExecutionInfo { workflow_id: fresh_id(), ..Default::default() };
        set_type(&mut info, &self.workflow_type);
        set_queue(&mut info, &self.task_queue);
        self.particulars.change(&mut info)?;
        Ok(info)
    }
}

impl Restart {
    /// Changes what was named.
    pub(crate) fn change(&self, info: &mut NewWorkflowExecutionInfo) -> Result<()> {
        if let Some(name) = &self.workflow_type {
            set_type(info, name);
        }
        if let Some(name) = &self.task_queue {
            set_queue(info, name);
        }
        self.particulars.change(info)
    }
}

fn set_type(info: &mut NewWorkflowExecutionInfo, name: &str) {
    info.workflow_type = Some(WorkflowType { name: name.to_owned() });
}

fn set_queue(info: &mut NewWorkflowExecutionInfo, name: &str) {
    info.task_queue = Some(TaskQueue { name: name.to_owned(), ..TaskQueue::default() });
}

impl Particulars {
    fn change(&self, info: &mut NewWorkflowExecutionInfo) -> Result<()> {
        if let Some(id) = &self.workflow_id {
            id.clone_into(&mut info.workflow_id);
        }
        set(&mut info.input, self.input.payloads()?);
        set(&mut info.workflow_execution_timeout, self.execution_timeout.map(Span::wire));
        set(&mut info.workflow_run_timeout, self.run_timeout.map(Span::wire));
        set(&mut info.workflow_task_timeout, self.task_timeout.map(Span::wire));
        info.retry_policy = self.retry.over(info.retry_policy.take());
        let memo = (!self.memo.is_empty()).then(|| Memo { fields: payload_map(&self.memo) });
        set(&mut info.memo, memo);
        set(&mut info.search_attributes, search_attributes(&self.search_attribute));
        self.describe(&mut info.user_metadata)
    }

    fn describe(&self, metadata: &mut Option<UserMetadata>) -> Result<()> {
        if self.static_summary.is_none() && self.static_details.is_none() {
            return Ok(());
        }
        let text = |text: &Option<String>| {
            let text = text.as_ref().map(|text| json!(text).to_string());
            text.map(|text| json_payload("--static-summary", &text)).transpose()
        };
        let metadata = metadata.get_or_insert_default();
        set(&mut metadata.summary, text(&self.static_summary)?);
        set(&mut metadata.details, text(&self.static_details)?);
        Ok(())
    }
}

impl Retry {
    /// The policy, if anything of one was given.
    pub(crate) fn policy(&self) -> Option<RetryPolicy> {
        self.over(None)
    }

    /// A policy with what was given; one that is made for it if there is none.
    fn over(&self, before: Option<RetryPolicy>) -> Option<RetryPolicy> {
        let is_given = self.initial_interval.is_some()
            || self.maximum_interval.is_some()
            || self.backoff_coefficient.is_some()
            || self.maximum_attempts.is_some();
        if !is_given {
            return before;
        }
        let mut policy = before.unwrap_or_default();
        set(&mut policy.initial_interval, self.initial_interval.map(Span::wire));
        set(&mut policy.maximum_interval, self.maximum_interval.map(Span::wire));
        policy.backoff_coefficient = self.backoff_coefficient.unwrap_or(policy.backoff_coefficient);
        policy.maximum_attempts = self.maximum_attempts.unwrap_or(policy.maximum_attempts);
        Some(policy)
    }
}

/// Attributes to search by, if there are any.
pub(crate) fn search_attributes(pairs: &[Pair]) -> Option<SearchAttributes> {
    (!pairs.is_empty()).then(|| SearchAttributes { indexed_fields: payload_map(pairs) })
}

/// Sets what was named.
fn set<T>(place: &mut Option<T>, named: Option<T>) {
    if named.is_some() {
        *place = named;
    }
}
