//! What can be asked of a running workflow: signal, cancel, terminate, describe, reset, delete.

use std::collections::BTreeSet;

use steadfast_core::{CancelRequest, Identity, Input, Reset, Run, Signal, Target, Terminate};
use steadfast_proto::{
    enums::ResetReapplyExcludeType,
    history::HistoryEvent,
    workflowservice::{
        DeleteWorkflowExecutionRequest, DeleteWorkflowExecutionResponse,
        DescribeWorkflowExecutionRequest, DescribeWorkflowExecutionResponse,
        RequestCancelWorkflowExecutionRequest, RequestCancelWorkflowExecutionResponse,
        ResetStickyTaskQueueRequest, ResetStickyTaskQueueResponse, ResetWorkflowExecutionRequest,
        ResetWorkflowExecutionResponse, SignalWorkflowExecutionRequest,
        SignalWorkflowExecutionResponse, TerminateWorkflowExecutionRequest,
        TerminateWorkflowExecutionResponse,
    },
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, address, check_length, not_found, start::check_blob};
use crate::{
    error::Error,
    history,
    shard::{Address, Desk, Job, Wishes},
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
        let address = address(&namespace, request.workflow_execution.as_ref())?;
        let cancel = CancelRequest {
            reason: request.reason,
            identity: request.identity,
            links: request.links,
            ..CancelRequest::default()
        };
        let chain = request.first_execution_run_id;
        self.apply(address, chain, Input::RequestCancel(cancel), |_| ()).await?;
        Ok(RequestCancelWorkflowExecutionResponse {})
    }

    /// Ends a workflow.
    pub async fn terminate_workflow_execution(
        &self,
        request: TerminateWorkflowExecutionRequest,
    ) -> Result<TerminateWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let address = address(&namespace, request.workflow_execution.as_ref())?;
        check_blob(&namespace, request.details.as_ref())?;
        let terminate = Terminate {
            reason: request.reason,
            details: request.details,
            identity: request.identity,
            links: request.links,
            ..Terminate::default()
        };
        let chain = request.first_execution_run_id;
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

    /// Starts a workflow over from an earlier point.
    pub async fn reset_workflow_execution(
        &self,
        request: ResetWorkflowExecutionRequest,
    ) -> Result<ResetWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let base = address(&namespace, request.workflow_execution.as_ref())?;
        let seen = self.look(base, seen).await?;
        let events = history::all(&**self.store(), seen.number, seen.last_event_id).await?;
        let request_id =
            if request.request_id.is_empty() { self.shared().ids.id() } else { request.request_id };
        #[expect(deprecated, reason = "older clients still say it this way")]
        let reset = Reset {
            base_run_id: seen.identity.run_id.clone(),
            identity: seen.identity.clone(),
            request_id,
            reason: request.reason,
            operator: request.identity,
            finish_event_id: request.workflow_task_finish_event_id,
            parent_run_id: String::new(),
            cadence: None,
            scheduled_by: seen.scheduled_by.clone(),
            exclude: excluded(&request.reset_reapply_exclude_types, request.reset_reapply_type),
        };
        let address = Address::of(&namespace.id, &seen.identity.workflow_id, "");
        let (slot, reply) = oneshot::channel();
        self.post(ResetJob { address, reset, events, seen, slot });
        Ok(ResetWorkflowExecutionResponse { run_id: self.answer(reply).await? })
    }
}

/// What a reset has seen of the run that it starts from.
struct Seen {
    number: RunNumber,
    identity: Identity,
    /// The first run of its chain.
    chain: String,
    last_event_id: i64,
    scheduled_by: Option<Target>,
}

fn seen(number: RunNumber, run: &Run) -> Seen {
    Seen {
        number,
        identity: run.identity().clone(),
        chain: run.first_run_id().to_owned(),
        last_event_id: run.last_event_id(),
        scheduled_by: run.state().scheduled_by.clone(),
    }
}

struct ResetJob {
    address: Address,
    reset: Reset,
    events: Vec<HistoryEvent>,
    seen: Seen,
    slot: oneshot::Sender<Result<String, Error>>,
}

impl Job for ResetJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let outcome = self.reset(desk, found);
        let slot = self.slot;
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

impl ResetJob {
    fn reset(&mut self, desk: &mut Desk<'_>, found: Option<RunNumber>) -> Result<String, Error> {
        let current = found.ok_or_else(|| not_found(&self.address))?;
        let missing = || not_found(&self.address);
        let entry = desk.entry(current).ok_or_else(missing)?;
        if entry.run.state().create_request_id == self.reset.request_id {
            return Ok(entry.run.identity().run_id.clone());
        }
        // What happened to the run between reading it and now must not get lost.
        let grown =
            self.seen.number == current && entry.run.last_event_id() != self.seen.last_event_id;
        if grown {
            return Err(Error::busy("the workflow has moved on; reset it again"));
        }
        if entry.run.first_run_id() == self.seen.chain {
            let parent = entry.run.parent().unwrap_or_default();
            self.reset.parent_run_id = parent.run_id;
            self.reset.cadence = entry.run.state().cadence;
        }
        let limits = entry.limits.clone();
        let is_open = entry.run.is_open();
        // What waits for a workflow task to end has no place in the history yet, but counts.
        let buffered: Vec<HistoryEvent> =
            entry.run.buffered().iter().map(|(_, event)| event.clone()).collect();
        let now = desk.now();
        let entropy = desk.shared().ids.entropy();
        let run_id = desk.shared().ids.entropy().run_id(now);
        self.reset.identity.run_id.clone_from(&run_id);
        let context = steadfast_core::Context { now, entropy, limits: &limits };
        let events = std::mem::take(&mut self.events);
        let (run, transition) = Run::reset(events, buffered, self.reset.clone(), context)?;
        if is_open {
            let terminate = Terminate {
                reason: self.reset.reason.clone(),
                identity: "history-resetter".to_owned(),
                reset_run_id: run_id.clone(),
                ..Terminate::default()
            };
            desk.apply(current, Input::Terminate(terminate))?;
        }
        desk.adopt(run, transition, limits, &mut Wishes::default());
        Ok(run_id)
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

fn describe(run: &Run) -> DescribeWorkflowExecutionResponse {
    DescribeWorkflowExecutionResponse {
        execution_config: Some(run.config()),
        workflow_execution_info: Some(run.info()),
        pending_activities: run.pending_activities(),
        pending_children: run.pending_children(),
        pending_workflow_task: run.pending_task(),
        workflow_extended_info: Some(run.extended_info()),
        ..DescribeWorkflowExecutionResponse::default()
    }
}

/// What is not taken over, in the new way of saying it or in the old one.
fn excluded(types: &[i32], reapply: i32) -> BTreeSet<i32> {
    use steadfast_proto::enums::ResetReapplyType as Reapply;
    let mut all: BTreeSet<i32> = types.iter().copied().collect();
    match Reapply::try_from(reapply) {
        Ok(Reapply::None) => {
            all.insert(ResetReapplyExcludeType::Signal.into());
            all.insert(ResetReapplyExcludeType::Update.into());
        }
        Ok(Reapply::Signal) => {
            all.insert(ResetReapplyExcludeType::Update.into());
        }
        _ => {}
    }
    all
}
