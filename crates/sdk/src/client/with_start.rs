//! Messages that start their workflow, if it is not there: both, or nothing.

use serde::{Serialize, de::DeserializeOwned};
use steadfast_engine::{Detail, Error};
use steadfast_proto::{
    common::WorkflowExecution,
    enums::{UpdateWorkflowExecutionLifecycleStage as Stage, WorkflowIdConflictPolicy},
    workflowservice::{
        self as ws,
        execute_multi_operation_request::{Operation, operation::Operation as Kind},
        execute_multi_operation_response::response::Response,
    },
};

use super::{
    error::ClientError,
    handle::WorkflowHandle,
    start::{StartCall, taken},
    update::{self, UpdateHandle},
};
use crate::payload;

impl<T: DeserializeOwned> StartCall<T> {
    /// Starts it if it does not run, and sends it a signal.
    ///
    /// ```no_run
    /// # use steadfast::{Client, ClientError, Failure, WorkflowContext};
    /// # async fn cart(ctx: WorkflowContext, owner: String) -> Result<(), Failure> { Ok(()) }
    /// # async fn f(client: Client) -> Result<(), ClientError> {
    /// let cart = client.start(cart, "Ada").id("cart-ada").with_signal("add", &"lamp").await?;
    /// # Ok(()) }
    /// ```
    pub async fn with_signal(
        self,
        name: &str,
        value: &impl Serialize,
    ) -> Result<WorkflowHandle<T>, ClientError> {
        let signal_input = payload::encode_one(value)?;
        let client = self.client.clone();
        let start = self.request(WorkflowIdConflictPolicy::UseExisting)?;
        let workflow_id = start.workflow_id.clone();
        let request = ws::SignalWithStartWorkflowExecutionRequest {
            namespace: start.namespace,
            workflow_id: start.workflow_id,
            workflow_type: start.workflow_type,
            task_queue: start.task_queue,
            input: start.input,
            workflow_execution_timeout: start.workflow_execution_timeout,
            workflow_run_timeout: start.workflow_run_timeout,
            workflow_task_timeout: start.workflow_task_timeout,
            workflow_start_delay: start.workflow_start_delay,
            identity: start.identity,
            request_id: start.request_id,
            workflow_id_reuse_policy: start.workflow_id_reuse_policy,
            workflow_id_conflict_policy: start.workflow_id_conflict_policy,
            signal_name: name.to_owned(),
            signal_input,
            retry_policy: start.retry_policy,
            cron_schedule: start.cron_schedule,
            memo: start.memo,
            search_attributes: start.search_attributes,
            user_metadata: start.user_metadata,
            priority: start.priority,
            ..ws::SignalWithStartWorkflowExecutionRequest::default()
        };
        let started = client.door.signal_with_start_workflow_execution(request).await;
        let run_id = started.map_err(|error| taken(error, &workflow_id))?.run_id;
        Ok(WorkflowHandle::new(client, WorkflowExecution { workflow_id, run_id }))
    }

    /// Starts it if it does not run, has its code do something, and waits for what comes of it. What
    /// the code refuses is an error, and a workflow that was started for it goes on.
    ///
    /// One that runs already is used, unless [`id_conflict`](Self::id_conflict) says otherwise.
    ///
    /// ```no_run
    /// # use steadfast::{Client, ClientError, Failure, WorkflowContext};
    /// # async fn cart(ctx: WorkflowContext, owner: String) -> Result<(), Failure> { Ok(()) }
    /// # async fn f(client: Client) -> Result<(), ClientError> {
    /// let start = client.start(cart, "Ada").id("cart-ada");
    /// let (cart, total) = start.with_update::<u32>("add", &"lamp").await?;
    /// # Ok(()) }
    /// ```
    pub async fn with_update<R: DeserializeOwned>(
        self,
        name: &str,
        value: &impl Serialize,
    ) -> Result<(WorkflowHandle<T>, R), ClientError> {
        let args = payload::encode_one(value)?;
        let client = self.client.clone();
        let start = self.request(WorkflowIdConflictPolicy::UseExisting)?;
        let workflow_id = start.workflow_id.clone();
        let execution =
            WorkflowExecution { workflow_id: workflow_id.clone(), ..Default::default() };
        let update =
            update::request(&client, execution, None, name.to_owned(), args, Stage::Completed);
        let operations = [Kind::StartWorkflow(start), Kind::UpdateWorkflow(update)];
        let operations = operations.map(|kind| Operation { operation: Some(kind) });
        let request = ws::ExecuteMultiOperationRequest {
            namespace: client.namespace.clone(),
            operations: operations.into(),
            ..ws::ExecuteMultiOperationRequest::default()
        };
        let done = client.door.execute_multi_operation(request).await;
        let done = done.map_err(|error| taken(first_of(error), &workflow_id))?;
        let (started, updated) = both(done);
        let execution = WorkflowExecution { workflow_id, run_id: started.run_id };
        let outcome = updated.outcome.and_then(|outcome| outcome.value);
        let reference = updated.update_ref.unwrap_or_default();
        let result = UpdateHandle::new(client.clone(), reference, outcome).result().await?;
        Ok((WorkflowHandle::new(client, execution), result))
    }
}

fn both(
    done: ws::ExecuteMultiOperationResponse,
) -> (ws::StartWorkflowExecutionResponse, ws::UpdateWorkflowExecutionResponse) {
    let (mut started, mut updated) = Default::default();
    for response in done.responses {
        match response.response {
            Some(Response::StartWorkflow(it)) => started = it,
            Some(Response::UpdateWorkflow(it)) => updated = it,
            None => {}
        }
    }
    (started, updated)
}

/// Of an error that speaks of several operations, the one that is to blame.
fn first_of(error: Error) -> Error {
    let blamed = match error.detail.as_deref() {
        Some(Detail::MultiOperation(errors)) => {
            let aborted =
                |it: &&Error| !matches!(it.detail.as_deref(), Some(Detail::MultiOperationAborted));
            errors.iter().find(aborted).cloned()
        }
        _ => None,
    };
    blamed.unwrap_or(error)
}
