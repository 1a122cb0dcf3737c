//! A workflow that was started: its result, and messages to it.

use std::marker::PhantomData;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    common::WorkflowExecution,
    enums::{HistoryEventFilterType, WorkflowExecutionStatus},
    history::{HistoryEvent, history_event::Attributes as E},
    query::WorkflowQuery,
    workflowservice as ws,
};

use super::{
    Client,
    error::{ClientError, WorkflowError},
    start::fresh_id,
};
use crate::{error::Failure, payload};

/// A workflow that was started.
///
/// It outlives the server's connection, as [`Client`] does.
///
/// ```no_run
/// # async fn f(client: steadfast::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let order = client.workflow::<String>("order-17");
/// order.signal("vote", &true).await?;
/// let votes: u32 = order.query("votes", &()).await?;
/// let receipt = order.result().await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct WorkflowHandle<T> {
    client: Client,
    execution: WorkflowExecution,
    result: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> WorkflowHandle<T> {
    pub(crate) fn new(client: Client, execution: WorkflowExecution) -> Self {
        Self { client, execution, result: PhantomData }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn execution(&self) -> &WorkflowExecution {
        &self.execution
    }

    /// Its id.
    pub fn workflow_id(&self) -> &str {
        &self.execution.workflow_id
    }

    /// The run that was started; empty if it is not known, and then the latest is meant.
    pub fn run_id(&self) -> &str {
        &self.execution.run_id
    }

    /// That run of it, not the latest one: an earlier one of its chain, say, from a
    /// [list](Client::list).
    ///
    /// ```no_run
    /// # async fn f(client: steadfast::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// for run in client.list("WorkflowId = 'order-17'").await? {
    ///     let run = run.execution.unwrap_or_default();
    ///     let run = client.workflow::<String>(run.workflow_id).run(run.run_id);
    ///     println!("{} has {} events", run.run_id(), run.history().await?.len());
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn run(mut self, run_id: impl Into<String>) -> Self {
        self.execution.run_id = run_id.into();
        self
    }

    /// Waits for its result: that of the last run, if it goes on as a new one.
    ///
    /// It waits as long as the workflow takes. A server that is away meanwhile is asked again when it
    /// is back, however long that takes; `tokio::time::timeout` around it is for those who have less
    /// time.
    pub async fn result(&self) -> Result<T, WorkflowError> {
        let mut execution = self.execution.clone();
        loop {
            let close = self.close_event(&execution).await?;
            match ended(close)? {
                Ended::Completed(result) => return Ok(payload::decode_one(result.as_ref())?),
                Ended::Next(run_id) => execution.run_id = run_id,
            }
        }
    }

    /// Sends a signal.
    pub async fn signal(&self, name: &str, value: &impl Serialize) -> Result<(), ClientError> {
        let request = ws::SignalWorkflowExecutionRequest {
            namespace: self.client.namespace.clone(),
            workflow_execution: Some(self.latest()),
            signal_name: name.to_owned(),
            input: payload::encode_one(value)?,
            identity: self.client.identity.clone(),
            request_id: fresh_id().to_string(),
            ..ws::SignalWorkflowExecutionRequest::default()
        };
        self.client.door.signal_workflow_execution(request).await?;
        Ok(())
    }

    /// Asks its code something.
    pub async fn query<R: DeserializeOwned>(
        &self,
        name: &str,
        value: &impl Serialize,
    ) -> Result<R, ClientError> {
        let request = ws::QueryWorkflowRequest {
            namespace: self.client.namespace.clone(),
            execution: Some(self.latest()),
            query: Some(WorkflowQuery {
                query_type: name.to_owned(),
                query_args: payload::encode_one(value)?,
                ..WorkflowQuery::default()
            }),
            ..ws::QueryWorkflowRequest::default()
        };
        let answer = self.client.door.query_workflow(request).await?;
        Ok(payload::decode_one(answer.query_result.as_ref())?)
    }

    /// Asks it to cancel: its code hears of it, and can clean up.
    pub async fn cancel(&self) -> Result<(), ClientError> {
        self.cancel_because(String::new()).await
    }

    /// As [`cancel`](Self::cancel), with a reason for history.
    pub async fn cancel_because(&self, reason: impl Into<String>) -> Result<(), ClientError> {
        let request = ws::RequestCancelWorkflowExecutionRequest {
            namespace: self.client.namespace.clone(),
            workflow_execution: Some(self.latest()),
            identity: self.client.identity.clone(),
            request_id: fresh_id().to_string(),
            reason: reason.into(),
            ..ws::RequestCancelWorkflowExecutionRequest::default()
        };
        self.client.door.request_cancel_workflow_execution(request).await?;
        Ok(())
    }

    /// Ends it at once, without asking its code.
    pub async fn terminate(&self, reason: &str) -> Result<(), ClientError> {
        let request = ws::TerminateWorkflowExecutionRequest {
            namespace: self.client.namespace.clone(),
            workflow_execution: Some(self.latest()),
            reason: reason.to_owned(),
            identity: self.client.identity.clone(),
            ..ws::TerminateWorkflowExecutionRequest::default()
        };
        self.client.door.terminate_workflow_execution(request).await?;
        Ok(())
    }

    /// Goes back to a workflow task, named by the event with which it ended, and goes on from there in
    /// a new run, with the code that is there now. A run that is under way is terminated. Gives the new
    /// run.
    ///
    /// ```no_run
    /// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
    /// let again = order.reset(4, "the code that took event 4 is mended").await?;
    /// # Ok(()) }
    /// ```
    pub async fn reset(&self, event_id: i64, reason: &str) -> Result<Self, ClientError> {
        let request = ws::ResetWorkflowExecutionRequest {
            namespace: self.client.namespace.clone(),
            workflow_execution: Some(self.execution.clone()),
            reason: reason.to_owned(),
            workflow_task_finish_event_id: event_id,
            request_id: fresh_id().to_string(),
            identity: self.client.identity.clone(),
            ..ws::ResetWorkflowExecutionRequest::default()
        };
        let run_id = self.client.door.reset_workflow_execution(request).await?.run_id;
        let workflow_id = self.execution.workflow_id.clone();
        Ok(Self::new(self.client.clone(), WorkflowExecution { workflow_id, run_id }))
    }

    /// Deletes it and its history. If it runs, it is terminated.
    pub async fn delete(&self) -> Result<(), ClientError> {
        let request = ws::DeleteWorkflowExecutionRequest {
            namespace: self.client.namespace.clone(),
            workflow_execution: Some(self.execution.clone()),
        };
        self.client.door.delete_workflow_execution(request).await?;
        Ok(())
    }

    /// How it stands: its status, what is pending, the attempts and failures of what is retried.
    ///
    /// ```no_run
    /// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
    /// for activity in order.describe().await?.pending_activities {
    ///     println!("attempt {} of {:?}", activity.attempt, activity.activity_type);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn describe(&self) -> Result<ws::DescribeWorkflowExecutionResponse, ClientError> {
        let request = ws::DescribeWorkflowExecutionRequest {
            namespace: self.client.namespace.clone(),
            execution: Some(self.execution.clone()),
        };
        Ok(self.client.door.describe_workflow_execution(request).await?)
    }

    /// Whether it runs, or how it has closed.
    ///
    /// ```no_run
    /// # async fn f(order: steadfast::WorkflowHandle<String>) -> Result<(), steadfast::ClientError> {
    /// use steadfast::WorkflowExecutionStatus;
    ///
    /// if order.status().await? == WorkflowExecutionStatus::Running {
    ///     order.cancel_because("nobody wants it any more").await?;
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn status(&self) -> Result<WorkflowExecutionStatus, ClientError> {
        let info = self.describe().await?.workflow_execution_info.unwrap_or_default();
        Ok(info.status())
    }

    /// All events of the run.
    pub async fn history(&self) -> Result<Vec<HistoryEvent>, ClientError> {
        let Client { door, namespace, .. } = &self.client;
        Ok(door.history(namespace, &self.execution).await?)
    }

    /// Messages go to whichever run is there: the one that was started may have gone on as a new one.
    pub(super) fn latest(&self) -> WorkflowExecution {
        WorkflowExecution { workflow_id: self.execution.workflow_id.clone(), run_id: String::new() }
    }

    /// Waits for the event with which a run closes.
    async fn close_event(
        &self,
        execution: &WorkflowExecution,
    ) -> Result<HistoryEvent, ClientError> {
        let mut next_page_token = Vec::new();
        loop {
            let request = ws::GetWorkflowExecutionHistoryRequest {
                namespace: self.client.namespace.clone(),
                execution: Some(execution.clone()),
                wait_new_event: true,
                history_event_filter_type: HistoryEventFilterType::CloseEvent.into(),
                next_page_token,
                ..ws::GetWorkflowExecutionHistoryRequest::default()
            };
            let page = match self.client.door.get_workflow_execution_history(request).await {
                Err(error) if self.client.door.asks_again(&error) => {
                    next_page_token = Vec::new();
                    continue;
                }
                page => page?,
            };
            let last = page.history.and_then(|history| history.events.into_iter().next_back());
            match last {
                Some(event) => return Ok(event),
                None => next_page_token = page.next_page_token,
            }
        }
    }
}

enum Ended {
    Completed(Option<steadfast_proto::common::Payloads>),
    /// It goes on as another run.
    Next(String),
}

fn ended(close: HistoryEvent) -> Result<Ended, WorkflowError> {
    let next = |run_id: String, otherwise: Result<Ended, WorkflowError>| {
        if run_id.is_empty() { otherwise } else { Ok(Ended::Next(run_id)) }
    };
    match close.attributes {
        Some(E::WorkflowExecutionCompletedEventAttributes(it)) => {
            next(it.new_execution_run_id, Ok(Ended::Completed(it.result)))
        }
        Some(E::WorkflowExecutionFailedEventAttributes(it)) => {
            let failure = Failure::from_wire(it.failure.unwrap_or_default());
            next(it.new_execution_run_id, Err(WorkflowError::Failed(failure)))
        }
        Some(E::WorkflowExecutionTimedOutEventAttributes(it)) => {
            next(it.new_execution_run_id, Err(WorkflowError::TimedOut))
        }
        Some(E::WorkflowExecutionContinuedAsNewEventAttributes(it)) => {
            Ok(Ended::Next(it.new_execution_run_id))
        }
        Some(E::WorkflowExecutionCanceledEventAttributes(_)) => Err(WorkflowError::Cancelled),
        Some(E::WorkflowExecutionTerminatedEventAttributes(it)) => {
            Err(WorkflowError::Terminated { reason: it.reason })
        }
        _ => Err(WorkflowError::Client(ClientError::NotFound("the run is gone".to_owned()))),
    }
}

impl<T> Clone for WorkflowHandle<T> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone(), execution: self.execution.clone(), result: PhantomData }
    }
}
