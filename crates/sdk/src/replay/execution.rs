//! One run's code and its history, kept in step.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use steadfast_proto::{
    command::{
        CancelWorkflowExecutionCommandAttributes, Command,
        CompleteWorkflowExecutionCommandAttributes, FailWorkflowExecutionCommandAttributes,
    },
    common::Payloads,
    enums::{EventType, QueryResultType},
    history::{
        HistoryEvent, WorkflowExecutionStartedEventAttributes, history_event::Attributes as E,
    },
    protocol,
    query::{WorkflowQuery, WorkflowQueryResult},
};

use super::{
    broken::Broken,
    ends::{child_end, end},
    expect,
    forgotten::Forgotten,
    local,
    turns::{Turn, answers, is_command, turns},
    updates,
};
use crate::{
    error::ALREADY_STARTED,
    error::Failure,
    payload, span,
    workflow::Registry,
    workflow::{Ending, Issued, Journal, Marker, Tasks, WorkflowContext, WorkflowInfo},
};

/// A workflow task, as far as the code is concerned.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// The history since the last workflow task that this execution has seen; all of it, if it
    /// has seen none.
    pub(crate) events: Vec<HistoryEvent>,
    /// Updates that wait to be looked at.
    pub(crate) messages: Vec<protocol::Message>,
    /// Queries that are answered with the task, by their id.
    pub(crate) queries: BTreeMap<String, WorkflowQuery>,
}

/// What the code says to a workflow task.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) commands: Vec<Command>,
    pub(crate) messages: Vec<protocol::Message>,
    pub(crate) query_results: BTreeMap<String, WorkflowQueryResult>,
    /// Activities that it cancels, by their ids.
    pub(crate) cancelled: Vec<String>,
    /// Whether the run closes with it.
    pub(crate) closes: bool,
}

/// The events that a workflow task has of its own when the code is asked: it was scheduled, and
/// started.
const OWN_EVENTS: i64 = 2;

/// One run's code and where it is in its history.
#[derive(Debug)]
pub(crate) struct Execution {
    pub(super) journal: Arc<Journal>,
    tasks: Option<Tasks>,
    /// Commands that the code has issued and history has not shown yet.
    expected: VecDeque<Issued>,
    /// Updates that were given to the code, by id.
    pub(crate) updates: BTreeSet<String>,
    /// Queries of the task that is being answered.
    queries: BTreeMap<String, WorkflowQuery>,
    last_started: i64,
    /// Events up to this one come again with the next task.
    known: i64,
    /// When the code was asked last, in the run's own time.
    pub(super) asked_at: SystemTime,
    /// Whether it was asked and has not answered.
    is_asked: bool,
    cancel_requested: bool,
    closed: bool,
}

impl Execution {
    /// A run whose history is not read yet.
    pub(crate) fn new(registry: Arc<Registry>, info: WorkflowInfo) -> Self {
        Self {
            journal: Journal::new(info, registry),
            tasks: None,
            expected: VecDeque::new(),
            updates: BTreeSet::new(),
            queries: BTreeMap::new(),
            last_started: 0,
            known: 0,
            asked_at: UNIX_EPOCH,
            is_asked: false,
            cancel_requested: false,
            closed: false,
        }
    }

    /// The start of the last workflow task that it has seen; 0 if it has seen none.
    pub(crate) fn last_started(&self) -> i64 {
        self.last_started
    }

    /// The last workflow task is as if it had never been: the next one goes on from the one before,
    /// and brings again what this one has brought. The code has done nothing with it but to refuse
    /// updates.
    pub(crate) fn go_back(&mut self, last_started: i64) {
        self.known = self.last_started - OWN_EVENTS;
        self.last_started = last_started;
    }

    /// Takes a workflow task. What the code says to it is asked for by [`answer`](Self::answer), when
    /// the local activities are done that it wants.
    pub(crate) fn advance(&mut self, work: Work) -> Result<(), Broken> {
        self.stir()?;
        let mut events = work.events;
        if self.known > 0 {
            events.retain(|event| event.event_id > self.known);
            self.known = 0;
        }
        let mut turns = turns(events);
        while let Some(turn) = turns.pop_front() {
            let live = turn.asks && !turn.answered;
            if turn.answered {
                self.look_ahead(turns.front());
            }
            self.journal.state().replaying = !live;
            let messages = if live { work.messages.as_slice() } else { &[] };
            self.take(&turn, turns.front(), messages)?;
            self.at_rest();
            self.is_asked = live;
            if turn.answered {
                self.replay_local()?;
                self.settle(false)?;
            }
        }
        self.queries.extend(work.queries);
        self.rest();
        Ok(())
    }

    /// What the code says to the workflow task, as far as it has come.
    pub(crate) fn answer(&mut self) -> Result<Answer, Broken> {
        let mut answer = Answer::default();
        if std::mem::take(&mut self.is_asked) {
            if self.is_stuck() {
                return Err(Broken::NotDurable);
            }
            answer = self.settle(true)?;
        }
        for (id, query) in std::mem::take(&mut self.queries) {
            answer.query_results.insert(id, query_result(self.query(&query)));
        }
        answer.closes = self.closed;
        Ok(answer)
    }

    /// Takes a history to look at it: a task that is not answered yet is nobody's business.
    pub(crate) fn replay(&mut self, mut events: Vec<HistoryEvent>) -> Result<(), Broken> {
        let asked = |event: &HistoryEvent| event.event_type() == EventType::WorkflowTaskStarted;
        if events.last().is_some_and(asked) {
            events.pop();
        }
        self.advance(Work { events, ..Work::default() })
    }

    /// Asks the code something. It is not changed by that.
    pub(crate) fn query(&self, query: &WorkflowQuery) -> Result<Option<Payloads>, Failure> {
        let handler = {
            let state = self.journal.state();
            let handlers = &state.handlers.queries;
            handlers.get(&query.query_type).cloned().ok_or_else(|| {
                let known: Vec<_> = handlers.keys().collect();
                let name = &query.query_type;
                Failure::new(format!("unknown queryType {name}. KnownQueryTypes={known:?}"))
                    .of_type("UnknownQuery")
            })?
        };
        let asked = || handler(query.query_args.clone());
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(asked)).unwrap_or_else(|panic| {
            let words = crate::workflow::words(panic.as_ref());
            Err(Failure::new(words).of_type("PanicError"))
        })
    }

    /// Reads, for a turn that is replayed, what history knows of its answer.
    fn look_ahead(&mut self, next: Option<&Turn>) {
        let mut state = self.journal.state();
        state.ahead.clear();
        for (_, attributes) in answers(next) {
            if let E::MarkerRecordedEventAttributes(marker) = attributes {
                state.ahead.extend(Marker::of(marker));
            }
        }
        let marks = answers(next).filter_map(|(id, attributes)| local::mark(id, attributes));
        state.locals.look_ahead(marks);
    }

    fn take(
        &mut self,
        turn: &Turn,
        next: Option<&Turn>,
        messages: &[protocol::Message],
    ) -> Result<(), Broken> {
        self.set_time(turn);
        let mut forgotten = Forgotten::default();
        for event in &turn.events {
            if is_command(event) {
                if forgotten.has(event, self.expected.front()) {
                    continue;
                }
                let issued = self.expected.pop_front();
                expect::check(issued.as_ref(), event)?;
                self.record(event, issued.as_ref());
            } else if turn.asks || event.event_type() == EventType::WorkflowExecutionStarted {
                self.apply(event)?;
            }
            // What nobody has asked the code about yet, it has not seen.
            if turn.asks {
                self.run()?;
            }
        }
        let last = turn.events.last().map_or(0, |event| event.event_id);
        if let Some(issued) = self.expected.front() {
            return Err(expect::missing(issued, last).into());
        }
        if turn.asks {
            self.last_started = last;
            let answers = answers(next).map(|(_, attributes)| attributes);
            let (now, late) =
                if self.has_ended() { (&[][..], messages) } else { (messages, &[][..]) };
            updates::deliver(&self.journal, &mut self.updates, now, answers, last);
            self.run()?;
            late.iter().try_for_each(|message| self.take_late(message, last))?;
        }
        Ok(())
    }

    /// Takes an update that came with the event at which the code has ended. What can be done at once is
    /// done. What would go on is not accepted, as the run would close upon it: whoever asked hears that
    /// the run is closed, or asks the next one.
    fn take_late(&mut self, message: &protocol::Message, last: i64) -> Result<(), Broken> {
        let before = self.journal.state().extent();
        let none = std::iter::empty();
        let one = std::slice::from_ref(message);
        updates::deliver(&self.journal, &mut self.updates, one, none, last);
        self.run()?;
        if self.journal.state().handling > before.handling {
            if let Some(tasks) = &mut self.tasks {
                tasks.drop_newest();
            }
            self.journal.state().cut(&before);
            self.updates.remove(&message.protocol_instance_id);
        }
        Ok(())
    }

    /// The time of a turn is that of its question.
    fn set_time(&mut self, turn: &Turn) {
        if let Some(time) = turn.events.last().and_then(|event| event.event_time.as_ref()) {
            self.asked_at = span::time_from_wire(time);
            self.journal.state().now = self.asked_at;
        }
    }

    pub(super) fn run(&mut self) -> Result<(), Broken> {
        match &mut self.tasks {
            Some(tasks) => tasks.run(&self.journal).map_err(|panic| Broken::Panic(panic.0)),
            None => Ok(()),
        }
    }

    /// After a turn: what the code issued goes to the engine, and is to be found in history.
    fn settle(&mut self, live: bool) -> Result<Answer, Broken> {
        self.end();
        let (commands, messages, cancelled) = {
            let mut state = self.journal.state();
            let commands = std::mem::take(&mut state.commands);
            (commands, std::mem::take(&mut state.messages), std::mem::take(&mut state.cancelled))
        };
        if self.tasks.is_none() {
            let first = "the first event is not the start of a workflow".to_owned();
            return Err(Broken::Incomplete(first));
        }
        let mut sent = Vec::with_capacity(if live { commands.len() } else { 0 });
        for mut issued in commands {
            if live {
                let outline = expect::outline(&mut issued);
                sent.push(std::mem::replace(&mut issued.command, outline));
            }
            self.expected.push_back(issued);
        }
        Ok(Answer { commands: sent, messages, cancelled, ..Answer::default() })
    }

    /// Nothing is done with the code for a while.
    pub(super) fn rest(&self) {
        self.tasks.iter().for_each(Tasks::rest);
    }

    /// Goes on with the code, unless somebody else would have.
    pub(super) fn stir(&self) -> Result<(), Broken> {
        if self.tasks.as_ref().is_none_or(Tasks::stir) { Ok(()) } else { Err(Broken::NotDurable) }
    }

    /// Whether nothing that may ever happen to the run would make its code go on.
    fn is_stuck(&self) -> bool {
        self.tasks.is_some() && !self.has_ended() && !self.journal.state().may_go_on()
    }

    /// Whether the code has come to its end.
    pub(super) fn has_ended(&self) -> bool {
        self.closed || self.tasks.as_ref().is_some_and(Tasks::has_ended)
    }

    /// If the code has ended, the run closes.
    fn end(&mut self) {
        let Some(ending) = self.tasks.as_mut().and_then(Tasks::take_ending) else { return };
        self.closed = true;
        let close = match ending {
            Ending::Completed(result) => {
                Command::of(CompleteWorkflowExecutionCommandAttributes { result })
            }
            Ending::Failed(failure) => self.close_failed(failure),
        };
        self.journal.state().tell(close);
    }

    fn close_failed(&self, mut failure: Failure) -> Command {
        if let Some(next) = failure.take_next() {
            return Command::of(*next);
        }
        if self.cancel_requested && failure.is_cancelled() {
            return Command::of(CancelWorkflowExecutionCommandAttributes { details: None });
        }
        Command::of(FailWorkflowExecutionCommandAttributes { failure: Some(failure.into_wire()) })
    }

    /// History has a command.
    fn record(&self, event: &HistoryEvent, issued: Option<&Issued>) {
        if let Some(slot) = issued.and_then(|issued| issued.slot) {
            self.journal.state().recorded(slot, event.event_id);
        }
    }

    /// Something has happened to the run.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others are about commands")]
    fn apply(&mut self, event: &HistoryEvent) -> Result<(), Broken> {
        let Some(attributes) = &event.attributes else { return Ok(()) };
        match attributes {
            E::WorkflowExecutionStartedEventAttributes(started) => {
                let at = event.event_time.as_ref().map_or(UNIX_EPOCH, span::time_from_wire);
                self.begin(started, at)?;
            }
            E::WorkflowExecutionSignaledEventAttributes(signal) => {
                let input = signal.input.clone();
                self.journal.state().inbox.put(&signal.signal_name, input);
            }
            E::WorkflowExecutionCancelRequestedEventAttributes(_) => {
                self.cancel_requested = true;
                self.journal.state().cancel_requested();
            }
            E::WorkflowExecutionUpdateAdmittedEventAttributes(admitted) => {
                updates::admit(&self.journal, &mut self.updates, admitted, event.event_id);
            }
            E::WorkflowTaskStartedEventAttributes(started) => {
                let mut state = self.journal.state();
                state.info.history_length = u64::try_from(event.event_id).unwrap_or_default();
                state.info.should_continue_as_new = started.suggest_continue_as_new;
            }
            other => self.follow(other),
        }
        Ok(())
    }

    fn begin(
        &mut self,
        started: &WorkflowExecutionStartedEventAttributes,
        at: SystemTime,
    ) -> Result<(), Broken> {
        let name = {
            let mut state = self.journal.state();
            state.info.begin(started, at);
            state.info.workflow_type.clone()
        };
        let registry = Arc::clone(&self.journal.registry);
        let Some(workflow) = registry.workflow(&name) else {
            let known = registry.names().0.into_iter().map(str::to_owned).collect();
            return Err(Broken::UnknownWorkflow { name, known });
        };
        let ctx = WorkflowContext::new(Arc::clone(&self.journal));
        self.tasks = Some(Tasks::new(workflow.begin(ctx, started.input.clone()), &self.journal));
        Ok(())
    }

    /// Something came of what the code asked for.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the others end what the code waits for")]
    fn follow(&self, attributes: &E) {
        let mut state = self.journal.state();
        match attributes {
            E::ActivityTaskStartedEventAttributes(started) => {
                let slot = state.slot_of(started.scheduled_event_id);
                if let Some(slot) = slot.and_then(|slot| state.slot_mut(slot)) {
                    slot.attempt = u32::try_from(started.attempt).unwrap_or_default();
                }
            }
            E::ChildWorkflowExecutionStartedEventAttributes(started) => {
                let execution = started.workflow_execution.as_ref();
                let run_id = execution.map(|it| it.run_id.clone()).unwrap_or_default();
                if let Some(slot) = state.slot_of(started.initiated_event_id) {
                    state.resolve(slot, Ok(payload::encode_one(&run_id).unwrap_or_default()));
                }
            }
            E::StartChildWorkflowExecutionFailedEventAttributes(failed) => {
                let start = state.slot_of(failed.initiated_event_id);
                let end = state.take_end_of(failed.initiated_event_id);
                for slot in [start, end].into_iter().flatten() {
                    let taken = Failure::new("the workflow id is taken").of_type(ALREADY_STARTED);
                    state.resolve(slot, Err(Box::new(taken.into_wire())));
                }
            }
            _ => {
                let ended = match child_end(attributes) {
                    Some((event, outcome)) => Some((state.take_end_of(event), outcome)),
                    None => end(attributes).map(|(event, it)| (state.take_slot_of(event), it)),
                };
                if let Some((Some(slot), outcome)) = ended {
                    state.ended(slot, outcome);
                }
            }
        }
    }
}

impl Drop for Execution {
    /// What the code drops when it is put away is not its doing, nor is whom that wakes.
    fn drop(&mut self) {
        let _ = self.stir();
        self.journal.close();
    }
}

fn query_result(answered: Result<Option<Payloads>, Failure>) -> WorkflowQueryResult {
    match answered {
        Ok(answer) => WorkflowQueryResult {
            result_type: QueryResultType::Answered.into(),
            answer,
            ..WorkflowQueryResult::default()
        },
        Err(failure) => WorkflowQueryResult {
            result_type: QueryResultType::Failed.into(),
            error_message: failure.message().to_owned(),
            failure: Some(failure.into_wire()),
            ..WorkflowQueryResult::default()
        },
    }
}
