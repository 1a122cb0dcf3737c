//! What can be asked of a running workflow: signal, cancel, terminate, describe, delete.

use steadfast_core::{CancelRequest, Input, Run, Signal, Terminate};
use steadfast_proto::{
    common::WorkflowExecution,
    workflowservice::{
        DeleteWorkflowExecutionRequest, DeleteWorkflowExecutionResponse,
        DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse,
        RequestCancelWorkflowExecutionRequest, RequestCancelWorkflowExecutionResponse,
        ResetStickyTaskQueueRequest, ResetStickyTaskQueueResponse, SignalWorkflowExecutionRequest,
        SignalWorkflowExecutionResponse, TerminateWorkflowExecutionRequest,
        TerminateWorkflowExecutionResponse,
    },
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, address, check_length, not_found, start::check_blob};
use crate::{
    error::Error,
    namespaces::Namespace,
    shard::{Address, Desk, Job},
    visibility::{self, Schema},
};

impl Engine {
    /// Sends a signal.
    pub async fn signal_workflow_execution(
        &self,
        request: SignalWorkflowExecutionRequest,
    ) -> Result<SignalWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.workflow_execution.as_ref())?;
        if request.signal_name.is_empty() {
            return Err(Error::invalid("SignalName is not set on request."));
        }
        check_length("SignalName", &request.signal_name, namespace.limits.id_bytes_max)?;
        check_length("RequestId", &request.request_id, namespace.limits.id_bytes_max)?;
        check_blob(&namespace, request.input.as_ref())?;
        let signal = Signal {
            name: request.signal_name,
            input: request.input,
            identity: request.identity,
            header: request.header,
            request_id: request.request_id,
            links: request.links,
            ..Signal::default()
        };
        self.apply(address, String::new(), Input::Signal(signal), |_| ()).await?;
        Ok(SignalWorkflowExecutionResponse::default())
    }

    /// Asks a workflow to end.
    pub async fn request_cancel_workflow_execution(
        &self,
        request: RequestCancelWorkflowExecutionRequest,
    ) -> Result<RequestCancelWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let chain = request.first_execution_run_id;
        let address = address_in(&namespace, request.workflow_execution, &chain)?;
        let cancel = CancelRequest {
            reason: request.reason,
            identity: request.identity,
            links: request.links,
            ..CancelRequest::default()
        };
        self.apply(address, chain, Input::RequestCancel(cancel), |_| ()).await?;
        Ok(RequestCancelWorkflowExecutionResponse {})
    }

    /// Ends a workflow.
    pub async fn terminate_workflow_execution(
        &self,
        request: TerminateWorkflowExecutionRequest,
    ) -> Result<TerminateWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let chain = request.first_execution_run_id;
        let address = address_in(&namespace, request.workflow_execution, &chain)?;
        check_blob(&namespace, request.details.as_ref())?;
        let terminate = Terminate {
            reason: request.reason,
            details: request.details,
            identity: request.identity,
            links: request.links,
            ..Terminate::default()
        };
        self.apply(address, chain, Input::Terminate(terminate), |_| ()).await?;
        Ok(TerminateWorkflowExecutionResponse {})
    }

    /// Shows a workflow: what it waits for, which attempt, why the last one failed.
    pub async fn describe_workflow_execution(
        &self,
        request: DescribeWorkflowExecutionRequest,
    ) -> Result<DescribeWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.execution.as_ref())?;
        let mut described = self.look(address, |_, run| describe(run)).await?;
        let schema = Schema::new(namespace.search_attributes());
        if let Some(info) = &mut described.workflow_execution_info {
            let attributes = info.search_attributes.take().unwrap_or_default();
            info.search_attributes = Some(visibility::with_types(attributes, &schema));
        }
        Ok(described)
    }

    /// Makes the next workflow task go to any worker, with the whole history.
    pub async fn reset_sticky_task_queue(
        &self,
        request: ResetStickyTaskQueueRequest,
    ) -> Result<ResetStickyTaskQueueResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.execution.as_ref())?;
        self.apply(address, String::new(), Input::ResetSticky, |_| ()).await?;
        Ok(ResetStickyTaskQueueResponse {})
    }

    /// Deletes a workflow; one that runs is terminated first.
    pub async fn delete_workflow_execution(
        &self,
        request: DeleteWorkflowExecutionRequest,
    ) -> Result<DeleteWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.workflow_execution.as_ref())?;
        self.delete(address).await?;
        Ok(DeleteWorkflowExecutionResponse {})
    }

    /// Deletes a run, and answers when it is gone.
    pub(super) async fn delete(&self, address: Address) -> Result<(), Error> {
        let (slot, reply) = oneshot::channel();
        self.post(DeleteJob { address, slot });
        self.answer(reply).await
    }
}

struct DeleteJob {
    address: Address,
    slot: oneshot::Sender<Result<(), Error>>,
}

impl Job for DeleteJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Some(number) = found else {
            let error = not_found(&self.address);
            desk.release(move || drop(self.slot.send(Err(error))));
            return;
        };
        if desk.run(number).is_some_and(Run::is_open) {
            let terminate = Terminate {
                reason: "Delete workflow execution".to_owned(),
                identity: "history-service".to_owned(),
                ..Terminate::default()
            };
            // It is open, so it can be terminated.
            let _ = desk.apply(number, Input::Terminate(terminate));
        }
        desk.delete_when_quiet(number, self.slot);
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

/// Where to find what a request is about. Whoever names the first run of a chain means the run that is
/// its last, whichever run is named beside it.
fn address_in(
    namespace: &Namespace,
    execution: Option<WorkflowExecution>,
    chain: &str,
) -> Result<Address, Error> {
    let execution = execution.map(|mut execution| {
        if !chain.is_empty() {
            execution.run_id.clear();
        }
        execution
    });
    address(namespace, execution.as_ref())
}

fn describe(run: &Run) -> DescribeWorkflowExecutionResponse {
    DescribeWorkflowExecutionResponse {
        execution_config: Some(run.config()),
        workflow_execution_info: Some(run.info()),
        pending_activities: run.pending_activities(),
        pending_children: run.pending_children(),
        pending_workflow_task: run.pending_task(),
        workflow_extended_info: Some(run.extended_info()),
        callbacks: run.callbacks(),
        ..DescribeWorkflowExecutionResponse::default()
    }
}
