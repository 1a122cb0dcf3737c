//! Runs between the core and the store: what changed becomes rows, and rows become runs again.

use std::collections::{BTreeMap, BTreeSet};

use steadfast_core::{
    Attempt, AttemptOutcome, ErrorState, Identity, Key, Kind, MissingEvent, Run, RunError, Sink,
    Stored, Timestamp, Transition,
    failure::{cause_of, type_of},
};
use steadfast_proto::history::{History, HistoryEvent};
use steadfast_store::{
    Acknowledged, AttemptOutcome as Outcome, AttemptRow, ErrorRow, ErrorState as StoredState,
    ErrorWrite, EventBatch, ItemKind, ItemWrite, RunIdentity, RunRows, RunWrite, StateRow, Waking,
    codec,
};

use crate::fingerprint;

/// Why stored rows cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Unreadable {
    /// The bytes are not what they should be.
    #[error(transparent)]
    Codec(#[from] codec::Error),
    /// A key is not what it should be.
    #[error("an item of kind {0:?} has a key that cannot be read")]
    Key(ItemKind),
    /// An event is missing.
    #[error(transparent)]
    Event(#[from] MissingEvent),
    /// A schedule makes no sense.
    #[error(transparent)]
    Schedule(#[from] steadfast_core::schedule::Invalid),
}

/// Takes what changed of `run` since the last time, with the events of `transition`, and
/// has the store wake it by `wakes`.
pub(crate) fn write(
    run: &mut Run,
    wakes: Waking,
    transition: &mut Transition,
    into: &mut RunWrite,
) {
    let workflow_type = run.workflow_type().to_owned();
    let (items, errors) = (&mut into.items, &mut into.errors);
    run.drain_changes(&mut Changes { items, errors, workflow_type: &workflow_type });
    into.state = Some(StateRow {
        data: codec::encode(run.state()),
        next_due: wakes.due,
        has_work: wakes.has_work,
    });
    if let (Some(first), Some(last)) = (transition.events.first(), transition.events.last()) {
        into.events.push(EventBatch {
            first: first.event_id,
            last: last.event_id,
            data: transition.events.take_bytes(codec::FORMAT),
        });
    }
    into.attempts.extend(transition.attempts.iter().map(attempt));
}

/// The names of a run, for the store.
pub(crate) fn identity(identity: &Identity) -> RunIdentity {
    RunIdentity {
        namespace: identity.namespace_id.clone(),
        workflow_id: identity.workflow_id.clone(),
        run_id: identity.run_id.clone(),
    }
}

/// Reads a run's rows; its events come later.
pub(crate) fn read(rows: &RunRows, namespace: &str) -> Result<Stored, Unreadable> {
    let mut stored = Stored {
        identity: Identity {
            namespace_id: rows.identity.namespace.clone(),
            namespace: namespace.to_owned(),
            workflow_id: rows.identity.workflow_id.clone(),
            run_id: rows.identity.run_id.clone(),
        },
        state: codec::decode(&rows.state.data)?,
        ..Stored::default()
    };
    for item in &rows.items {
        let kind = item.kind;
        let number = || number(kind, &item.key);
        match kind {
            ItemKind::Activity => {
                stored.activities.insert(signed(number()?), codec::decode(&item.data)?);
            }
            ItemKind::Timer => {
                stored.timers.insert(signed(number()?), codec::decode(&item.data)?);
            }
            ItemKind::Child => {
                stored.children.insert(signed(number()?), codec::decode(&item.data)?);
            }
            ItemKind::External => {
                stored.externals.insert(signed(number()?), codec::decode(&item.data)?);
            }
            ItemKind::Update => {
                stored.updates.insert(name(kind, &item.key)?, codec::decode(&item.data)?);
            }
            ItemKind::Request => {
                stored.requests.insert(name(kind, &item.key)?, codec::decode(&item.data)?);
            }
            ItemKind::Buffered => {
                stored.buffered.insert(number()?, codec::decode(&item.data)?);
            }
            ItemKind::Message => {
                stored.messages.insert(number()?, codec::decode(&item.data)?);
            }
            ItemKind::DeadLetter => {
                stored.letters.insert(signed(number()?), codec::decode(&item.data)?);
            }
        }
    }
    Ok(stored)
}

/// The events of some batches.
pub(crate) fn decode_events(batches: &[EventBatch]) -> Result<Vec<HistoryEvent>, Unreadable> {
    let mut events = Vec::new();
    for batch in batches {
        events.extend(codec::decode::<History>(&batch.data)?.events);
    }
    Ok(events)
}

/// Those of `events` that are wanted, by id.
pub(crate) fn pick(
    events: Vec<HistoryEvent>,
    wanted: &BTreeSet<i64>,
) -> BTreeMap<i64, HistoryEvent> {
    let wanted = events.into_iter().filter(|event| wanted.contains(&event.event_id));
    wanted.map(|event| (event.event_id, event)).collect()
}

struct Changes<'a> {
    items: &'a mut Vec<ItemWrite>,
    errors: &'a mut Vec<ErrorWrite>,
    workflow_type: &'a str,
}

impl Sink for Changes<'_> {
    fn put<M: prost::Message>(&mut self, kind: Kind, key: Key<'_>, row: &M) {
        self.items.push(ItemWrite {
            kind: item_kind(kind),
            key: item_key(key),
            data: Some(codec::encode(row)),
        });
    }

    fn delete(&mut self, kind: Kind, key: Key<'_>) {
        self.items.push(ItemWrite { kind: item_kind(kind), key: item_key(key), data: None });
    }

    fn error(&mut self, subject: i64, error: Option<&RunError>) {
        let row = error.map(|error| error_row(error, self.workflow_type));
        // A run may be written twice in one commit: the later word holds.
        self.errors.retain(|write| write.subject != subject);
        self.errors.push(ErrorWrite { subject, row });
    }
}

fn error_row(error: &RunError, workflow_type: &str) -> ErrorRow {
    let acknowledged = error.acknowledged.as_ref().map(|it| Acknowledged {
        at: Timestamp(it.at),
        by: it.identity.clone(),
        reason: it.reason.clone(),
    });
    ErrorRow {
        workflow_type: workflow_type.to_owned(),
        activity_id: error.activity_id.clone(),
        activity_type: error.activity_type.clone(),
        kind: error.kind.clone(),
        state: match error.state {
            ErrorState::Retrying => StoredState::Retrying,
            ErrorState::Parked => StoredState::Parked,
            ErrorState::Failed => StoredState::Failed,
            ErrorState::Dead => StoredState::Dead,
        },
        attempts: error.attempts,
        error_type: error.error_type.clone(),
        cause: error.cause.clone(),
        fingerprint: fingerprint::of(&error.error_type, &error.cause),
        first_at: error.first_at,
        last_at: error.last_at,
        next_at: error.next_at,
        reason: error.reason.clone(),
        acknowledged,
        resumes: error.resumes,
    }
}

fn attempt(attempt: &Attempt) -> AttemptRow {
    let (outcome, failure) = match &attempt.outcome {
        AttemptOutcome::Completed => (Outcome::Completed, None),
        AttemptOutcome::Cancelled => (Outcome::Cancelled, None),
        AttemptOutcome::Failed(failure) => (Outcome::Failed, Some(failure)),
        AttemptOutcome::TimedOut(failure) => (Outcome::TimedOut, Some(failure)),
    };
    let error_type = failure.map(type_of).unwrap_or_default();
    let message = failure.map(cause_of).unwrap_or_default();
    AttemptRow {
        activity: attempt.scheduled_event_id,
        activity_id: attempt.activity_id.clone(),
        activity_type: attempt.activity_type.clone(),
        attempt: attempt.attempt,
        worker: attempt.identity.clone(),
        scheduled_at: attempt.scheduled_at,
        started_at: attempt.started_at,
        ended_at: attempt.ended_at,
        outcome,
        fingerprint: failure.map_or(0, |_| fingerprint::of(&error_type, &message)),
        error_type,
        message,
        why: attempt.why.clone(),
        next_at: attempt.next_at,
        rule: attempt.rule.clone(),
        layer: attempt.layer.to_owned(),
        policy: attempt.policy.clone(),
        source: attempt.source.to_owned(),
        delay: attempt.delay,
        class: attempt.class.to_owned(),
        parked: attempt.parked,
    }
}

fn item_kind(kind: Kind) -> ItemKind {
    match kind {
        Kind::Activity => ItemKind::Activity,
        Kind::Timer => ItemKind::Timer,
        Kind::Child => ItemKind::Child,
        Kind::External => ItemKind::External,
        Kind::Update => ItemKind::Update,
        Kind::Request => ItemKind::Request,
        Kind::Buffered => ItemKind::Buffered,
        Kind::Message => ItemKind::Message,
        Kind::DeadLetter => ItemKind::DeadLetter,
    }
}

fn item_key(key: Key<'_>) -> Vec<u8> {
    match key {
        Key::Number(number) => number.to_be_bytes().to_vec(),
        Key::Name(name) => name.as_bytes().to_vec(),
    }
}

fn number(kind: ItemKind, key: &[u8]) -> Result<u64, Unreadable> {
    key.try_into().map(u64::from_be_bytes).map_err(|_| Unreadable::Key(kind))
}

fn name(kind: ItemKind, key: &[u8]) -> Result<String, Unreadable> {
    String::from_utf8(key.to_vec()).map_err(|_| Unreadable::Key(kind))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
