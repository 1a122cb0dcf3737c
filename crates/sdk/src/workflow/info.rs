//! Who a run is.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::de::DeserializeOwned;
use steadfast_proto::{
    common::{Payloads, RetryPolicy},
    history::WorkflowExecutionStartedEventAttributes as Started,
};

use crate::{
    fields::Fields,
    payload::{self, CodecError},
    span,
};

/// Who a run is.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
///     let info = ctx.info();
///     Ok(format!("{} of {id}, begun at {:?}", info.workflow_id, info.started_at))
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkflowInfo {
    /// The namespace.
    pub namespace: String,
    /// The id that whoever started it gave it.
    pub workflow_id: String,
    /// The id of this run.
    pub run_id: String,
    /// The first run id that this run comes from: a reset keeps it.
    pub original_run_id: String,
    /// The first run of the chain, if runs went on as new ones; that of this run otherwise.
    pub first_run_id: String,
    /// The run that went on as this one.
    pub continued_run_id: Option<String>,
    /// The workflow whose child this is.
    pub parent: Option<ParentWorkflow>,
    /// The name of the workflow.
    pub workflow_type: String,
    /// The queue that its tasks are on.
    pub task_queue: String,
    /// When the run was started.
    pub started_at: SystemTime,
    /// How long the workflow may take with all its runs, if that is limited.
    pub execution_timeout: Option<Duration>,
    /// How long this run may take, if that is limited.
    pub run_timeout: Option<Duration>,
    /// When it runs again and again, if it does.
    pub cron: Option<String>,
    /// The attempt, if the workflow as a whole is retried.
    pub attempt: u32,
    /// How long its history is.
    pub history_length: u64,
    /// Whether the history is so long that it should go on as a new run.
    pub should_continue_as_new: bool,
    memo: Arc<Fields>,
    search_attributes: Arc<Fields>,
    /// What the run before gave, if it is one of many.
    last_result: Option<Payloads>,
    /// How the workflow as a whole is tried again.
    pub(super) retry: Option<RetryPolicy>,
    /// How long a worker may have its task for.
    pub(crate) task_timeout: Duration,
}

/// The workflow whose child a run is.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// async fn ship(ctx: WorkflowContext, order: String) -> Result<(), Failure> {
///     if let Some(parent) = ctx.info().parent {
///         ctx.external(parent.workflow_id).signal("shipping", &order).await?;
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ParentWorkflow {
    /// Its namespace.
    pub namespace: String,
    /// Its id.
    pub workflow_id: String,
    /// Its run.
    pub run_id: String,
}

impl WorkflowInfo {
    /// What is kept beside the run under this key, as it was started or as the code has changed it.
    pub fn memo<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, CodecError>> {
        self.memo.get(key)
    }

    /// The search attribute of this name, as the run was started or as the code has changed it.
    pub fn search_attribute<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Option<Result<T, CodecError>> {
        self.search_attributes.get(name)
    }

    /// What the run before this one gave, if the workflow runs again and again: by a cron, or by a
    /// schedule.
    ///
    /// ```no_run
    /// # use steadfast::{Failure, WorkflowContext};
    /// async fn nightly(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    ///     let before = ctx.info().last_result::<u32>().transpose()?.unwrap_or_default();
    ///     Ok(before + 1)
    /// }
    /// ```
    pub fn last_result<T: DeserializeOwned>(&self) -> Option<Result<T, CodecError>> {
        let result = self.last_result.as_ref()?;
        Some(payload::decode_one(Some(result)))
    }

    pub(crate) fn new(
        namespace: String,
        workflow_id: String,
        run_id: String,
        task_queue: String,
    ) -> Self {
        Self {
            namespace,
            workflow_id,
            run_id,
            original_run_id: String::new(),
            first_run_id: String::new(),
            continued_run_id: None,
            parent: None,
            workflow_type: String::new(),
            task_queue,
            started_at: SystemTime::UNIX_EPOCH,
            execution_timeout: None,
            run_timeout: None,
            cron: None,
            attempt: 1,
            history_length: 0,
            should_continue_as_new: false,
            memo: Arc::default(),
            search_attributes: Arc::default(),
            last_result: None,
            retry: None,
            task_timeout: TASK_TIMEOUT,
        }
    }

    /// Takes over what the first event says.
    pub(crate) fn begin(&mut self, started: &Started, at: SystemTime) {
        let limit =
            |span: &Option<_>| span.as_ref().map(span::from_wire).filter(|it| !it.is_zero());
        let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.original_run_id.clone_from(&started.original_execution_run_id);
        self.first_run_id.clone_from(&started.first_execution_run_id);
        self.continued_run_id = named(&started.continued_execution_run_id);
        self.parent = started.parent_workflow_execution.as_ref().map(|parent| ParentWorkflow {
            namespace: started.parent_workflow_namespace.clone(),
            workflow_id: parent.workflow_id.clone(),
            run_id: parent.run_id.clone(),
        });
        self.workflow_type =
            started.workflow_type.as_ref().map(|it| it.name.clone()).unwrap_or_default();
        if let Some(queue) = &started.task_queue {
            self.task_queue.clone_from(&queue.name);
        }
        self.started_at = at;
        self.execution_timeout = limit(&started.workflow_execution_timeout);
        self.run_timeout = limit(&started.workflow_run_timeout);
        self.cron = named(&started.cron_schedule);
        self.attempt = u32::try_from(started.attempt).unwrap_or(1).max(1);
        self.memo = Arc::new(Fields::of_memo(started.memo.as_ref()));
        let attributes = started.search_attributes.as_ref();
        self.search_attributes = Arc::new(Fields::of_search_attributes(attributes));
        self.last_result.clone_from(&started.last_completion_result);
        self.retry.clone_from(&started.retry_policy);
        self.task_timeout = limit(&started.workflow_task_timeout).unwrap_or(TASK_TIMEOUT);
    }

    pub(super) fn memo_mut(&mut self) -> &mut Fields {
        Arc::make_mut(&mut self.memo)
    }

    pub(super) fn search_attributes_mut(&mut self) -> &mut Fields {
        Arc::make_mut(&mut self.search_attributes)
    }

    /// All that is kept beside the run, and all that lists can ask for.
    pub(super) fn properties(&self) -> (Fields, Fields) {
        ((*self.memo).clone(), (*self.search_attributes).clone())
    }
}

/// How long a worker may have a task for, where nothing is said.
const TASK_TIMEOUT: Duration = Duration::from_secs(10);
