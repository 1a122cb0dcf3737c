//! One transition under way: the run, what was written so far, and the way back.
//!
//! Machines write events through here and nowhere else, so that every event gets its id, its time
//! and its meaning ([`fold`]) at one place. While a worker has the workflow task, what happens
//! outside must not slip between its events: it is *buffered*, counts already, and gets its place
//! in the history when the task ends.

use prost::Message as _;
use steadfast_proto::{
    command, common,
    history::{HistoryEvent, history_event::Attributes},
    sdk,
};
use steadfast_retry::Timestamp;

use crate::{
    deadline::Deadline,
    entropy::Entropy,
    fold,
    limits::Limits,
    refused::Refused,
    run::Run,
    span::instant_to_wire,
    state::{Activity, State},
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
}

/// One transition under way.
pub(crate) struct Tx<'a> {
    pub(crate) run: &'a mut Run,
    pub(crate) now: Timestamp,
    pub(crate) limits: &'a Limits,
    pub(crate) entropy: Entropy,
    pub(crate) out: Transition,
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
        let Context { now, entropy, limits } = context;
        Self { run, now, limits, entropy, out: Transition::default(), saved }
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
        self.run.buffer.insert(number, event);
    }

    /// Gives the buffered events their places: ends of activities and children last. Says whether
    /// there were any.
    pub(crate) fn flush(&mut self) -> bool {
        let keys: Vec<u64> = self.run.buffer.iter().map(|(key, _)| *key).collect();
        let events: Vec<HistoryEvent> =
            keys.iter().filter_map(|key| self.run.buffer.remove(key)).collect();
        let (closes, others): (Vec<_>, Vec<_>) = events.into_iter().partition(is_close);
        let any = !(closes.is_empty() && others.is_empty());
        for event in others.into_iter().chain(closes) {
            self.place_buffered(event);
        }
        any
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.out.effects.push(effect);
    }

    /// Takes everything back to where the transition began.
    pub(crate) fn roll_back(&mut self) {
        self.run.roll_back(self.saved.clone());
        self.out = Transition::default();
    }

    /// Makes it final. What changed nothing is not a step.
    pub(crate) fn commit(mut self) -> Transition {
        self.out.changed = self.run.state != self.saved || self.run.has_changes();
        if self.out.changed {
            self.run.state.transitions += 1;
            settle(self.run);
        }
        std::mem::take(&mut self.out)
    }

    /// Gives up: the run is as it was.
    pub(crate) fn refuse(mut self, why: Refused) -> Refused {
        self.roll_back();
        why
    }

    fn place_buffered(&mut self, mut event: HistoryEvent) {
        if let Some(started) = self.started_of(&event) {
            set_started(&mut event, started);
        }
        self.place(event, &Fold::Earlier);
    }

    /// The started event that was buffered beside this close.
    fn started_of(&self, close: &HistoryEvent) -> Option<i64> {
        let scheduled = activity_of_close(close)?;
        self.out.events.iter().rev().find_map(|event| match &event.attributes {
            Some(Attributes::ActivityTaskStartedEventAttributes(started))
                if started.scheduled_event_id == scheduled =>
            {
                Some(event.event_id)
            }
            _ => None,
        })
    }

    fn place(&mut self, mut event: HistoryEvent, fold: &Fold) -> i64 {
        let id = self.run.state.next_event_id;
        event.event_id = id;
        event.task_id = id;
        self.run.state.next_event_id += 1;
        self.run.state.history_bytes += i64::try_from(event.encoded_len()).unwrap_or(i64::MAX);
        match fold {
            Fold::Now => fold::event(self.run, &event),
            Fold::Earlier => fold::placed(self.run, &event),
        }
        self.out.events.push(event);
        id
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

/// Brings what is derived from the rows up to date, for the rows that changed.
pub(crate) fn settle(run: &mut Run) {
    for (what, at) in run.state.deadlines() {
        run.deadlines.set(what, at);
    }
    for id in run.activities.changed() {
        let activity = run.activities.get(id);
        let at = activity.and_then(Activity::deadline).map(|(at, _)| at);
        run.deadlines.set(Deadline::Activity(*id), at);
        run.ready.set_activity(*id, activity);
    }
    for id in run.timers.changed() {
        let at = run.timers.get(id).and_then(crate::state::Timer::due);
        run.deadlines.set(Deadline::Timer(*id), at);
    }
    for id in run.children.changed() {
        run.ready.set_child(*id, run.children.get(id));
    }
}

/// Whether an event's meaning is taken in now or was when it was buffered.
enum Fold {
    Now,
    Earlier,
}

fn new_event(at: Timestamp, attributes: Attributes, note: Note) -> HistoryEvent {
    HistoryEvent {
        event_time: Some(instant_to_wire(at)),
        event_type: attributes.event_type().into(),
        user_metadata: note.metadata,
        links: note.links,
        event_group_markers: note.markers,
        attributes: Some(attributes),
        ..HistoryEvent::default()
    }
}

/// Ends of activities and children: they go behind everything else, so that a signal that came
/// while an activity ran is seen before the activity's end.
fn is_close(event: &HistoryEvent) -> bool {
    activity_of_close(event).is_some()
        || matches!(
            event.attributes,
            Some(
                Attributes::ChildWorkflowExecutionCompletedEventAttributes(_)
                    | Attributes::ChildWorkflowExecutionFailedEventAttributes(_)
                    | Attributes::ChildWorkflowExecutionCanceledEventAttributes(_)
                    | Attributes::ChildWorkflowExecutionTimedOutEventAttributes(_)
                    | Attributes::ChildWorkflowExecutionTerminatedEventAttributes(_)
            )
        )
}

/// The scheduled event of the activity that `event` is the end of.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are no ends")]
pub(crate) fn activity_of_close(event: &HistoryEvent) -> Option<i64> {
    match event.attributes.as_ref()? {
        Attributes::ActivityTaskCompletedEventAttributes(end) => Some(end.scheduled_event_id),
        Attributes::ActivityTaskFailedEventAttributes(end) => Some(end.scheduled_event_id),
        Attributes::ActivityTaskTimedOutEventAttributes(end) => Some(end.scheduled_event_id),
        Attributes::ActivityTaskCanceledEventAttributes(end) => Some(end.scheduled_event_id),
        _ => None,
    }
}

fn set_started(event: &mut HistoryEvent, id: i64) {
    match &mut event.attributes {
        Some(Attributes::ActivityTaskCompletedEventAttributes(end)) => end.started_event_id = id,
        Some(Attributes::ActivityTaskFailedEventAttributes(end)) => end.started_event_id = id,
        Some(Attributes::ActivityTaskTimedOutEventAttributes(end)) => end.started_event_id = id,
        Some(Attributes::ActivityTaskCanceledEventAttributes(end)) => end.started_event_id = id,
        _ => {}
    }
}
