//! Reset: a workflow starts over from an earlier point, and keeps what came from outside since.
//!
//! ```text
//!  base ─▶ went on as ─▶ went on as ─▶ last          the chain, read run by run
//!   │ cut
//!   └──▶ new: signals and updates of all of them     made by the shard, if the last is as it was
//! ```

use std::{collections::BTreeSet, mem::take};

use steadfast_core::{
    Context, Identity, Input, Past, Reset, ResumedBy, Run, Target, Terminate, Unknown,
};
use steadfast_proto::{
    enums::ResetReapplyExcludeType,
    history::HistoryEvent,
    workflowservice::{ResetWorkflowExecutionRequest, ResetWorkflowExecutionResponse},
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, address, not_found};
use crate::{
    error::{Code, Error},
    history,
    shard::{Address, Desk, Entry, Job, Wishes},
};

impl Engine {
    /// Starts a workflow over from an earlier point.
    pub async fn reset_workflow_execution(
        &self,
        request: ResetWorkflowExecutionRequest,
    ) -> Result<ResetWorkflowExecutionResponse, Error> {
        self.reset(request, None).await
    }

    /// The same; `resumed` says who has a failed run go on by it. Then only the newest run is meant: one
    /// that was started since is left alone.
    pub(super) async fn reset(
        &self,
        request: ResetWorkflowExecutionRequest,
        resumed: Option<ResumedBy>,
    ) -> Result<ResetWorkflowExecutionResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let base = address(&namespace, request.workflow_execution.as_ref())?;
        let base = self.look(base, Seen::of).await?;
        let request_id =
            if request.request_id.is_empty() { self.shared().ids.id() } else { request.request_id };
        #[expect(deprecated, reason = "older clients still say it this way")]
        let reset = Reset {
            base_run_id: base.identity.run_id.clone(),
            identity: base.identity.clone(),
            request_id,
            reason: request.reason,
            operator: request.identity,
            finish_event_id: request.workflow_task_finish_event_id,
            parent_run_id: String::new(),
            cadence: None,
            first_tried_run_id: base.first_tried_run_id.clone(),
            scheduled_by: base.scheduled_by.clone(),
            resumes: if resumed.is_some() { base.resumes.saturating_add(1) } else { 0 },
            exclude: excluded(&request.reset_reapply_exclude_types, request.reset_reapply_type),
        };
        let address = Address::of(&namespace.id, &base.identity.workflow_id, "");
        let chain = self.read_chain(&namespace.id, base, &reset).await?;
        let (slot, reply) = oneshot::channel();
        self.post(ResetJob { address, reset, resumed, chain, slot });
        Ok(ResetWorkflowExecutionResponse { run_id: self.answer(reply).await? })
    }

    /// Reads the run that a reset starts from, and of those that it went on as what is taken over.
    async fn read_chain(
        &self,
        namespace_id: &str,
        base: Seen,
        reset: &Reset,
    ) -> Result<Chain, Error> {
        let events = self.events_of(&base).await?;
        let mut past = Past { events, ..Past::default() };
        let mut last = base.clone();
        while !last.next_run_id.is_empty() {
            let next = Address::of(namespace_id, &base.identity.workflow_id, &last.next_run_id);
            last = match self.look(next, Seen::of).await {
                Ok(next) => next,
                // What was deleted is gone, and what followed it cannot be found.
                Err(error) if error.code == Code::NotFound => break,
                Err(error) => return Err(error),
            };
            let events = self.events_of(&last).await?;
            past.later.extend(events.into_iter().filter(|event| reset.takes_over(event)));
        }
        Ok(Chain { base, last, past })
    }

    async fn events_of(&self, run: &Seen) -> Result<Vec<HistoryEvent>, Error> {
        history::all(&**self.store(), run.number, run.last_event_id).await
    }
}

/// What a reset has seen of a run.
#[derive(Clone)]
struct Seen {
    number: RunNumber,
    identity: Identity,
    first_run_id: String,
    /// What it went on as; empty if it did not.
    next_run_id: String,
    last_event_id: i64,
    is_open: bool,
    scheduled_by: Option<Target>,
    first_tried_run_id: String,
    resumes: u32,
}

impl Seen {
    fn of(number: RunNumber, run: &Run) -> Self {
        Self {
            number,
            identity: run.identity().clone(),
            first_run_id: run.first_run_id().to_owned(),
            next_run_id: run.state().next_run_id.clone(),
            last_event_id: run.last_event_id(),
            is_open: run.is_open(),
            scheduled_by: run.state().scheduled_by.clone(),
            first_tried_run_id: run.first_tried_run_id().to_owned(),
            resumes: run.state().resumes,
        }
    }

    /// Whether it is still as it was, now that this one is the newest. One that was closed is.
    fn is_unchanged(&self, newest: &Entry) -> bool {
        !self.is_open
            || (self.number == newest.number && self.last_event_id == newest.run.last_event_id())
    }
}

/// What a reset has read: a run, and those that it went on as.
struct Chain {
    base: Seen,
    /// The last of them; the base itself if it did not go on.
    last: Seen,
    past: Past,
}

impl Chain {
    /// Adds what waits in the newest run for a workflow task to end: it has no place in the history
    /// yet, but counts.
    fn add_buffered(&mut self, newest: &Entry, reset: &Reset) {
        let buffered = newest.run.buffered().iter().map(|(_, event)| event.clone());
        if newest.number == self.base.number {
            self.past.buffered = buffered.collect();
        } else if newest.number == self.last.number {
            self.past.later.extend(buffered.filter(|event| reset.takes_over(event)));
        }
    }
}

struct ResetJob {
    address: Address,
    reset: Reset,
    resumed: Option<ResumedBy>,
    chain: Chain,
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
        let missing = || not_found(&self.address);
        let newest = found.ok_or_else(missing)?;
        let entry = desk.entry(newest).ok_or_else(missing)?;
        if entry.run.state().create_request_id == self.reset.request_id {
            return Ok(entry.run.identity().run_id.clone());
        }
        if let Some(by) = self.resumed {
            self.check_resume(entry, by)?;
        }
        // What happened to the chain between reading it and now must not get lost.
        if !self.chain.last.is_unchanged(entry) {
            return Err(Error::busy("the workflow has moved on; reset it again"));
        }
        if entry.run.first_run_id() == self.chain.base.first_run_id {
            let parent = entry.run.parent().unwrap_or_default();
            self.reset.parent_run_id = parent.run_id;
            self.reset.cadence = entry.run.state().cadence;
        }
        self.chain.add_buffered(entry, &self.reset);
        let limits = entry.limits.clone();
        let is_open = entry.run.is_open();
        let now = desk.now();
        let entropy = desk.shared().ids.entropy();
        let run_id = desk.shared().ids.entropy().run_id(now);
        self.reset.identity.run_id.clone_from(&run_id);
        let namespace = desk.shared().namespaces.with_id(&self.reset.identity.namespace_id)?;
        let context = Context {
            now,
            entropy,
            limits: &limits,
            rules: &namespace.rulebook,
            company: &Unknown,
        };
        let past = take(&mut self.chain.past);
        let (run, transition) = Run::reset(past, self.reset.clone(), context)?;
        if is_open {
            let terminate = Terminate {
                reason: self.reset.reason.clone(),
                identity: "history-resetter".to_owned(),
                reset_run_id: run_id.clone(),
                ..Terminate::default()
            };
            desk.apply(newest, Input::Terminate(terminate))?;
        } else {
            desk.apply(newest, Input::Resumed(self.resumed.unwrap_or(ResumedBy::Hand)))?;
        }
        desk.adopt(run, transition, limits, &mut Wishes::default());
        Ok(run_id)
    }

    /// A failed run goes on only while nothing else has taken its place, and by itself only while a
    /// policy says so.
    fn check_resume(&self, newest: &Entry, by: ResumedBy) -> Result<(), Error> {
        let refuse = |why: &str| Err(Error::new(Code::FailedPrecondition, why));
        if newest.number != self.chain.base.number {
            return refuse("another run was started since: reset this one if it is to end that");
        }
        if by == ResumedBy::Policy && newest.run.state().resume.is_none() {
            return refuse("its resume was called off");
        }
        Ok(())
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
