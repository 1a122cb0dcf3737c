//! Packed commits as protobuf messages, for reading them.
//!
//! Never give a number to another field. [`writer`](super::writer) writes them.

use prost::{Message, Oneof};
use steadfast_retry::Timestamp;

use crate::{
    codec::{self, decode},
    error_rows::{self, ErrorState, ErrorWrite},
    filter,
    rows::{
        AttemptOutcome, AttemptRow, EventBatch, ItemKind, ItemWrite, RunIdentity, RunNumber,
        RunWrite, ShardNumber, StateRow, VisibilityRow,
    },
    sqlite::number,
};

/// Why a packed commit could not be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error(transparent)]
    Codec(#[from] codec::Error),
    #[error("{field} has the value {value}")]
    Number { field: &'static str, value: i64 },
}

/// The writes of a packed commit.
pub(super) fn read(data: &[u8]) -> Result<Vec<RunWrite>, Unreadable> {
    decode::<Commit>(data)?.writes.into_iter().map(Write::into_row).collect()
}

#[derive(Clone, PartialEq, Message)]
struct Commit {
    #[prost(message, repeated, tag = "1")]
    writes: Vec<Write>,
}

#[derive(Clone, PartialEq, Message)]
struct Write {
    #[prost(int64, tag = "1")]
    run: i64,
    #[prost(uint32, tag = "2")]
    shard: u32,
    #[prost(message, optional, tag = "3")]
    create: Option<Identity>,
    #[prost(message, optional, tag = "4")]
    state: Option<State>,
    #[prost(message, repeated, tag = "5")]
    items: Vec<Item>,
    #[prost(message, repeated, tag = "6")]
    events: Vec<Events>,
    #[prost(message, optional, boxed, tag = "7")]
    visible: Option<Box<Visible>>,
    #[prost(message, repeated, tag = "8")]
    attempts: Vec<Attempt>,
    #[prost(message, repeated, tag = "9")]
    errors: Vec<Error>,
    #[prost(bool, tag = "10")]
    delete: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Identity {
    #[prost(string, tag = "1")]
    namespace: String,
    #[prost(string, tag = "2")]
    workflow_id: String,
    #[prost(string, tag = "3")]
    run_id: String,
}

#[derive(Clone, PartialEq, Message)]
struct State {
    #[prost(bytes = "vec", tag = "1")]
    data: Vec<u8>,
    #[prost(int64, optional, tag = "2")]
    next_due: Option<i64>,
    #[prost(bool, tag = "3")]
    has_work: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Item {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "3")]
    data: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Events {
    #[prost(int64, tag = "1")]
    first: i64,
    #[prost(int64, tag = "2")]
    last: i64,
    #[prost(bytes = "vec", tag = "3")]
    data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
struct Visible {
    #[prost(message, optional, tag = "1")]
    identity: Option<Identity>,
    #[prost(string, tag = "2")]
    workflow_type: String,
    #[prost(string, tag = "3")]
    task_queue: String,
    #[prost(int32, tag = "4")]
    status: i32,
    #[prost(int64, tag = "5")]
    start_time: i64,
    #[prost(int64, tag = "6")]
    execution_time: i64,
    #[prost(int64, optional, tag = "7")]
    close_time: Option<i64>,
    #[prost(int64, tag = "8")]
    history_length: i64,
    #[prost(int64, tag = "9")]
    history_size: i64,
    #[prost(int64, tag = "10")]
    state_transitions: i64,
    #[prost(message, optional, tag = "11")]
    parent: Option<Identity>,
    #[prost(message, optional, tag = "12")]
    root: Option<Identity>,
    #[prost(bytes = "vec", tag = "13")]
    memo: Vec<u8>,
    #[prost(bytes = "vec", tag = "14")]
    search_attributes: Vec<u8>,
    #[prost(message, repeated, tag = "15")]
    search_values: Vec<Pair>,
}

#[derive(Clone, PartialEq, Message)]
struct Pair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5")]
    kind: Option<Kind>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Kind {
    #[prost(bool, tag = "1")]
    Bool(bool),
    #[prost(int64, tag = "2")]
    Int(i64),
    #[prost(double, tag = "3")]
    Double(f64),
    #[prost(int64, tag = "4")]
    Time(i64),
    #[prost(string, tag = "5")]
    Text(String),
}

#[derive(Clone, PartialEq, Message)]
struct Attempt {
    #[prost(int64, tag = "1")]
    activity: i64,
    #[prost(string, tag = "2")]
    activity_id: String,
    #[prost(string, tag = "3")]
    activity_type: String,
    #[prost(uint32, tag = "4")]
    number: u32,
    #[prost(string, tag = "5")]
    worker: String,
    #[prost(int64, tag = "6")]
    scheduled_at: i64,
    #[prost(int64, optional, tag = "7")]
    started_at: Option<i64>,
    #[prost(int64, tag = "8")]
    ended_at: i64,
    #[prost(int64, tag = "9")]
    outcome: i64,
    #[prost(string, tag = "10")]
    error_type: String,
    #[prost(string, tag = "11")]
    message: String,
    #[prost(fixed64, tag = "12")]
    fingerprint: u64,
    #[prost(string, tag = "13")]
    why: String,
    #[prost(int64, optional, tag = "14")]
    next_at: Option<i64>,
    #[prost(string, tag = "15")]
    rule: String,
    #[prost(string, tag = "16")]
    layer: String,
    #[prost(string, tag = "17")]
    policy: String,
    #[prost(string, tag = "18")]
    source: String,
    #[prost(int64, optional, tag = "19")]
    delay: Option<i64>,
    #[prost(string, tag = "20")]
    class: String,
    #[prost(bool, tag = "21")]
    parked: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Error {
    #[prost(int64, tag = "1")]
    subject: i64,
    #[prost(message, optional, boxed, tag = "2")]
    row: Option<Box<ErrorRow>>,
}

#[derive(Clone, PartialEq, Message)]
struct ErrorRow {
    #[prost(string, tag = "1")]
    workflow_type: String,
    #[prost(string, tag = "2")]
    activity_id: String,
    #[prost(string, tag = "3")]
    activity_type: String,
    #[prost(string, tag = "4")]
    kind: String,
    #[prost(int64, tag = "5")]
    state: i64,
    #[prost(uint32, tag = "6")]
    attempts: u32,
    #[prost(string, tag = "7")]
    error_type: String,
    #[prost(string, tag = "8")]
    cause: String,
    #[prost(fixed64, tag = "9")]
    fingerprint: u64,
    #[prost(int64, tag = "10")]
    first_at: i64,
    #[prost(int64, tag = "11")]
    last_at: i64,
    #[prost(int64, optional, tag = "12")]
    next_at: Option<i64>,
    #[prost(string, tag = "13")]
    reason: String,
    #[prost(message, optional, tag = "14")]
    acknowledged: Option<Acknowledged>,
    #[prost(uint32, tag = "15")]
    resumes: u32,
}

#[derive(Clone, PartialEq, Message)]
struct Acknowledged {
    #[prost(int64, tag = "1")]
    at: i64,
    #[prost(string, tag = "2")]
    by: String,
    #[prost(string, tag = "3")]
    reason: String,
}

impl Write {
    fn into_row(self) -> Result<RunWrite, Unreadable> {
        Ok(RunWrite {
            run: RunNumber(self.run),
            shard: ShardNumber(self.shard),
            create: self.create.map(|names| Box::new(names.into_row())),
            state: self.state.map(State::into_row),
            woken_by: None,
            items: self.items.into_iter().map(Item::into_row).collect::<Result<_, _>>()?,
            events: self.events.into_iter().map(Events::into_row).collect(),
            visibility: self.visible.map(|row| Box::new(row.into_row())),
            attempts: self.attempts.into_iter().map(Attempt::into_row).collect::<Result<_, _>>()?,
            errors: self.errors.into_iter().map(Error::into_row).collect::<Result<_, _>>()?,
            delete: self.delete,
            aside: None,
        })
    }
}

impl Identity {
    fn into_row(self) -> RunIdentity {
        let Self { namespace, workflow_id, run_id } = self;
        RunIdentity { namespace, workflow_id, run_id }
    }
}

impl State {
    fn into_row(self) -> StateRow {
        let next_due = self.next_due.map(Timestamp);
        StateRow { data: self.data, next_due, has_work: self.has_work }
    }
}

impl Item {
    fn into_row(self) -> Result<ItemWrite, Unreadable> {
        let kind = known("an item's kind", self.kind, ItemKind::from_number)?;
        Ok(ItemWrite { kind, key: self.key, data: self.data })
    }
}

impl Events {
    fn into_row(self) -> EventBatch {
        EventBatch { first: self.first, last: self.last, data: self.data }
    }
}

impl Visible {
    fn into_row(self) -> VisibilityRow {
        let both = |names: Identity| (names.workflow_id, names.run_id);
        VisibilityRow {
            identity: self.identity.unwrap_or_default().into_row(),
            workflow_type: self.workflow_type,
            task_queue: self.task_queue,
            status: self.status,
            start_time: Timestamp(self.start_time),
            execution_time: Timestamp(self.execution_time),
            close_time: self.close_time.map(Timestamp),
            history_length: self.history_length,
            history_size: self.history_size,
            state_transitions: self.state_transitions,
            parent: self.parent.map(both),
            root: self.root.map(both),
            memo: self.memo,
            search_attributes: self.search_attributes,
            search_values: self.search_values.into_iter().filter_map(Pair::into_row).collect(),
        }
    }
}

impl Pair {
    fn into_row(self) -> Option<(String, filter::Value)> {
        let value = match self.value?.kind? {
            Kind::Bool(value) => filter::Value::Bool(value),
            Kind::Int(value) => filter::Value::Int(value),
            Kind::Double(value) => filter::Value::Double(value),
            Kind::Time(value) => filter::Value::Time(Timestamp(value)),
            Kind::Text(value) => filter::Value::Text(value),
        };
        Some((self.name, value))
    }
}

impl Attempt {
    fn into_row(self) -> Result<AttemptRow, Unreadable> {
        Ok(AttemptRow {
            activity: self.activity,
            activity_id: self.activity_id,
            activity_type: self.activity_type,
            attempt: self.number,
            worker: self.worker,
            scheduled_at: Timestamp(self.scheduled_at),
            started_at: self.started_at.map(Timestamp),
            ended_at: Timestamp(self.ended_at),
            outcome: known("an attempt's outcome", self.outcome, AttemptOutcome::from_number)?,
            error_type: self.error_type,
            message: self.message,
            fingerprint: self.fingerprint,
            why: self.why,
            next_at: self.next_at.map(Timestamp),
            rule: self.rule,
            layer: self.layer,
            policy: self.policy,
            source: self.source,
            delay: self.delay.map(number::span),
            class: self.class,
            parked: self.parked,
        })
    }
}

impl Error {
    fn into_row(self) -> Result<ErrorWrite, Unreadable> {
        let row = self.row.map(|row| row.into_row()).transpose()?;
        Ok(ErrorWrite { subject: self.subject, row })
    }
}

impl ErrorRow {
    fn into_row(self) -> Result<error_rows::ErrorRow, Unreadable> {
        Ok(error_rows::ErrorRow {
            workflow_type: self.workflow_type,
            activity_id: self.activity_id,
            activity_type: self.activity_type,
            kind: self.kind,
            state: known("an error's state", self.state, ErrorState::from_number)?,
            attempts: self.attempts,
            error_type: self.error_type,
            cause: self.cause,
            fingerprint: self.fingerprint,
            first_at: Timestamp(self.first_at),
            last_at: Timestamp(self.last_at),
            next_at: self.next_at.map(Timestamp),
            reason: self.reason,
            acknowledged: self.acknowledged.map(|seen| error_rows::Acknowledged {
                at: Timestamp(seen.at),
                by: seen.by,
                reason: seen.reason,
            }),
            resumes: self.resumes,
        })
    }
}

/// What a stored number stands for.
fn known<T>(
    field: &'static str,
    value: i64,
    from_number: impl Fn(i64) -> Option<T>,
) -> Result<T, Unreadable> {
    from_number(value).ok_or(Unreadable::Number { field, value })
}
