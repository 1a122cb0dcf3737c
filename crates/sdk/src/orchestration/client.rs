//! Starts orchestrations, talks to them, and reads what became of them.

use std::time::Duration;

use serde::Serialize;
use steadfast_proto::{
    common::WorkflowExecution,
    enums::WorkflowExecutionStatus,
    history::{HistoryEvent, history_event::Attributes as E},
    workflowservice as ws,
};

use super::{
    error::ErrorDetails,
    event::{Event, EventKind},
    text,
    view::view,
};
use crate::{
    client::{Client as Inner, ClientError as InnerError, WorkflowError, WorkflowHandle},
    payload::CodecError,
};

/// Starts orchestrations and talks to them.
#[derive(Clone, Debug)]
pub struct Client {
    client: Inner,
}

/// Why a call was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The orchestration has not ended in time. It goes on.
    #[error("instance {instance} has not ended within {timeout:?}")]
    Timeout {
        /// Which instance.
        instance: String,
        /// How long it was waited for.
        timeout: Duration,
    },
    /// There is no such execution.
    #[error("instance {instance} has no execution {execution_id}")]
    NoExecution {
        /// Which instance.
        instance: String,
        /// The number that was asked for.
        execution_id: u64,
    },
    /// A value cannot be written as JSON.
    #[error("{0}")]
    Codec(String),
    /// Anything else.
    #[error(transparent)]
    Service(#[from] InnerError),
}

/// How an orchestration stands.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum OrchestrationStatus {
    /// There is no such instance.
    NotFound,
    /// It runs.
    Running,
    /// It ended with a result.
    Completed {
        /// The result.
        output: String,
    },
    /// It ended without one.
    Failed {
        /// Why.
        details: ErrorDetails,
    },
}

impl Client {
    /// For orchestrations of this application.
    pub fn new(client: Inner) -> Self {
        Self { client }
    }

    /// Starts an orchestration. An instance that runs already is an error.
    pub async fn start_orchestration(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        input: impl Into<String>,
    ) -> Result<(), ClientError> {
        let start = self.client.start_named::<String>(orchestration, &input.into());
        start.id(instance).await?;
        Ok(())
    }

    /// Starts an orchestration, with types.
    pub async fn start_orchestration_typed<In: Serialize>(
        &self,
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        input: &In,
    ) -> Result<(), ClientError> {
        let input = text::of(input).map_err(ClientError::Codec)?;
        self.start_orchestration(instance, orchestration, input).await
    }

    /// Sends an event to an instance, for whoever waits for it there.
    pub async fn raise_event(
        &self,
        instance: impl Into<String>,
        name: impl AsRef<str>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        Ok(self.handle(instance).signal(name.as_ref(), &data.into()).await?)
    }

    /// Sends an event, with types.
    pub async fn raise_event_typed<T: Serialize>(
        &self,
        instance: impl Into<String>,
        name: impl AsRef<str>,
        data: &T,
    ) -> Result<(), ClientError> {
        let data = text::of(data).map_err(ClientError::Codec)?;
        self.raise_event(instance, name, data).await
    }

    /// Cancels an instance, its activities, and the orchestrations that it waits for.
    pub async fn cancel_instance(
        &self,
        instance: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<(), ClientError> {
        Ok(self.handle(instance).cancel_because(reason.into()).await?)
    }

    /// Waits until an instance has ended, but not longer than this.
    pub async fn wait_for_orchestration(
        &self,
        instance: &str,
        timeout: Duration,
    ) -> Result<OrchestrationStatus, ClientError> {
        let ended = self.ended(instance);
        #[expect(clippy::disallowed_methods, reason = "a client is outside of every replay")]
        let ended = tokio::time::timeout(timeout, ended).await;
        ended.unwrap_or_else(|_| {
            Err(ClientError::Timeout { instance: instance.to_owned(), timeout })
        })
    }

    /// How an instance stands.
    pub async fn get_orchestration_status(
        &self,
        instance: &str,
    ) -> Result<OrchestrationStatus, ClientError> {
        let described = match self.handle(instance).describe().await {
            Err(InnerError::NotFound(_)) => return Ok(OrchestrationStatus::NotFound),
            described => described?,
        };
        let info = described.workflow_execution_info.unwrap_or_default();
        let is_open = matches!(
            info.status(),
            WorkflowExecutionStatus::Running | WorkflowExecutionStatus::Paused
        );
        if is_open { Ok(OrchestrationStatus::Running) } else { self.ended(instance).await }
    }

    /// The executions of an instance, from 1: more than one if it went on as a new run.
    pub async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ClientError> {
        let runs = u64::try_from(self.runs(instance).await?.len()).unwrap_or_default();
        Ok((1..=runs).collect())
    }

    /// What has happened in one execution of an instance, in duroxide's words.
    pub async fn read_execution_history(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ClientError> {
        Ok(view(&self.read_raw_history(instance, execution_id).await?))
    }

    /// What has happened in one execution, in the engine's words: for a
    /// [replayer](super::OrchestrationRegistry::replayer).
    pub async fn read_raw_history(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<HistoryEvent>, ClientError> {
        let runs = self.runs(instance).await?;
        let index = usize::try_from(execution_id).ok().and_then(|id| id.checked_sub(1));
        let Some(run_id) = index.and_then(|index| runs.get(index)) else {
            return Err(ClientError::NoExecution { instance: instance.to_owned(), execution_id });
        };
        let execution =
            WorkflowExecution { workflow_id: instance.to_owned(), run_id: run_id.clone() };
        Ok(WorkflowHandle::<String>::new(self.client.clone(), execution).history().await?)
    }

    /// The runs of an instance, the first one first.
    async fn runs(&self, instance: &str) -> Result<Vec<String>, ClientError> {
        let mut runs = Vec::new();
        let mut before = Some(String::new());
        while let Some(run_id) = before {
            let (run_id, continued) = self.first_event(instance, run_id).await?;
            runs.push(run_id);
            before = Some(continued).filter(|run_id| !run_id.is_empty());
        }
        runs.reverse();
        Ok(runs)
    }

    /// The id of a run, the latest if none is given, and the id of the run that it continues.
    async fn first_event(
        &self,
        instance: &str,
        run_id: String,
    ) -> Result<(String, String), ClientError> {
        let execution = WorkflowExecution { workflow_id: instance.to_owned(), run_id };
        let handle = WorkflowHandle::<String>::new(self.client.clone(), execution);
        let described = handle.describe().await?;
        let info = described.workflow_execution_info.unwrap_or_default();
        let execution = info.execution.unwrap_or_default();
        let run_id = execution.run_id.clone();
        let request = ws::GetWorkflowExecutionHistoryRequest {
            namespace: self.client.namespace.clone(),
            execution: Some(execution),
            maximum_page_size: 1,
            ..ws::GetWorkflowExecutionHistoryRequest::default()
        };
        let page = self.client.door.get_workflow_execution_history(request).await;
        let page = page.map_err(InnerError::from)?;
        let first = page.history.and_then(|history| history.events.into_iter().next());
        let continued = match first.and_then(|event| event.attributes) {
            Some(E::WorkflowExecutionStartedEventAttributes(it)) => it.continued_execution_run_id,
            _ => String::new(),
        };
        Ok((run_id, continued))
    }

    /// Waits until an instance has ended.
    async fn ended(&self, instance: &str) -> Result<OrchestrationStatus, ClientError> {
        let failed = |details| Ok(OrchestrationStatus::Failed { details });
        match self.handle(instance).result().await {
            Ok(output) => Ok(OrchestrationStatus::Completed { output }),
            Err(WorkflowError::Client(InnerError::NotFound(_))) => {
                Ok(OrchestrationStatus::NotFound)
            }
            Err(WorkflowError::Client(error)) => Err(error.into()),
            Err(WorkflowError::Failed(failure)) => failed(ErrorDetails::of_orchestration(&failure)),
            Err(WorkflowError::Terminated { reason }) => failed(ErrorDetails::cancelled(reason)),
            Err(error @ WorkflowError::TimedOut) => {
                failed(ErrorDetails::Infrastructure { message: error.to_string() })
            }
            Err(WorkflowError::Cancelled) => {
                let events = view(&self.handle(instance).history().await?);
                let last = events.into_iter().next_back().map(|event| event.kind);
                match last {
                    Some(EventKind::OrchestrationFailed { details }) => failed(details),
                    _ => failed(ErrorDetails::cancelled(String::new())),
                }
            }
        }
    }

    fn handle(&self, instance: impl Into<String>) -> WorkflowHandle<String> {
        self.client.workflow(instance)
    }
}

impl From<CodecError> for ClientError {
    fn from(error: CodecError) -> Self {
        Self::Service(error.into())
    }
}
