//! One transition under way: the run, what was written so far, and the way back.
//!
//! Machines write events through here and nowhere else, so that every event gets its id, its time
//! and its meaning ([`fold`]) at one place. While a worker has the workflow task, what happens
//! outside must not slip between its events: it is *buffered*, counts already, and gets its place
//! in the history when the task ends.

use std::{collections::BTreeMap, sync::Arc};

use prost::Message as _;
use steadfast_proto::{
    command, common,
    enums::EventType,
    history::{HistoryEvent, history_event::Attributes},
    sdk,
};
use steadfast_retry::Timestamp;

use crate::{
    ending,
    entropy::Entropy,
    fold,
    limits::Limits,
    refused::Refused,
    rulebook::Rulebook,
    run::Run,
    span::{instant_from_wire, instant_to_wire},
    state::{Activity, State},
    suspicion::Company,
    transition::{Effect, Transition},
};

/// What a transition is made with.
#[derive(Debug)]
pub struct Context<'a> {
    /// The time.
    pub now: Timestamp,
    /// Where ids come from.
    pub entropy: Entropy,
    /// What is too much.
    pub limits: &'a Limits,
    /// What operators say about failures.
    pub rules: &'a Rulebook,
    /// What is known of the workers.
    pub company: &'a dyn Company,
}

/// One transition under way.
pub(crate) struct Tx<'a> {
    pub(crate) run: &'a mut Run,
    pub(crate) now: Timestamp,
    pub(crate) limits: &'a Limits,
    pub(crate) rules: &'a Rulebook,
    pub(crate) company: &'a dyn Company,
    pub(crate) entropy: Entropy,
    pub(crate) out: Transition,
    /// Whether the workflow has to hear of what happened.
    pub(crate) wants_task: bool,
    saved: State,
}

/// What a command says about the event that it makes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Note {
    metadata: Option<sdk::UserMetadata>,
    markers: Vec<sdk::EventGroupMarker>,
    links: Vec<common::Link>,
}

impl<'a> Tx<'a> {
    pub(crate) fn begin(run: &'a mut Run, context: Context<'a>) -> Self {
        let saved = run.state.clone();
        let Context { now, entropy, limits, rules, company } = context;
        // A clock may go back, a history may not. And 0 stands for no instant at all.
        let now = now.max(Timestamp(run.state.last_event_at.max(1)));
        let out = Transition::default();
        Self { run, now, limits, rules, company, entropy, out, wants_task: false, saved }
    }

    /// The run's state before it.
    pub(crate) fn before(&self) -> &State {
        &self.saved
    }

    /// Writes an event now.
    pub(crate) fn append(&mut self, attributes: impl Into<Attributes>) -> i64 {
        self.append_at(self.now, attributes, Note::default())
    }

    /// Writes an event now, with what its command said about it.
    pub(crate) fn append_noted(&mut self, attributes: impl Into<Attributes>, note: Note) -> i64 {
        self.append_at(self.now, attributes, note)
    }

    /// Writes an event that happened at `at`.
    pub(crate) fn append_at(
        &mut self,
        at: Timestamp,
        attributes: impl Into<Attributes>,
        note: Note,
    ) -> i64 {
        let event = new_event(at, attributes.into(), note);
        self.place(event, &Fold::Now)
    }

    /// Records what happened outside: at once, or when the workflow task ends.
    pub(crate) fn happen(&mut self, attributes: impl Into<Attributes>) {
        self.happen_at(self.now, attributes, Note::default());
    }

    /// As [`happen`](Self::happen), with its time and a note.
    pub(crate) fn happen_at(
        &mut self,
        at: Timestamp,
        attributes: impl Into<Attributes>,
        note: Note,
    ) {
        let event = new_event(at, attributes.into(), note);
        if !self.run.task_is_started() {
            self.place(event, &Fold::Now);
            return;
        }
        fold::event(self.run, &event);
        let number = self.run.state.next_buffered;
        self.run.state.next_buffered += 1;
        self.run.state.buffered_bytes += signed(event.encoded_len());
        self.run.buffer.insert(number, event);
    }

    /// Gives the buffered events their places: ends of activities and children last. Says whether
    /// there were any.
    pub(crate) fn flush(&mut self) -> bool {
        let keys: Vec<u64> = self.run.buffer.iter().map(|(key, _)| *key).collect();
        let events = keys.iter().filter_map(|key| self.run.buffer.remove(key));
        let (ends, others): (Vec<_>, Vec<_>) =
            events.partition(|event| ending::subject(event).is_some());
        self.run.state.buffered_bytes = 0;
        self.out.events.reserve(keys.len());
        let mut started = BTreeMap::new();
        for event in others {
            let subject = ending::subject_of_start(&event);
            let id = self.place(Arc::unwrap_or_clone(event), &Fold::Earlier);
            started.extend(subject.map(|subject| (subject, id)));
        }
        for event in ends {
            let mut event = Arc::unwrap_or_clone(event);
            let start = ending::subject(&event).and_then(|subject| started.get(&subject));
            if let Some(id) = start {
                ending::set_started(&mut event, *id);
            }
            self.place(event, &Fold::Earlier);
        }
        !keys.is_empty()
    }

    /// Takes an event out of the buffer: what it tells has not happened after all.
    pub(crate) fn unbuffer(&mut self, number: u64) {
        if let Some(event) = self.run.buffer.remove(&number) {
            self.run.state.buffered_bytes -= signed(event.encoded_len());
        }
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }

    /// Takes everything back to where the transition began.
    pub(crate) fn roll_back(&mut self) {
        self.run.roll_back(self.saved.clone());
        self.out = Transition::default();
        self.wants_task = false;
    }

    /// Makes it final. What changed nothing is not a step.
    pub(crate) fn commit(mut self) -> Transition {
        self.out.changed = self.run.state != self.saved || self.run.is_touched();
        if self.out.changed {
            self.run.state.transitions += 1;
            self.withdraw();
            self.run.keep();
        }
        self.out.effects.retain(|effect| holds(self.run, effect));
        self.out
    }

    /// Gives up: the run is as it was.
    pub(crate) fn refuse(mut self, why: Refused) -> Refused {
        self.roll_back();
        why
    }

    /// Says what waited for a worker before and does not any more, though none has it. With a run
    /// that closes all goes that it offered.
    fn withdraw(&mut self) {
        if !self.run.is_open() {
            return;
        }
        let task = self.run.state.task.as_ref();
        let offered = self.saved.task.as_ref().filter(|task| task.is_offered());
        if let Some(offered) = offered
            && !task.is_some_and(|task| task.is_to_be_had_as(offered))
        {
            let (scheduled_event_id, attempt) = (offered.scheduled_event_id, offered.attempt);
            self.out.effects.push(Effect::WorkflowTaskWithdrawn { scheduled_event_id, attempt });
        }
        let activities = self.run.withdrawn_activities();
        self.out.effects.extend(activities.map(|(scheduled_event_id, stamp)| {
            Effect::ActivityWithdrawn { scheduled_event_id, stamp }
        }));
    }

    fn place(&mut self, mut event: HistoryEvent, fold: &Fold) -> i64 {
        let id = self.run.state.next_event_id;
        event.event_id = id;
        event.task_id = id;
        let at = self.in_order(&mut event);
        let (event, bytes) = self.out.events.push(event);
        self.run.state.count(bytes, at.0);
        match fold {
            Fold::Now => fold::event(self.run, event),
            Fold::Earlier => fold::placed(self.run, event),
        }
        id
    }

    /// What waited in the buffer gets the time of its place; when an activity was taken is told as
    /// it was, although that is written only when it ends.
    fn in_order(&self, event: &mut HistoryEvent) -> Timestamp {
        let at = event.event_time.as_ref().map(instant_from_wire).unwrap_or_default();
        let last = Timestamp(self.run.state.last_event_at);
        if at >= last || event.event_type() == EventType::ActivityTaskStarted {
            return at;
        }
        event.event_time = Some(instant_to_wire(last));
        last
    }
}

impl Note {
    pub(crate) fn of_command(command: &mut command::Command) -> Self {
        Self {
            metadata: command.user_metadata.take(),
            markers: std::mem::take(&mut command.event_group_markers),
            links: Vec::new(),
        }
    }

    pub(crate) fn of_start(metadata: Option<sdk::UserMetadata>, links: Vec<common::Link>) -> Self {
        Self { metadata, markers: Vec::new(), links }
    }

    pub(crate) fn of_links(links: Vec<common::Link>) -> Self {
        Self { links, ..Self::default() }
    }
}

/// Whether what is to be done still makes sense at the end of the transition: what it is about may
/// have come and gone.
fn holds(run: &Run, effect: &Effect) -> bool {
    match effect {
        Effect::WorkflowTaskReady => run.task_is_ready(),
        Effect::ActivityReady { scheduled_event_id, .. } => {
            run.activities().get(scheduled_event_id).is_some_and(Activity::is_offered)
        }
        Effect::StartChild { initiated_event_id } => {
            run.children().get(initiated_event_id).is_some_and(|child| child.row.run_id.is_empty())
        }
        Effect::SendExternal { initiated_event_id } => {
            run.externals.get(initiated_event_id).is_some()
        }
        Effect::WorkflowTaskWithdrawn { .. }
        | Effect::ActivityWithdrawn { .. }
        | Effect::SendMessage { .. }
        | Effect::UpdateChanged { .. }
        | Effect::Closed
        | Effect::StartOver
        | Effect::Delete => true,
    }
}

/// Whether an event's meaning is taken in now or was when it was buffered.
enum Fold {
    Now,
    Earlier,
}

fn new_event(at: Timestamp, attributes: Attributes, note: Note) -> HistoryEvent {
    let event_type = attributes.event_type();
    HistoryEvent {
        event_time: Some(instant_to_wire(at)),
        event_type: event_type.into(),
        // Workers that do not know it fail over it otherwise.
        worker_may_ignore: event_type == EventType::WorkflowExecutionOptionsUpdated,
        user_metadata: note.metadata,
        links: note.links,
        event_group_markers: note.markers,
        attributes: Some(attributes),
        ..HistoryEvent::default()
    }
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
