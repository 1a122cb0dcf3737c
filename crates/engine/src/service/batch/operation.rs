//! What a batch does to one run.

use steadfast_proto::{
    batch::BatchOperationReset,
    common::{ResetOptions, WorkflowExecution, reset_options},
    enums::{BatchOperationType, EventType, ResetType},
    history::HistoryEvent,
    workflowservice::{
        DeleteWorkflowExecutionRequest, GetWorkflowExecutionHistoryRequest,
        RequestCancelWorkflowExecutionRequest, ResetActivityRequest, ResetWorkflowExecutionRequest,
        SignalWorkflowExecutionRequest, StartBatchOperationRequest,
        TerminateWorkflowExecutionRequest, UnpauseActivityRequest, UpdateActivityOptionsRequest,
        reset_activity_request, start_batch_operation_request::Operation, unpause_activity_request,
        update_activity_options_request,
    },
};

use crate::{
    batch::Target,
    error::{Code, Error},
    service::Engine,
};

/// What a tool calls it. The older numbers, which all of them know.
#[expect(deprecated, reason = "all tools know these numbers")]
pub(super) fn kind(operation: &Operation) -> BatchOperationType {
    match operation {
        Operation::TerminationOperation(_) => BatchOperationType::Terminate,
        Operation::SignalOperation(_) => BatchOperationType::Signal,
        Operation::CancellationOperation(_) => BatchOperationType::Cancel,
        Operation::DeletionOperation(_) => BatchOperationType::Delete,
        Operation::ResetOperation(_) => BatchOperationType::Reset,
        Operation::UpdateWorkflowOptionsOperation(_) => BatchOperationType::UpdateExecutionOptions,
        Operation::UnpauseActivitiesOperation(_) => BatchOperationType::UnpauseActivity,
        Operation::ResetActivitiesOperation(_) => BatchOperationType::ResetActivity,
        Operation::UpdateActivityOptionsOperation(_) => BatchOperationType::UpdateActivityOptions,
        Operation::CancelActivitiesOperation(_) => BatchOperationType::CancelActivity,
        Operation::TerminateActivitiesOperation(_) => BatchOperationType::TerminateActivity,
        Operation::DeleteActivitiesOperation(_) => BatchOperationType::DeleteActivity,
    }
}

/// Who wants it.
pub(super) fn identity(operation: &Operation) -> &str {
    match operation {
        Operation::TerminationOperation(it) => &it.identity,
        Operation::SignalOperation(it) => &it.identity,
        Operation::CancellationOperation(it) => &it.identity,
        Operation::DeletionOperation(it) => &it.identity,
        Operation::ResetOperation(it) => &it.identity,
        Operation::UpdateWorkflowOptionsOperation(it) => &it.identity,
        Operation::UnpauseActivitiesOperation(it) => &it.identity,
        Operation::ResetActivitiesOperation(it) => &it.identity,
        Operation::UpdateActivityOptionsOperation(it) => &it.identity,
        Operation::CancelActivitiesOperation(it) => &it.identity,
        Operation::TerminateActivitiesOperation(it) => &it.identity,
        Operation::DeleteActivitiesOperation(_) => "",
    }
}

/// Refuses what could be done to no run at all.
pub(super) fn check(operation: &Operation) -> Result<(), Error> {
    match operation {
        Operation::SignalOperation(it) if it.signal.is_empty() => {
            Err(Error::invalid("signal_operation: SignalName is not set on request."))
        }
        Operation::ResetOperation(it) if !it.post_reset_operations.is_empty() => {
            Err(unsupported("reset_operation.post_reset_operations"))
        }
        Operation::ResetOperation(it) => {
            let build_id = it.options.as_ref().and_then(|options| options.target.as_ref());
            match build_id {
                Some(reset_options::Target::BuildId(_)) => {
                    Err(unsupported("reset_operation.options.build_id"))
                }
                _ => Ok(()),
            }
        }
        Operation::UnpauseActivitiesOperation(it) if it.activity.is_none() => Err(no_activity()),
        Operation::ResetActivitiesOperation(it) if it.activity.is_none() => Err(no_activity()),
        Operation::UpdateActivityOptionsOperation(it) if it.activity.is_none() => {
            Err(no_activity())
        }
        Operation::UpdateWorkflowOptionsOperation(_) => {
            Err(unsupported("update_workflow_options_operation"))
        }
        Operation::CancelActivitiesOperation(_)
        | Operation::TerminateActivitiesOperation(_)
        | Operation::DeleteActivitiesOperation(_) => Err(unsupported("standalone activities")),
        Operation::TerminationOperation(_)
        | Operation::SignalOperation(_)
        | Operation::CancellationOperation(_)
        | Operation::DeletionOperation(_)
        | Operation::UnpauseActivitiesOperation(_)
        | Operation::ResetActivitiesOperation(_)
        | Operation::UpdateActivityOptionsOperation(_) => Ok(()),
    }
}

impl Engine {
    /// Does to one run what a batch is for. The same again changes nothing.
    pub(super) async fn operate(
        &self,
        job_id: &str,
        request: &StartBatchOperationRequest,
        namespace: &str,
        target: &Target,
    ) -> Result<(), Error> {
        let namespace = namespace.to_owned();
        let run = Some(WorkflowExecution {
            workflow_id: target.workflow_id.clone(),
            run_id: target.run_id.clone(),
        });
        let request_id = format!("{job_id}/{}", target.run_id);
        let reason = request.reason.clone();
        let Some(operation) = request.operation.clone() else { return Ok(()) };
        match operation {
            Operation::TerminationOperation(it) => {
                let request = TerminateWorkflowExecutionRequest {
                    namespace,
                    workflow_execution: run,
                    reason,
                    details: it.details,
                    identity: it.identity,
                    ..TerminateWorkflowExecutionRequest::default()
                };
                self.terminate_workflow_execution(request).await.map(drop)
            }
            Operation::SignalOperation(it) => {
                let request = SignalWorkflowExecutionRequest {
                    namespace,
                    workflow_execution: run,
                    signal_name: it.signal,
                    input: it.input,
                    header: it.header,
                    identity: it.identity,
                    request_id,
                    ..SignalWorkflowExecutionRequest::default()
                };
                self.signal_workflow_execution(request).await.map(drop)
            }
            Operation::CancellationOperation(it) => {
                let request = RequestCancelWorkflowExecutionRequest {
                    namespace,
                    workflow_execution: run,
                    identity: it.identity,
                    request_id,
                    reason,
                    ..RequestCancelWorkflowExecutionRequest::default()
                };
                self.request_cancel_workflow_execution(request).await.map(drop)
            }
            Operation::DeletionOperation(_) => {
                let request = DeleteWorkflowExecutionRequest { namespace, workflow_execution: run };
                self.delete_workflow_execution(request).await.map(drop)
            }
            Operation::ResetOperation(it) => {
                let request = ResetWorkflowExecutionRequest {
                    namespace,
                    workflow_execution: run,
                    reason,
                    request_id,
                    ..ResetWorkflowExecutionRequest::default()
                };
                self.reset_one(it, request).await
            }
            other @ (Operation::UnpauseActivitiesOperation(_)
            | Operation::ResetActivitiesOperation(_)
            | Operation::UpdateActivityOptionsOperation(_)
            | Operation::UpdateWorkflowOptionsOperation(_)
            | Operation::CancelActivitiesOperation(_)
            | Operation::TerminateActivitiesOperation(_)
            | Operation::DeleteActivitiesOperation(_)) => {
                self.operate_on_activities(other, namespace, run).await
            }
        }
    }

    #[expect(deprecated, reason = "older tools still say it this way")]
    async fn reset_one(
        &self,
        wanted: BatchOperationReset,
        request: ResetWorkflowExecutionRequest,
    ) -> Result<(), Error> {
        let options = reset_options(&wanted);
        let run = request.workflow_execution.clone();
        let request = ResetWorkflowExecutionRequest {
            workflow_task_finish_event_id: self
                .reset_point(&request.namespace, run, &options)
                .await?,
            reset_reapply_type: options.reset_reapply_type,
            reset_reapply_exclude_types: options.reset_reapply_exclude_types,
            identity: wanted.identity,
            ..request
        };
        self.reset_workflow_execution(request).await.map(drop)
    }

    async fn operate_on_activities(
        &self,
        operation: Operation,
        namespace: String,
        execution: Option<WorkflowExecution>,
    ) -> Result<(), Error> {
        use steadfast_proto::batch::{
            batch_operation_reset_activities::Activity as Resets,
            batch_operation_unpause_activities::Activity as Unpauses,
            batch_operation_update_activity_options::Activity as Updates,
        };
        if let Operation::UnpauseActivitiesOperation(it) = operation {
            let activity = it.activity.map(|it| match it {
                Unpauses::Type(name) => unpause_activity_request::Activity::Type(name),
                Unpauses::MatchAll(all) => unpause_activity_request::Activity::UnpauseAll(all),
            });
            let request = UnpauseActivityRequest {
                namespace,
                execution,
                identity: it.identity,
                activity,
                reset_attempts: it.reset_attempts,
                reset_heartbeat: it.reset_heartbeat,
                jitter: it.jitter,
            };
            self.unpause_activity(request).await.map(drop)
        } else if let Operation::ResetActivitiesOperation(it) = operation {
            let activity = it.activity.map(|it| match it {
                Resets::Type(name) => reset_activity_request::Activity::Type(name),
                Resets::MatchAll(all) => reset_activity_request::Activity::MatchAll(all),
            });
            let request = ResetActivityRequest {
                namespace,
                execution,
                identity: it.identity,
                activity,
                reset_heartbeat: it.reset_heartbeat,
                keep_paused: it.keep_paused,
                jitter: it.jitter,
                restore_original_options: it.restore_original_options,
            };
            self.reset_activity(request).await.map(drop)
        } else if let Operation::UpdateActivityOptionsOperation(it) = operation {
            let activity = it.activity.map(|it| match it {
                Updates::Type(name) => update_activity_options_request::Activity::Type(name),
                Updates::MatchAll(all) => update_activity_options_request::Activity::MatchAll(all),
            });
            let request = UpdateActivityOptionsRequest {
                namespace,
                execution,
                identity: it.identity,
                activity_options: it.activity_options,
                update_mask: it.update_mask,
                activity,
                restore_original: it.restore_original,
            };
            self.update_activity_options(request).await.map(drop)
        } else {
            Err(unsupported("this operation"))
        }
    }

    /// The event that a run is reset to: its first completed workflow task, or its last; if it
    /// has none, the one that was scheduled.
    async fn reset_point(
        &self,
        namespace: &str,
        execution: Option<WorkflowExecution>,
        options: &ResetOptions,
    ) -> Result<i64, Error> {
        let first = match options.target {
            Some(reset_options::Target::WorkflowTaskId(id)) => return Ok(id),
            Some(reset_options::Target::FirstWorkflowTask(())) => true,
            _ => false,
        };
        let mut request = GetWorkflowExecutionHistoryRequest {
            namespace: namespace.to_owned(),
            execution,
            ..GetWorkflowExecutionHistoryRequest::default()
        };
        let (mut scheduled, mut completed) = (None, None);
        loop {
            let page = self.get_workflow_execution_history(request.clone()).await?;
            let events = page.history.unwrap_or_default().events;
            let last = |kind: EventType| last_of(&events, kind);
            if first && let Some(event) = first_of(&events, EventType::WorkflowTaskCompleted) {
                return Ok(event);
            }
            completed = last(EventType::WorkflowTaskCompleted).or(completed);
            scheduled = last(EventType::WorkflowTaskScheduled).or(scheduled);
            if page.next_page_token.is_empty() {
                let after_scheduled = scheduled.map(|id| id + 1);
                let none = || Error::invalid("the workflow has no workflow task to reset to");
                return completed.or(after_scheduled).ok_or_else(none);
            }
            request.next_page_token = page.next_page_token;
        }
    }
}

fn first_of(events: &[HistoryEvent], kind: EventType) -> Option<i64> {
    events.iter().find(|event| event.event_type() == kind).map(|event| event.event_id)
}

fn last_of(events: &[HistoryEvent], kind: EventType) -> Option<i64> {
    events.iter().rfind(|event| event.event_type() == kind).map(|event| event.event_id)
}

/// How a run is reset, in the new way of saying it or in the old one.
#[expect(deprecated, reason = "older tools still say it this way")]
fn reset_options(it: &BatchOperationReset) -> ResetOptions {
    it.options.clone().unwrap_or_else(|| ResetOptions {
        target: Some(match it.reset_type() {
            ResetType::FirstWorkflowTask => reset_options::Target::FirstWorkflowTask(()),
            ResetType::LastWorkflowTask | ResetType::Unspecified => {
                reset_options::Target::LastWorkflowTask(())
            }
        }),
        reset_reapply_type: it.reset_reapply_type,
        ..ResetOptions::default()
    })
}

fn no_activity() -> Error {
    Error::invalid("activity is not set on request: name a type or match_all")
}

fn unsupported(what: &str) -> Error {
    Error::new(Code::Unimplemented, format!("{what}: not supported in a batch"))
}
