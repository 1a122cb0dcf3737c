//! What a run's code and the worker share: what the code has asked for, and what came of it.
//!
//! The code issues commands and waits in slots; the worker reads history and fills the slots. Only one
//! of them is at work at any time.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
    time::SystemTime,
};

use steadfast_proto::{command::Command, common::Payloads, failure::Failure as Wire, protocol};

use super::{
    handlers::{Handlers, UpdateTurn},
    info::WorkflowInfo,
    locals::Locals,
    marker::Marker,
    pending::OnCancel,
    registry::Registry,
    scope::{ROOT, Scopes},
    signal::Inbox,
    tasks::Spawned,
};
use crate::error::Failure;

/// What a wait comes to.
pub(crate) type Outcome = Result<Option<Payloads>, Box<Wire>>;

/// What a slot waits for.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// An activity.
    Activity { id: String, on_cancel: OnCancel },
    /// A local activity.
    Local { seq: u32, on_cancel: OnCancel },
    /// A timer.
    Timer { id: String },
    /// A child workflow's start.
    ChildStart,
    /// A child workflow's end; its start is waited for in another slot.
    Child { workflow_id: String, on_cancel: OnCancel, start: u64 },
    /// The answer to a signal, or to a request to cancel, that went to another workflow.
    External,
}

/// A place where the code waits for something.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    outcome: Option<Outcome>,
    waker: Option<Waker>,
    /// The event of its command, once history has it.
    pub(crate) event: Option<i64>,
    /// The last attempt that history knows of.
    pub(crate) attempt: u32,
    scope: usize,
    cancel_requested: bool,
    /// Nobody waits in it any more, and what was begun goes on.
    is_left: bool,
}

/// A command, and what it is about.
#[derive(Clone, Debug)]
pub(crate) struct Issued {
    pub(crate) command: Command,
    /// The slot that its event belongs to.
    pub(crate) slot: Option<u64>,
    /// The slot whose timer or activity it cancels.
    cancels: Option<u64>,
    /// Whether all of it must be as history has it, not only its kind and name.
    pub(crate) exact: bool,
}

/// How much the code has to say, and how many updates are under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    commands: usize,
    cancelled: usize,
    messages: usize,
    pub(crate) handling: u64,
}

/// How the code ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Completed(Option<Payloads>),
    Failed(Failure),
}

/// Both sides of one run.
pub(crate) struct Journal {
    pub(crate) registry: Arc<Registry>,
    state: Mutex<State>,
}

/// All that is shared.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) info: WorkflowInfo,
    pub(crate) now: SystemTime,
    pub(crate) replaying: bool,
    pub(crate) draws: u64,
    next_slot: u64,
    next_id: u64,
    slots: BTreeMap<u64, Slot>,
    /// Which slot an event's followers belong to.
    by_event: BTreeMap<i64, u64>,
    /// Where a child's end is waited for, by where its start is.
    links: BTreeMap<u64, u64>,
    /// Issued since the last answer.
    pub(crate) commands: Vec<Issued>,
    /// Activities that were cancelled since the last answer, by their ids.
    pub(crate) cancelled: Vec<String>,
    /// Protocol messages of the next answer.
    pub(crate) messages: Vec<protocol::Message>,
    pub(crate) scopes: Scopes,
    pub(crate) inbox: Inbox,
    pub(crate) locals: Locals,
    pub(crate) handlers: Handlers,
    pub(crate) updates: VecDeque<UpdateTurn>,
    /// Code that was begun beside the main one: the handlers of updates.
    pub(crate) spawned: Vec<Spawned>,
    /// How many updates were accepted and are under way.
    pub(crate) handling: u64,
    /// Markers that history holds for the commands of this turn.
    pub(crate) ahead: VecDeque<Marker>,
    pub(crate) patches: BTreeMap<String, bool>,
    /// Who waits for a condition, and is asked again whenever something has happened.
    pub(crate) watchers: Vec<Waker>,
    /// One of them found its condition to hold.
    pub(crate) condition_held: bool,
    /// The code is being put away: what it drops now is not its doing.
    closing: bool,
}

impl Journal {
    pub(crate) fn new(info: WorkflowInfo, registry: Arc<Registry>) -> Arc<Self> {
        let state = State {
            info,
            now: SystemTime::UNIX_EPOCH,
            replaying: false,
            draws: 0,
            next_slot: 0,
            next_id: 0,
            slots: BTreeMap::new(),
            by_event: BTreeMap::new(),
            links: BTreeMap::new(),
            commands: Vec::new(),
            cancelled: Vec::new(),
            messages: Vec::new(),
            scopes: Scopes::new(),
            inbox: Inbox::default(),
            locals: Locals::default(),
            handlers: Handlers::default(),
            updates: VecDeque::new(),
            spawned: Vec::new(),
            handling: 0,
            ahead: VecDeque::new(),
            patches: BTreeMap::new(),
            watchers: Vec::new(),
            condition_held: false,
            closing: false,
        };
        Arc::new(Self { registry, state: Mutex::new(state) })
    }

    /// The state. A panic of the code does not spoil it: the run is put away then.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on nothing that the code drops is its doing.
    pub(crate) fn close(&self) {
        self.state().closing = true;
    }
}

impl State {
    /// The next id for a command, the same at every replay.
    pub(crate) fn next_id(&mut self) -> String {
        self.next_id += 1;
        self.next_id.to_string()
    }

    /// Issues a command that somebody waits for.
    pub(crate) fn issue(&mut self, kind: Kind, scope: usize, command: Command) -> u64 {
        self.issue_with(kind, scope, command, false)
    }

    /// Issues a command that must be in history exactly so.
    pub(crate) fn issue_with(
        &mut self,
        kind: Kind,
        scope: usize,
        command: Command,
        exact: bool,
    ) -> u64 {
        let slot = self.wait_for(kind, scope);
        self.commands.push(Issued { command, slot: Some(slot), cancels: None, exact });
        slot
    }

    /// Issues a command that nobody waits for.
    pub(crate) fn tell(&mut self, command: Command) {
        self.commands.push(Issued { command, slot: None, cancels: None, exact: false });
    }

    /// Makes a place to wait.
    pub(crate) fn wait_for(&mut self, kind: Kind, scope: usize) -> u64 {
        let number = self.next_slot;
        self.next_slot += 1;
        let slot = Slot {
            kind,
            outcome: None,
            waker: None,
            event: None,
            attempt: 0,
            scope,
            cancel_requested: false,
            is_left: false,
        };
        self.slots.insert(number, slot);
        self.scopes.join(scope, number);
        number
    }

    /// Takes what a wait came to, or waits.
    pub(crate) fn poll(&mut self, number: u64, cx: &mut Context<'_>) -> Poll<(Outcome, u32)> {
        let Some(slot) = self.slots.get_mut(&number) else {
            // Taken already: a future that is polled after its end never ends again.
            return Poll::Pending;
        };
        if let Some(outcome) = slot.outcome.take() {
            let attempt = slot.attempt;
            self.forget(number);
            return Poll::Ready((outcome, attempt));
        }
        slot.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Something came of a wait. What comes twice, or of a wait that nobody keeps, changes nothing.
    pub(crate) fn resolve(&mut self, number: u64, outcome: Outcome) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        if slot.is_left {
            return self.forget(number);
        }
        if slot.outcome.is_none() {
            slot.outcome = Some(outcome);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }

    /// What was begun has ended. If the code has cancelled it in this very turn, there is nothing to
    /// cancel any more, and the engine would refuse to.
    pub(crate) fn ended(&mut self, number: u64, outcome: Outcome) {
        let is_wanted = self.slots.get(&number).is_some_and(|slot| !slot.cancel_requested);
        if !is_wanted {
            self.commands.retain(|issued| issued.cancels != Some(number));
        }
        self.resolve(number, outcome);
    }

    /// History has the command of a slot.
    pub(crate) fn recorded(&mut self, number: u64, event: i64) {
        self.by_event.insert(event, number);
        if let Some(slot) = self.slots.get_mut(&number) {
            slot.event = Some(event);
        }
    }

    /// A child's start and its end are waited for apart.
    pub(crate) fn link(&mut self, start: u64, end: u64) {
        self.links.insert(start, end);
    }

    /// Where the end of a child is waited for whose command is this event. It is the last follower.
    pub(crate) fn take_end_of(&mut self, event: i64) -> Option<u64> {
        let start = self.by_event.remove(&event)?;
        self.links.remove(&start)
    }

    /// The slot that followers of an event belong to.
    pub(crate) fn slot_of(&self, event: i64) -> Option<u64> {
        self.by_event.get(&event).copied()
    }

    /// As [`slot_of`](Self::slot_of), for the last follower.
    pub(crate) fn take_slot_of(&mut self, event: i64) -> Option<u64> {
        self.by_event.remove(&event)
    }

    pub(crate) fn slot_mut(&mut self, number: u64) -> Option<&mut Slot> {
        self.slots.get_mut(&number)
    }

    /// Nobody waits any more: what was begun is cancelled.
    pub(crate) fn abandon(&mut self, number: u64) {
        let Some(slot) = self.slots.get(&number) else { return };
        let open = slot.outcome.is_none();
        if let Kind::Local { seq, .. } = slot.kind {
            self.locals.stop(seq, false);
        } else if open && !self.closing {
            self.request_cancel(number);
        }
        self.forget(number);
    }

    /// Nobody waits any more, but what was begun goes on.
    pub(crate) fn leave(&mut self, number: u64) {
        let Some(slot) = self.slots.get_mut(&number) else { return };
        slot.is_left = true;
        if slot.outcome.is_some() {
            self.forget(number);
        }
    }

    /// A scope was cancelled: so is all that waits in it, or in a scope within.
    pub(crate) fn cancel_scope(&mut self, scope: usize) {
        for number in self.scopes.cancel(scope) {
            let Some(slot) = self.slots.get(&number) else { continue };
            if slot.outcome.is_some() {
                continue;
            }
            let waits = matches!(
                slot.kind,
                Kind::Activity { on_cancel: OnCancel::Wait, .. }
                    | Kind::Local { on_cancel: OnCancel::Wait, .. }
                    | Kind::Child { on_cancel: OnCancel::Wait, .. }
                    | Kind::ChildStart
                    | Kind::External
            );
            let goes_on = self.request_cancel(number);
            if !waits || !goes_on {
                self.resolve(number, Err(Box::new(Failure::cancelled(None).into_wire())));
            }
        }
    }

    /// Whether commands in this scope are cancelled from the start.
    pub(crate) fn is_cancelled(&self, scope: usize) -> bool {
        self.scopes.is_cancelled(scope)
    }

    /// The workflow was asked to cancel.
    pub(crate) fn cancel_requested(&mut self) {
        self.cancel_scope(ROOT);
    }

    /// How much there is to say now.
    pub(crate) fn extent(&self) -> Extent {
        Extent {
            commands: self.commands.len(),
            cancelled: self.cancelled.len(),
            messages: self.messages.len(),
            handling: self.handling,
        }
    }

    /// Takes back all that came later.
    pub(crate) fn cut(&mut self, to: &Extent) {
        self.commands.truncate(to.commands);
        self.cancelled.truncate(to.cancelled);
        self.messages.truncate(to.messages);
        self.handling = to.handling;
    }

    /// Whether the code can ever go on: it waits for something, or for somebody who may ask it.
    pub(crate) fn may_go_on(&self) -> bool {
        self.slots.values().any(|slot| slot.waker.is_some())
            || !self.watchers.is_empty()
            || self.inbox.is_waited_for()
            || self.scopes.are_waited_for()
            || !self.handlers.is_empty()
    }

    /// Somebody waits until a condition holds.
    pub(crate) fn watch(&mut self, waker: &Waker) {
        self.watchers.push(waker.clone());
    }

    /// Takes back a command that has not been sent, or sends another one that cancels it. Says
    /// whether it has begun, so that there is something to wait for.
    fn request_cancel(&mut self, number: u64) -> bool {
        let Some(slot) = self.slots.get_mut(&number) else { return false };
        if let Kind::Local { seq, on_cancel } = slot.kind {
            return self.locals.stop(seq, on_cancel == OnCancel::Wait);
        }
        let begun_by = slot.begun_by().unwrap_or(number);
        let unsent = self.commands.iter().position(|issued| issued.slot == Some(begun_by));
        if let Some(unsent) = unsent {
            let retractable = slot.retractable();
            if retractable {
                self.commands.remove(unsent);
                if begun_by != number {
                    self.links.remove(&begun_by);
                    self.resolve(begun_by, Err(Box::new(Failure::cancelled(None).into_wire())));
                }
            }
            return !retractable;
        }
        if std::mem::replace(&mut slot.cancel_requested, true) {
            return true;
        }
        if let Kind::Activity { id, .. } = &slot.kind {
            self.cancelled.push(id.clone());
        }
        if let Some(command) = slot.cancellation() {
            let cancels = Some(number);
            self.commands.push(Issued { command, slot: None, cancels, exact: false });
        }
        true
    }

    fn forget(&mut self, number: u64) {
        if let Some(slot) = self.slots.remove(&number) {
            self.scopes.leave(slot.scope, number);
        }
    }
}

impl Slot {
    /// The slot whose command begins it, if that is another one.
    fn begun_by(&self) -> Option<u64> {
        match self.kind {
            Kind::Child { start, .. } => Some(start),
            Kind::Activity { .. }
            | Kind::Local { .. }
            | Kind::Timer { .. }
            | Kind::ChildStart
            | Kind::External => None,
        }
    }

    /// Whether what begins it has no effect if it is never sent, and may go unsent.
    fn retractable(&self) -> bool {
        match self.kind {
            Kind::Activity { .. } | Kind::Timer { .. } => true,
            Kind::Child { on_cancel, .. } => on_cancel != OnCancel::Abandon,
            Kind::Local { .. } | Kind::ChildStart | Kind::External => false,
        }
    }

    /// The command that cancels it.
    fn cancellation(&self) -> Option<Command> {
        use steadfast_proto::command::{
            CancelTimerCommandAttributes as CancelTimer,
            RequestCancelActivityTaskCommandAttributes as CancelActivity,
            RequestCancelExternalWorkflowExecutionCommandAttributes as CancelWorkflow,
        };
        match &self.kind {
            Kind::Timer { id } => Some(Command::of(CancelTimer { timer_id: id.clone() })),
            Kind::Activity { on_cancel, .. } if *on_cancel != OnCancel::Abandon => {
                Some(Command::of(CancelActivity { scheduled_event_id: self.event? }))
            }
            Kind::Child { workflow_id, on_cancel, .. } if *on_cancel != OnCancel::Abandon => {
                Some(Command::of(CancelWorkflow {
                    workflow_id: workflow_id.clone(),
                    child_workflow_only: true,
                    ..CancelWorkflow::default()
                }))
            }
            Kind::Activity { .. }
            | Kind::Local { .. }
            | Kind::Child { .. }
            | Kind::ChildStart
            | Kind::External => None,
        }
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}
