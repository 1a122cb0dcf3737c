//! What runs have to say to other runs, and to themselves.
//!
//! ```text
//!   run A: initiated (durable) ──▶ letter to B's shard ──▶ B takes it (durable)
//!      ▲                                                        │
//!      └────────── answer, taken by A (durable) ◀───────────────┘
//! ```
//!
//! A letter leaves when what it is about is durable; a run that is read again sends its open
//! letters again. Whoever gets one twice knows it by its request id, so each counts once. What
//! parents and children tell each other of their ends is in [`notices`].

use std::sync::Arc;

use steadfast_core::{
    Adopt, CancelRequest, ChildStartFailed, ChildStarted, Effect, ExternalAnswered,
    ExternalInitiated, ExternalRefused, Identity, Input, Parent, Refused, Run, Signal, Start,
};
use steadfast_proto::{
    common, enums, history::StartChildWorkflowExecutionInitiatedEventAttributes as Initiated, sdk,
};
use steadfast_store::RunNumber;

use super::{
    Mail, Shared,
    desk::{Desk, Wishes},
    job::{Address, Job},
    notices,
};
use crate::{
    error::{Code, Error},
    start::{self, Plan, StartPolicy},
};

pub(super) const ENGINE: &str = "history-service";

/// Time passed for a run.
pub(super) struct TickJob(Address);

/// A run is brought back after a start: what it had to hand out, it hands out again.
pub(super) struct RecoverJob(Address);

/// An input for a run whose sender does not wait for an answer.
pub(crate) struct InputJob {
    address: Address,
    input: Input,
}

impl TickJob {
    pub(super) fn new(number: RunNumber) -> Self {
        Self(Address::Number(number))
    }
}

impl RecoverJob {
    pub(super) fn new(number: RunNumber) -> Self {
        Self(Address::Number(number))
    }
}

impl InputJob {
    pub(super) fn new(number: RunNumber, input: Input) -> Self {
        Self::to(Address::Number(number), input)
    }

    pub(crate) fn to(address: Address, input: Input) -> Self {
        Self { address, input }
    }
}

impl Job for TickJob {
    fn address(&self) -> &Address {
        &self.0
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        match found {
            Some(number) if desk.schedule(number).is_some() => desk.tick_schedule(number),
            Some(number) => desk.tick(number),
            None => {}
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.0, "a run that is due could not be looked at");
    }
}

impl Job for RecoverJob {
    fn address(&self) -> &Address {
        &self.0
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        match found {
            Some(number) if desk.schedule(number).is_some() => desk.send_for_schedule(number),
            Some(number) => {
                desk.hand_out(number);
                let process = desk.shared().process;
                // A run refuses nothing about workers that are gone.
                let _ = desk.apply(number, Input::TakeBack(process));
            }
            None => {}
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.0, "a run with work could not be brought back");
    }
}

impl Job for InputJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        if let Some(number) = found {
            // It may be too late for it, which is fine.
            let _ = desk.apply(number, self.input);
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "an input was lost");
    }
}

impl Desk<'_> {
    /// Hands out all that a run has waiting.
    fn hand_out(&mut self, number: RunNumber) {
        let Some(run) = self.run(number) else { return };
        let activities: Vec<i64> = run.ready_activities().collect();
        let children: Vec<i64> = run.unstarted_children().collect();
        let externals: Vec<i64> = run.externals().iter().map(|(id, _)| *id).collect();
        let messages: Vec<u64> = run.messages().iter().map(|(id, _)| *id).collect();
        let is_ready = run.task_is_ready();
        let mut wishes = Wishes::default();
        if run.is_to_start_over() {
            self.carry_out(number, Effect::StartOver, &mut wishes);
        }
        if is_ready {
            self.offer_task(number, &mut wishes);
        }
        for id in activities {
            self.offer_activity(number, id, false, &mut wishes);
        }
        for id in children {
            start_child(self, number, id);
        }
        for id in externals {
            send_external(self, number, id);
        }
        for id in messages {
            notices::send(self, number, id);
        }
    }
}

/// Sends for a child.
pub(super) fn start_child(desk: &mut Desk<'_>, parent: RunNumber, initiated_event_id: i64) {
    let Some(run) = desk.run(parent) else { return };
    let Some(child) = run.children().get(&initiated_event_id) else { return };
    let asked = Arc::clone(&child.initiated);
    let letter = StartChildJob {
        address: Address::of(&asked.namespace_id, &asked.workflow_id, ""),
        sender: Sender::of(desk.shared(), parent, run),
        root: run.started().root_workflow_execution.clone(),
        request_id: child.row.request_id.clone(),
        initiated_event_id,
        asked,
        user_metadata: child.user_metadata.clone(),
    };
    post(desk, letter);
}

/// Sends a signal or cancel request.
pub(super) fn send_external(desk: &mut Desk<'_>, from: RunNumber, initiated_event_id: i64) {
    let Some(run) = desk.run(from) else { return };
    let Some(external) = run.externals().get(&initiated_event_id) else { return };
    let sender = Sender::of(desk.shared(), from, run);
    let me = sender.execution();
    let child_of = |only: bool| only.then(|| sender.parent());
    let (namespace_id, target, input) = match &external.initiated {
        ExternalInitiated::Signal(asked) => {
            let input = Input::Signal(Signal {
                name: asked.signal_name.clone(),
                input: asked.input.clone(),
                identity: ENGINE.to_owned(),
                header: asked.header.clone(),
                sender: Some(me),
                request_id: external.row.request_id.clone(),
                child_of: child_of(asked.child_workflow_only),
                ..Signal::default()
            });
            (&asked.namespace_id, asked.workflow_execution.clone(), input)
        }
        ExternalInitiated::Cancel(asked) => {
            let input = Input::RequestCancel(CancelRequest {
                reason: asked.reason.clone(),
                identity: ENGINE.to_owned(),
                sender: Some((me, initiated_event_id)),
                child_of: child_of(asked.child_workflow_only),
                ..CancelRequest::default()
            });
            (&asked.namespace_id, asked.workflow_execution.clone(), input)
        }
    };
    let target = target.unwrap_or_default();
    let address = Address::of(namespace_id, &target.workflow_id, &target.run_id);
    post(desk, ExternalJob { address, sender, initiated_event_id, input });
}

/// Who sent a letter, and where its answer goes.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    shared: Arc<Shared>,
    pub(super) number: RunNumber,
    identity: Identity,
}

impl Sender {
    pub(super) fn of(shared: &Arc<Shared>, number: RunNumber, run: &Run) -> Self {
        Self { shared: Arc::clone(shared), number, identity: run.identity().clone() }
    }

    pub(super) fn execution(&self) -> common::WorkflowExecution {
        common::WorkflowExecution {
            workflow_id: self.identity.workflow_id.clone(),
            run_id: self.identity.run_id.clone(),
        }
    }

    pub(super) fn parent(&self) -> Parent {
        Parent {
            workflow_id: self.identity.workflow_id.clone(),
            run_id: self.identity.run_id.clone(),
        }
    }

    /// Sends an answer once what was done here is durable.
    pub(super) fn answer(self, desk: &mut Desk<'_>, input: Input) {
        desk.release(move || self.answer_now(input));
    }

    /// Sends an answer when nothing was done.
    pub(super) fn answer_now(&self, input: Input) {
        let identity = &self.identity;
        let mailbox = self.shared.mailbox_of(&identity.namespace_id, &identity.workflow_id);
        if let Some(mailbox) = mailbox {
            mailbox.job(InputJob::new(self.number, input));
        }
    }
}

struct StartChildJob {
    address: Address,
    sender: Sender,
    root: Option<common::WorkflowExecution>,
    request_id: String,
    initiated_event_id: i64,
    asked: Arc<Initiated>,
    user_metadata: Option<Arc<sdk::UserMetadata>>,
}

impl Job for StartChildJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn creates(&self) -> bool {
        true
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let initiated_event_id = self.initiated_event_id;
        let answer = match self.start(desk, found) {
            Some(run_id) => Input::ChildStarted(ChildStarted { initiated_event_id, run_id }),
            None => Input::ChildStartFailed(ChildStartFailed {
                initiated_event_id,
                cause: enums::StartChildWorkflowExecutionFailedCause::WorkflowAlreadyExists,
            }),
        };
        self.sender.answer(desk, answer);
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "a child could not be started");
        // When the engine stops, the letter is sent again at the next start. Otherwise there is a
        // run with this id that cannot be read, and the parent must not wait for ever.
        if error.code != Code::Unavailable {
            self.sender.answer_now(Input::ChildStartFailed(ChildStartFailed {
                initiated_event_id: self.initiated_event_id,
                cause: enums::StartChildWorkflowExecutionFailedCause::WorkflowAlreadyExists,
            }));
        }
    }
}

impl StartChildJob {
    /// The run id of the child, be it new or started before.
    fn start(&self, desk: &mut Desk<'_>, found: Option<RunNumber>) -> Option<String> {
        let namespace = desk.shared().namespaces.with_id(&self.asked.namespace_id).ok()?;
        if namespace.is_deleted() {
            return None;
        }
        let policy = StartPolicy::of_child(self.asked.workflow_id_reuse_policy());
        let current = found.and_then(|number| desk.run(number));
        match start::plan(current, policy, &self.request_id) {
            Plan::Existing { run_id, .. } => {
                self.adopt(desk, found);
                return Some(run_id);
            }
            Plan::Refuse(_) => return None,
            Plan::Replace => {
                let input = start::termination("");
                desk.apply(found?, Input::Terminate(input)).ok()?;
            }
            Plan::Create => {}
        }
        let now = desk.now();
        let run_id = desk.shared().ids.entropy().run_id(now);
        let parent = start::ParentLink {
            identity: self.sender.identity.clone(),
            initiated_event_id: self.initiated_event_id,
            root: self.root.clone().unwrap_or_else(|| self.sender.execution()),
        };
        let started = start::of_child(&self.asked, &run_id, &parent, now);
        let identity = Identity {
            namespace_id: namespace.id.clone(),
            namespace: namespace.name.clone(),
            workflow_id: self.asked.workflow_id.clone(),
            run_id: run_id.clone(),
        };
        let start = Start {
            identity,
            started,
            user_metadata: self.user_metadata.as_deref().cloned(),
            links: Vec::new(),
            request_id: self.request_id.clone(),
            signal: None,
            cadence: None,
            scheduled_by: None,
        };
        desk.create(&namespace, start, &mut Wishes::default());
        Some(run_id)
    }
}

impl StartChildJob {
    /// It may have been started for a run in whose place the sender has come since.
    fn adopt(&self, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        if let Some(number) = found {
            let initiated_event_id = self.initiated_event_id;
            let adopt = Adopt { parent: self.sender.parent(), initiated_event_id };
            // One that has gone on already is told where it is, by a letter of its own.
            let _ = desk.apply(number, Input::Adopt(adopt));
        }
    }
}

struct ExternalJob {
    address: Address,
    sender: Sender,
    initiated_event_id: i64,
    input: Input,
}

impl Job for ExternalJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let is_self = found == Some(self.sender.number);
        let outcome = match found.filter(|_| !is_self) {
            Some(number) => desk.apply(number, self.input),
            None => Err(Refused::WrongRun),
        };
        let refused = match outcome {
            Ok(()) => None,
            Err(Refused::SignalLimit) => Some(ExternalRefused::SignalLimit),
            Err(_) => Some(ExternalRefused::NotFound),
        };
        let initiated_event_id = self.initiated_event_id;
        let answer = ExternalAnswered { initiated_event_id, refused };
        self.sender.answer(desk, Input::ExternalAnswered(answer));
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "a request to another run was lost");
        // As with a child: whoever asked must not wait for a run that cannot be read.
        if error.code != Code::Unavailable {
            let initiated_event_id = self.initiated_event_id;
            let refused = Some(ExternalRefused::NotFound);
            let answer = ExternalAnswered { initiated_event_id, refused };
            self.sender.answer_now(Input::ExternalAnswered(answer));
        }
    }
}

/// Sends a letter once what it is about is durable.
pub(super) fn post(desk: &mut Desk<'_>, job: impl Job + 'static) {
    let shared = Arc::clone(desk.shared());
    desk.release(move || deliver(&shared, Box::new(job)));
}

pub(super) fn deliver(shared: &Shared, job: Box<dyn Job>) {
    let workflow = job.address().workflow();
    match workflow.and_then(|(namespace_id, id)| shared.mailbox_of(namespace_id, id)) {
        Some(mailbox) => mailbox.send(Mail::Job(job)),
        None => job.fail(Error::unavailable("the engine is stopping")),
    }
}
