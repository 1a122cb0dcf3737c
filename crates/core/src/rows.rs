//! A run as rows: what a commit writes of it, and how it comes back.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use steadfast_proto::history::{HistoryEvent, history_event::Attributes};

use crate::{
    fold,
    parked::DeadLetter,
    run::{Identity, Run},
    state::{
        Activity, ActivityRow, Child, ChildRow, External, ExternalInitiated, ExternalRow, Message,
        Request, State, Timer, Update, UpdateRow,
    },
    table::Table,
    trouble::{RUN, RunError, TASK},
};

/// What a row is about.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// A pending activity, by its scheduled event.
    Activity,
    /// A pending timer, by its started event.
    Timer,
    /// A pending child, by its initiated event.
    Child,
    /// A request to another run, by its initiated event.
    External,
    /// An update, by its id.
    Update,
    /// A request that was applied, by its id.
    Request,
    /// A buffered event, by its place.
    Buffered,
    /// A message to another run, by its number.
    Message,
    /// What is left of a dead-lettered activity, by its scheduled event.
    DeadLetter,
}

/// The name of a row among its kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Key<'a> {
    /// A number.
    Number(u64),
    /// A text.
    Name(&'a str),
}

/// Where rows are written to.
pub trait Sink {
    /// Writes a row.
    fn put<M: prost::Message>(&mut self, kind: Kind, key: Key<'_>, row: &M);
    /// Deletes a row.
    fn delete(&mut self, kind: Kind, key: Key<'_>);
    /// Writes what has failed of this subject; `None` if it is settled.
    fn error(&mut self, subject: i64, error: Option<&RunError>);
}

/// A run as it was stored.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Its names.
    pub identity: Identity,
    /// Its state.
    pub state: State,
    /// Its pending activities.
    pub activities: BTreeMap<i64, ActivityRow>,
    /// Its pending timers.
    pub timers: BTreeMap<i64, Timer>,
    /// Its pending children.
    pub children: BTreeMap<i64, ChildRow>,
    /// Its requests to other runs.
    pub externals: BTreeMap<i64, ExternalRow>,
    /// Its updates.
    pub updates: BTreeMap<String, UpdateRow>,
    /// The requests that it has applied.
    pub requests: BTreeMap<String, Request>,
    /// Its buffered events.
    pub buffered: BTreeMap<u64, HistoryEvent>,
    /// Its messages to other runs.
    pub messages: BTreeMap<u64, Message>,
    /// What is left of its dead-lettered activities.
    pub letters: BTreeMap<i64, DeadLetter>,
}

/// An event that the rows speak of is not there, or is another one.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("event {0} is missing from the history, or is not what the state says")]
pub struct MissingEvent(pub i64);

impl Run {
    /// Writes what changed since the last time, but for the state itself.
    pub fn drain_changes(&mut self, sink: &mut impl Sink) {
        self.drain_subjects(sink);
        drain(&mut self.timers, sink, Kind::Timer, |id| number(*id), |it| it);
        drain(&mut self.children, sink, Kind::Child, |id| number(*id), |it| &it.row);
        drain(&mut self.externals, sink, Kind::External, |id| number(*id), |it| &it.row);
        drain(&mut self.requests, sink, Kind::Request, |id| Key::Name(id), |it| it);
        drain(&mut self.buffer, sink, Kind::Buffered, |id| Key::Number(*id), |it| it);
        drain(&mut self.messages, sink, Kind::Message, |id| Key::Number(*id), |it| it);
        for (id, update) in self.updates.drain() {
            match update {
                Some(update) if is_kept(update) => {
                    sink.put(Kind::Update, Key::Name(&id), &update.row);
                }
                Some(_) => {}
                None => sink.delete(Kind::Update, Key::Name(&id)),
            }
        }
    }

    /// What may have failed, and with it the errors: those that are no longer what was written.
    fn drain_subjects(&mut self, sink: &mut impl Sink) {
        let mut subjects = Vec::with_capacity(SUBJECTS);
        subjects.extend([RUN, TASK]);
        for (id, activity) in self.activities.drain() {
            match activity {
                Some(activity) => sink.put(Kind::Activity, number(id), &activity.row),
                None => sink.delete(Kind::Activity, number(id)),
            }
            subjects.push(id);
        }
        for (id, letter) in self.letters.drain() {
            match letter {
                Some(letter) => sink.put(Kind::DeadLetter, number(id), letter),
                None => sink.delete(Kind::DeadLetter, number(id)),
            }
            subjects.push(id);
        }
        if !self.is_open() {
            subjects.extend(self.errors.keys());
        }
        for subject in subjects {
            let error = self.error(subject);
            if self.errors.get(&subject) == error.as_ref() {
                continue;
            }
            sink.error(subject, error.as_ref());
            match error {
                Some(error) => _ = self.errors.insert(subject, error),
                None => _ = self.errors.remove(&subject),
            }
        }
    }
}

impl Stored {
    /// The events that must be at hand to bring the run back.
    pub fn events_needed(&self) -> BTreeSet<i64> {
        let admitted = self.updates.values().filter(|row| row.accepted_event_id == 0);
        let mut needed = BTreeSet::from([1]);
        needed.extend(self.activities.keys());
        needed.extend(self.children.keys());
        needed.extend(self.externals.keys());
        needed.extend(admitted.map(|row| row.admitted_event_id).filter(|id| *id != 0));
        needed
    }

    /// Brings the run back.
    pub fn into_run(self, events: &BTreeMap<i64, HistoryEvent>) -> Result<Run, MissingEvent> {
        let mut run = Run { identity: self.identity, state: self.state, ..Run::default() };
        let Attributes::WorkflowExecutionStartedEventAttributes(started) = attributes(events, 1)?
        else {
            return Err(MissingEvent(1));
        };
        run.started = Arc::from(started.clone());
        let metadata = events.get(&1).and_then(|event| event.user_metadata.clone());
        run.user_metadata = metadata.map(Arc::new);
        for (id, row) in self.activities {
            let activity =
                restore_activity(attributes(events, id)?, row).ok_or(MissingEvent(id))?;
            run.activities.insert(id, activity);
        }
        for (id, row) in self.children {
            let child = restore_child(events.get(&id), row).ok_or(MissingEvent(id))?;
            run.children.insert(id, child);
        }
        for (id, row) in self.externals {
            let external =
                restore_external(attributes(events, id)?, row).ok_or(MissingEvent(id))?;
            run.externals.insert(id, external);
        }
        for (id, row) in self.updates {
            let update = restore_update(events, row)?;
            run.updates.insert(id, update);
        }
        fill(&mut run.timers, self.timers);
        fill(&mut run.requests, self.requests);
        fill(&mut run.buffer, self.buffered);
        fill(&mut run.messages, self.messages);
        fill(&mut run.letters, self.letters);
        fold::restore_in_flight(&mut run);
        run.keep();
        run.drain_changes(&mut Nowhere);
        Ok(run)
    }
}

/// Room for what most steps may have changed: the run, its workflow task and an activity or two.
const SUBJECTS: usize = 4;

/// What was just read need not be written.
pub(crate) struct Nowhere;

impl Sink for Nowhere {
    fn put<M: prost::Message>(&mut self, _: Kind, _: Key<'_>, _: &M) {}
    fn delete(&mut self, _: Kind, _: Key<'_>) {}
    fn error(&mut self, _: i64, _: Option<&RunError>) {}
}

fn drain<K: Ord + Clone, V: crate::table::Row, M: prost::Message>(
    table: &mut Table<K, V>,
    sink: &mut impl Sink,
    kind: Kind,
    key_of: impl Fn(&K) -> Key<'_>,
    row_of: impl Fn(&V) -> &M,
) {
    for (key, row) in table.drain() {
        match row {
            Some(row) => sink.put(kind, key_of(&key), row_of(row)),
            None => sink.delete(kind, key_of(&key)),
        }
    }
}

fn fill<K: Ord + Clone, V: crate::table::Row>(
    table: &mut Table<K, V>,
    rows: impl IntoIterator<Item = (K, V)>,
) {
    for (key, row) in rows {
        table.insert(key, row);
    }
}

fn number(id: i64) -> Key<'static> {
    Key::Number(id.unsigned_abs())
}

/// An update that is in the history. The others are lost in a crash, and their callers ask again.
fn is_kept(update: &Update) -> bool {
    update.row.admitted_event_id != 0 || update.is_accepted()
}

fn attributes(events: &BTreeMap<i64, HistoryEvent>, id: i64) -> Result<&Attributes, MissingEvent> {
    events.get(&id).and_then(|event| event.attributes.as_ref()).ok_or(MissingEvent(id))
}

fn restore_activity(attributes: &Attributes, row: ActivityRow) -> Option<Activity> {
    let Attributes::ActivityTaskScheduledEventAttributes(scheduled) = attributes else {
        return None;
    };
    Some(Activity { scheduled: Arc::from(scheduled.clone()), row })
}

fn restore_child(event: Option<&HistoryEvent>, row: ChildRow) -> Option<Child> {
    let HistoryEvent { user_metadata, attributes, .. } = event?;
    let Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(initiated) =
        attributes.as_ref()?
    else {
        return None;
    };
    let user_metadata = user_metadata.clone().map(Arc::new);
    Some(Child { initiated: Arc::from(initiated.clone()), user_metadata, row })
}

fn restore_external(attributes: &Attributes, row: ExternalRow) -> Option<External> {
    let initiated =
        if let Attributes::SignalExternalWorkflowExecutionInitiatedEventAttributes(initiated) =
            attributes
        {
            ExternalInitiated::Signal(Arc::from(initiated.clone()))
        } else if let Attributes::RequestCancelExternalWorkflowExecutionInitiatedEventAttributes(
            initiated,
        ) = attributes
        {
            ExternalInitiated::Cancel(Arc::from(initiated.clone()))
        } else {
            return None;
        };
    Some(External { initiated, row })
}

fn restore_update(
    events: &BTreeMap<i64, HistoryEvent>,
    row: UpdateRow,
) -> Result<Update, MissingEvent> {
    let waits = row.admitted_event_id != 0 && row.accepted_event_id == 0;
    if !waits {
        return Ok(Update { row, ..Update::default() });
    }
    let Attributes::WorkflowExecutionUpdateAdmittedEventAttributes(admitted) =
        attributes(events, row.admitted_event_id)?
    else {
        return Err(MissingEvent(row.admitted_event_id));
    };
    Ok(Update { request: admitted.request.clone(), row, ..Update::default() })
}
