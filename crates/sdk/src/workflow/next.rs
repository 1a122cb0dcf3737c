//! Going on as a new run, with an empty history.

use std::time::Duration;

use serde::Serialize;
use steadfast_proto::{
    command::ContinueAsNewWorkflowExecutionCommandAttributes as ContinueAsNew,
    common::{Payloads, WorkflowType},
    enums::ContinueAsNewInitiator,
    taskqueue::TaskQueue,
};

use super::context::WorkflowContext;
use crate::{
    error::Failure,
    fields::Fields,
    payload::{self, CodecError},
    policy::RetryPolicy,
    span,
};

/// The run as which a workflow goes on: see [`WorkflowContext::next_run`].
///
/// What is not said here stays as it is: the workflow, its queue, its limits, its policy, its memo and
/// its search attributes.
///
/// ```no_run
/// # use std::time::Duration;
/// # use steadfast::{Failure, WorkflowContext};
/// async fn crawl(ctx: WorkflowContext, page: u32) -> Result<u32, Failure> {
///     if ctx.info().should_continue_as_new {
///         return ctx.next_run(&page).after(Duration::from_secs(60)).memo("page", &page)?.go();
///     }
///     Ok(page)
/// }
/// ```
#[derive(Debug)]
#[must_use = "the workflow goes on when this is returned: `return next.go()`"]
pub struct NextRun {
    input: Result<Option<Payloads>, CodecError>,
    wanted: ContinueAsNew,
    memo: Fields,
    search_attributes: Fields,
}

impl NextRun {
    pub(super) fn new(ctx: &WorkflowContext, input: &impl Serialize) -> Self {
        let info = ctx.info();
        let (memo, search_attributes) = info.properties();
        let wanted = ContinueAsNew {
            initiator: ContinueAsNewInitiator::Workflow.into(),
            workflow_type: Some(WorkflowType { name: info.workflow_type.clone() }),
            task_queue: Some(queue(info.task_queue.clone())),
            retry_policy: info.retry.clone(),
            cron_schedule: info.cron.unwrap_or_default(),
            ..ContinueAsNew::default()
        };
        Self { input: payload::encode_one(input), wanted, memo, search_attributes }
    }

    /// As another workflow.
    pub fn workflow(mut self, name: impl Into<String>) -> Self {
        self.wanted.workflow_type = Some(WorkflowType { name: name.into() });
        self
    }

    /// On another queue.
    pub fn task_queue(mut self, name: impl Into<String>) -> Self {
        self.wanted.task_queue = Some(queue(name.into()));
        self
    }

    /// How long the new run may take.
    pub fn run_timeout(mut self, span: Duration) -> Self {
        self.wanted.workflow_run_timeout = Some(span::to_wire(span));
        self
    }

    /// How the workflow as a whole is tried again from now on.
    pub fn retry(mut self, policy: impl Into<RetryPolicy>) -> Self {
        self.wanted.retry_policy = Some(policy.into().carried().wire.clone());
        self
    }

    /// Has the new run begin later.
    pub fn after(mut self, span: Duration) -> Self {
        self.wanted.backoff_start_interval = Some(span::to_wire(span));
        self
    }

    /// Keeps something beside the new run.
    pub fn memo(self, key: impl Into<String>, value: &impl Serialize) -> Result<Self, CodecError> {
        Ok(Self { memo: self.memo.with(key, value)?, ..self })
    }

    /// Something that lists can ask for.
    pub fn search_attribute(
        self,
        name: impl Into<String>,
        value: &impl Serialize,
    ) -> Result<Self, CodecError> {
        Ok(Self { search_attributes: self.search_attributes.with(name, value)?, ..self })
    }

    /// Ends this run, and goes on: `return next.go()`.
    pub fn go<T>(self) -> Result<T, Failure> {
        let wanted = ContinueAsNew {
            input: self.input?,
            memo: self.memo.into_memo(),
            search_attributes: self.search_attributes.into_search_attributes(),
            ..self.wanted
        };
        Err(Failure::going_on(wanted))
    }
}

fn queue(name: String) -> TaskQueue {
    TaskQueue { name, ..TaskQueue::default() }
}
