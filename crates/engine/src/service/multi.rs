//! Update-with-start: a workflow is started, if need be, and updated, in one step.
//!
//! ```text
//!   knows the update ──▶ listen            open ──▶ as its conflict policy says ─┐
//!                                          closed ──▶ as its reuse policy says ──┼──▶ admit, listen
//!                                          none ──▶ start ───────────────────────┘
//! ```
//!
//! The first workflow task of a run that is started so carries the update: the task is not offered
//! before the update is admitted.

use std::sync::Arc;

use steadfast_core::Run;
use steadfast_proto::workflowservice::{
    ExecuteMultiOperationRequest, ExecuteMultiOperationResponse, StartWorkflowExecutionRequest,
    StartWorkflowExecutionResponse, UpdateWorkflowExecutionRequest,
    execute_multi_operation_request::operation::Operation,
    execute_multi_operation_response::{Response, response::Response as Kind},
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{
    Engine,
    start::{Done, Starter, done},
    update::{WantedUpdate, Watched},
};
use crate::{
    error::{Detail, Error},
    namespaces::Namespace,
    shard::{Address, Desk, Job},
    start::StartPolicy,
};

impl Engine {
    /// Starts a workflow, if it does not run, and updates it; both or nothing. Waits for the update
    /// as [`update_workflow_execution`](Self::update_workflow_execution) does.
    pub async fn execute_multi_operation(
        &self,
        request: ExecuteMultiOperationRequest,
    ) -> Result<ExecuteMultiOperationResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let (start, update) = operations(request)?;
        let workflow_id = start.workflow_id.clone();
        let starter = self.starter(&namespace, start);
        let wanted = check_update(&update, &workflow_id)
            .and_then(|()| self.wanted_update(&namespace, update));
        let (starter, wanted) = match (starter, wanted) {
            (Ok(starter), Ok(wanted)) => (starter, wanted),
            (starter, wanted) => return Err(failed(starter.err(), wanted.err())),
        };
        let (slot, reply) = oneshot::channel();
        let address = Address::of(&namespace.id, &workflow_id, "");
        self.post(UpdateWithStartJob { address, starter, wanted, slot });
        let (started, watched) = self.answer(reply).await?;
        let seen = self.follow_update(watched).await.map_err(|error| failed(None, Some(error)))?;
        let started = StartWorkflowExecutionResponse {
            run_id: started.run_id,
            first_execution_run_id: started.first_run_id,
            started: started.started,
            status: started.status,
            ..StartWorkflowExecutionResponse::default()
        };
        let response = |kind| Response { response: Some(kind) };
        Ok(ExecuteMultiOperationResponse {
            responses: vec![
                response(Kind::StartWorkflow(started)),
                response(Kind::UpdateWorkflow(seen.into())),
            ],
        })
    }

    fn starter(
        &self,
        namespace: &Arc<Namespace>,
        mut request: StartWorkflowExecutionRequest,
    ) -> Result<Starter, Error> {
        check_start(&request)?;
        let policy = StartPolicy::of_start(
            request.workflow_id_reuse_policy(),
            request.workflow_id_conflict_policy(),
        )?;
        if request.request_id.is_empty() {
            request.request_id = self.shared().ids.id();
        }
        Ok(Starter {
            namespace: Arc::clone(namespace),
            wanted: Self::wanted(namespace, request)?,
            policy,
            signal: None,
            eager: None,
        })
    }
}

struct UpdateWithStartJob {
    address: Address,
    starter: Starter,
    wanted: WantedUpdate,
    slot: oneshot::Sender<Result<(Done, Watched), Error>>,
}

impl Job for UpdateWithStartJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn creates(&self) -> bool {
        true
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let outcome = self.execute(desk, found);
        let slot = self.slot;
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

impl UpdateWithStartJob {
    fn execute(
        &mut self,
        desk: &mut Desk<'_>,
        found: Option<RunNumber>,
    ) -> Result<(Done, Watched), Error> {
        let known = found.filter(|number| desk.run(*number).is_some_and(|run| self.is_known(run)));
        let started = match known {
            // It is the same request once more, whatever has become of the run since.
            Some(number) => done(desk, number, self.is_by_this_request(desk, number)),
            None => self.starter.start(desk, found),
        };
        let started = started.map_err(|error| failed(Some(error), None))?;
        let watched = self.wanted.watch(desk, Some(started.number));
        let watched = watched.map_err(|error| failed(None, Some(error)))?;
        Ok((started, watched))
    }

    /// Whether the run has this update. One that a closed run has left undone is not had by
    /// anybody: what becomes of the request is for the policy on used ids to say.
    fn is_known(&self, run: &Run) -> bool {
        let update = run.updates().get(&self.wanted.update_id);
        update.is_some_and(|update| run.is_open() || update.is_completed())
    }

    fn is_by_this_request(&self, desk: &Desk<'_>, number: RunNumber) -> bool {
        let request_id = &self.starter.wanted.request_id;
        desk.run(number).is_some_and(|run| run.state().create_request_id == *request_id)
    }
}

/// A start and an update, in this order and nothing else.
fn operations(
    request: ExecuteMultiOperationRequest,
) -> Result<(StartWorkflowExecutionRequest, UpdateWorkflowExecutionRequest), Error> {
    let mut operations = request.operations.into_iter().map(|it| it.operation);
    match (operations.next(), operations.next(), operations.next()) {
        (
            Some(Some(Operation::StartWorkflow(start))),
            Some(Some(Operation::UpdateWorkflow(update))),
            None,
        ) => Ok((start, update)),
        _ => Err(Error::invalid("Operations have to be exactly [Start, Update].")),
    }
}

fn check_start(request: &StartWorkflowExecutionRequest) -> Result<(), Error> {
    let refused = |field: &str| Error::invalid(format!("{field} is not supported with an update."));
    if !request.cron_schedule.is_empty() {
        return Err(refused("CronSchedule"));
    }
    if request.request_eager_execution {
        return Err(refused("RequestEagerExecution"));
    }
    if request.workflow_start_delay.is_some() {
        return Err(refused("WorkflowStartDelay"));
    }
    Ok(())
}

fn check_update(request: &UpdateWorkflowExecutionRequest, workflow_id: &str) -> Result<(), Error> {
    let execution = request.workflow_execution.clone().unwrap_or_default();
    if execution.workflow_id != workflow_id {
        return Err(Error::invalid("WorkflowId is not consistent with previous operation(s)"));
    }
    if !execution.run_id.is_empty() {
        return Err(Error::invalid("RunId is not allowed: the run may be a new one."));
    }
    if !request.first_execution_run_id.is_empty() {
        return Err(Error::invalid(
            "FirstExecutionRunId is not allowed: the run may be a new one.",
        ));
    }
    Ok(())
}

/// What is said when one part failed: its code is that of the first part that failed by itself.
fn failed(start: Option<Error>, update: Option<Error>) -> Error {
    let code = start.as_ref().or(update.as_ref()).map(|error| error.code);
    let statuses = [start, update].map(|error| error.unwrap_or_else(Error::operation_aborted));
    let code = code.unwrap_or(statuses[0].code);
    Error::new(code, "Update-with-Start could not be executed.")
        .with(Detail::MultiOperation(statuses.into()))
}
