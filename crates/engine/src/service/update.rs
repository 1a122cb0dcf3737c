//! Updates: requests that the workflow's code may refuse, and that have an outcome.

use steadfast_core::{Aborted, Input, UpdateProgress, closed_before_update};
use steadfast_proto::{
    common,
    enums::UpdateWorkflowExecutionLifecycleStage as Stage,
    history::history_event::Attributes,
    update::{self, Outcome, UpdateRef},
    workflowservice::{
        PollWorkflowExecutionUpdateRequest, PollWorkflowExecutionUpdateResponse,
        UpdateWorkflowExecutionRequest, UpdateWorkflowExecutionResponse,
    },
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, address, not_found, start::check_blob, within};
use crate::{
    error::{Code, Error},
    history,
    namespaces::Namespace,
    shard::{Address, Desk, Job, UpdateWatcher},
};

impl Engine {
    /// Asks for an update and waits until it has got as far as the caller wants, or a while.
    pub async fn update_workflow_execution(
        &self,
        request: UpdateWorkflowExecutionRequest,
    ) -> Result<UpdateWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let wanted = self.wanted_update(&namespace, request)?;
        Ok(self.watch_update(wanted).await?.into())
    }

    /// Waits until an update has got as far as the caller wants, or a while.
    pub async fn poll_workflow_execution_update(
        &self,
        request: PollWorkflowExecutionUpdateRequest,
    ) -> Result<PollWorkflowExecutionUpdateResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let missing = || Error::invalid("UpdateRef is not set on request.");
        let reference = request.update_ref.ok_or_else(missing)?;
        let address = address(&namespace, reference.workflow_execution.as_ref())?;
        let stage = wanted_stage(request.wait_policy.as_ref(), Stage::Unspecified);
        let asked = WantedUpdate::known(address, reference.update_id, stage);
        let seen = self.watch_update(asked).await?;
        Ok(PollWorkflowExecutionUpdateResponse {
            update_ref: Some(seen.reference),
            outcome: seen.outcome,
            stage: seen.stage.into(),
        })
    }

    /// Checks a request and says what it wants.
    pub(super) fn wanted_update(
        &self,
        namespace: &Namespace,
        request: UpdateWorkflowExecutionRequest,
    ) -> Result<WantedUpdate, Error> {
        let address = address(namespace, request.workflow_execution.as_ref())?;
        let stage = wanted_stage(request.wait_policy.as_ref(), Stage::Completed);
        if stage == Stage::Admitted {
            return Err(Error::new(
                Code::PermissionDenied,
                "waiting for the stage ADMITTED is not supported; wait for ACCEPTED or COMPLETED",
            ));
        }
        let missing = || Error::invalid("Request is not set on request.");
        let mut wanted = request.request.ok_or_else(missing)?;
        let input = wanted.input.as_ref().ok_or_else(|| Error::invalid("Input is not set."))?;
        if input.name.is_empty() {
            return Err(Error::invalid("Update name is not set on request."));
        }
        check_blob(namespace, input.args.as_ref())?;
        let meta = wanted.meta.get_or_insert_default();
        if meta.update_id.is_empty() {
            meta.update_id = self.shared().ids.id();
        }
        let update_id = meta.update_id.clone();
        let chain = request.first_execution_run_id;
        Ok(WantedUpdate { address, update_id, chain, request: Some(wanted), stage })
    }

    async fn watch_update(&self, wanted: WantedUpdate) -> Result<SeenUpdate, Error> {
        self.follow_update(self.begin_watch(wanted).await?).await
    }

    async fn begin_watch(&self, wanted: WantedUpdate) -> Result<Watched, Error> {
        let (slot, reply) = oneshot::channel();
        self.post(WatchJob { wanted, slot });
        self.answer(reply).await
    }

    /// Waits for what comes of an update.
    pub(super) async fn follow_update(&self, watched: Watched) -> Result<SeenUpdate, Error> {
        let (seen, watch) = watched;
        let seen = self.with_outcome(seen).await?;
        let Some(watch) = watch else { return Ok(seen) };
        let longest = self.shared().limits.read_wait;
        let read_wait = self.patience(longest);
        match within(self.shared(), read_wait, watch).await {
            Some(Ok(UpdateProgress::Accepted)) => Ok(SeenUpdate { stage: Stage::Accepted, ..seen }),
            Some(Ok(UpdateProgress::Completed(outcome))) => {
                Ok(SeenUpdate { stage: Stage::Completed, outcome: Some(outcome), ..seen })
            }
            Some(Ok(UpdateProgress::Aborted(why))) => Err(aborted(why)),
            Some(Err(_)) => Err(self.no_answer()),
            // Who has set a limit wants to hear that it was reached: SDKs take any other answer
            // for a reason to ask again, with the same limit.
            None if read_wait < longest => self.check_running().and_then(|()| Err(timed_out())),
            None => {
                self.check_running()?;
                self.update_now(seen).await
            }
        }
    }

    /// How far an update is now: it may have been accepted while its caller waited for more.
    async fn update_now(&self, seen: SeenUpdate) -> Result<SeenUpdate, Error> {
        let update_id = seen.reference.update_id;
        let wanted = WantedUpdate::known(seen.address, update_id, Stage::Unspecified);
        let (now, _) = self.begin_watch(wanted).await?;
        self.with_outcome(now).await
    }

    async fn with_outcome(&self, mut seen: SeenUpdate) -> Result<SeenUpdate, Error> {
        if let Some((number, event_id)) = seen.outcome_in.take() {
            seen.outcome = self.recorded_outcome(number, event_id).await?;
        }
        Ok(seen)
    }

    async fn recorded_outcome(
        &self,
        number: RunNumber,
        event_id: i64,
    ) -> Result<Option<Outcome>, Error> {
        let events = history::page(&**self.store(), number, event_id, event_id, 1).await?;
        Ok(events.into_iter().next().and_then(|event| match event.attributes {
            Some(Attributes::WorkflowExecutionUpdateCompletedEventAttributes(done)) => done.outcome,
            _ => None,
        }))
    }
}

/// How far an update was seen to be.
#[derive(Clone, Debug)]
pub(super) struct SeenUpdate {
    address: Address,
    reference: UpdateRef,
    stage: Stage,
    outcome: Option<Outcome>,
    /// The event that has the outcome, if it must be read.
    outcome_in: Option<(RunNumber, i64)>,
}

/// How far an update is, and where to hear more.
pub(super) type Watched = (SeenUpdate, Option<oneshot::Receiver<UpdateProgress>>);

/// An update that somebody wants, or wants to hear of.
pub(super) struct WantedUpdate {
    address: Address,
    pub(super) update_id: String,
    /// The first run of the chain that is meant; empty for any.
    chain: String,
    /// What is asked for; `None` for those who only listen.
    request: Option<update::Request>,
    stage: Stage,
}

struct WatchJob {
    wanted: WantedUpdate,
    slot: oneshot::Sender<Result<Watched, Error>>,
}

impl From<SeenUpdate> for UpdateWorkflowExecutionResponse {
    fn from(seen: SeenUpdate) -> Self {
        Self {
            update_ref: Some(seen.reference),
            outcome: seen.outcome,
            stage: seen.stage.into(),
            link: None,
        }
    }
}

impl Job for WatchJob {
    fn address(&self) -> &Address {
        &self.wanted.address
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let outcome = self.wanted.watch(desk, found);
        let slot = self.slot;
        desk.release(move || drop(slot.send(outcome)));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

impl WantedUpdate {
    /// One that was asked for before.
    fn known(address: Address, update_id: String, stage: Stage) -> Self {
        Self { address, update_id, chain: String::new(), request: None, stage }
    }

    /// Admits the update if it is new, and says how far it is.
    pub(super) fn watch(
        &mut self,
        desk: &mut Desk<'_>,
        found: Option<RunNumber>,
    ) -> Result<Watched, Error> {
        let number = found.ok_or_else(|| not_found(&self.address))?;
        let run = desk.run(number).ok_or_else(|| not_found(&self.address))?;
        if !self.chain.is_empty() && run.first_run_id() != self.chain {
            return Err(Error::not_found("workflow execution not found"));
        }
        // The watcher is there before the input, so that nothing that comes of it is missed.
        let is_known = run.updates().get(&self.update_id).is_some();
        let (slot, watch) = oneshot::channel();
        if let Some(wanted) = self.request.take().filter(|_| !is_known) {
            desk.apply(number, Input::AdmitUpdate(wanted))?;
        }
        let entry = desk.entry(number).ok_or_else(|| not_found(&self.address))?;
        let Some(update) = entry.run.updates().get(&self.update_id) else {
            return Err(Error::not_found(format!("update {:?} not found", self.update_id)));
        };
        let identity = entry.run.identity();
        let mut seen = SeenUpdate {
            address: Address::Run {
                namespace_id: identity.namespace_id.clone(),
                workflow_id: identity.workflow_id.clone(),
                run_id: identity.run_id.clone(),
            },
            reference: UpdateRef {
                workflow_execution: Some(common::WorkflowExecution {
                    workflow_id: identity.workflow_id.clone(),
                    run_id: identity.run_id.clone(),
                }),
                update_id: self.update_id.clone(),
            },
            stage: Stage::Admitted,
            outcome: update.outcome.clone(),
            outcome_in: None,
        };
        if update.is_completed() {
            seen.stage = Stage::Completed;
            if seen.outcome.is_none() {
                seen.outcome_in = Some((number, update.row.completed_event_id));
            }
        } else if !entry.run.is_open() {
            seen.stage = Stage::Completed;
            seen.outcome = Some(closed_before_update());
        } else if update.is_accepted() {
            seen.stage = Stage::Accepted;
        }
        if i32::from(seen.stage) >= i32::from(self.stage) {
            return Ok((seen, None));
        }
        let outcome_only = self.stage == Stage::Completed;
        let watcher = UpdateWatcher { update_id: self.update_id.clone(), outcome_only, slot };
        desk.watch_update(number, watcher);
        Ok((seen, Some(watch)))
    }
}

fn wanted_stage(policy: Option<&update::WaitPolicy>, otherwise: Stage) -> Stage {
    match policy.map(update::WaitPolicy::lifecycle_stage) {
        None | Some(Stage::Unspecified) => otherwise,
        Some(stage) => stage,
    }
}

fn timed_out() -> Error {
    Error::new(Code::DeadlineExceeded, "the update did not get as far as wanted in the time given")
}

fn aborted(why: Aborted) -> Error {
    match why {
        Aborted::Closed => Error::not_found("workflow update was aborted by closing workflow"),
        Aborted::Continued => {
            Error::busy("workflow operation can not be applied because workflow is closing")
        }
        Aborted::TaskFailed => {
            Error::new(Code::FailedPrecondition, "the workflow task that carried the update failed")
        }
    }
}
