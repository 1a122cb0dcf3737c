//! Packing: a commit as one row.
//!
//! The bytes are those of the messages in [`message`](super::message), with their numbers of fields. They
//! are written in one go from where they are: every commit is packed, and few are ever read again.

use prost::encoding::{WireType, encode_key, encode_varint};
use rusqlite::Transaction;
use steadfast_retry::Timestamp;

use crate::{
    codec::FORMAT,
    error_rows::{ErrorRow, ErrorWrite},
    filter::Value,
    rows::{
        AttemptRow, Batch, EventBatch, ItemWrite, RunIdentity, RunWrite, StateRow, VisibilityRow,
    },
    sqlite::{fault::Fault, number},
};

/// Writes the row of a commit. Tells how many bytes it has.
pub(in super::super) fn pack(tx: &Transaction<'_>, batch: &Batch) -> Result<usize, Fault> {
    let data = bytes(batch);
    let sequence = number::signed("sequence", batch.sequence)?;
    tx.prepare_cached("INSERT INTO packed_commits (sequence, data) VALUES (?1, ?2)")?
        .execute((sequence, &data))?;
    Ok(data.len())
}

/// A batch as it is packed.
pub(super) fn bytes(batch: &Batch) -> Vec<u8> {
    let about = batch.writes.iter().map(|write| write.bytes() + 256).sum();
    let mut out = Out(Vec::with_capacity(about));
    out.0.push(FORMAT);
    for write in &batch.writes {
        out.message(1, |out| one(out, write));
    }
    out.0
}

fn one(out: &mut Out, run: &RunWrite) {
    out.int(1, run.run.0);
    out.int(2, run.shard.0.into());
    out.each(3, run.create.as_deref(), names_of);
    out.each(4, &run.state, state_of);
    out.each(5, &run.items, item_of);
    out.each(6, &run.events, events_of);
    out.each(7, run.visibility.as_deref(), visible_of);
    out.each(8, &run.attempts, attempt_of);
    out.each(9, &run.errors, error_of);
    out.flag(10, run.delete);
}

fn names_of(out: &mut Out, row: &RunIdentity) {
    out.text(1, &row.namespace);
    out.text(2, &row.workflow_id);
    out.text(3, &row.run_id);
}

fn state_of(out: &mut Out, row: &StateRow) {
    out.bytes(1, &row.data);
    out.time(2, row.next_due);
    out.flag(3, row.has_work);
}

fn item_of(out: &mut Out, row: &ItemWrite) {
    out.int(1, row.kind.number().into());
    out.bytes(2, &row.key);
    if let Some(data) = &row.data {
        out.always(3, data);
    }
}

fn events_of(out: &mut Out, row: &EventBatch) {
    out.int(1, row.first);
    out.int(2, row.last);
    out.bytes(3, &row.data);
}

fn visible_of(out: &mut Out, row: &VisibilityRow) {
    out.message(1, |out| names_of(out, &row.identity));
    out.text(2, &row.workflow_type);
    out.text(3, &row.task_queue);
    out.int(4, row.status.into());
    out.int(5, row.start_time.nanos());
    out.int(6, row.execution_time.nanos());
    out.time(7, row.close_time);
    out.int(8, row.history_length);
    out.int(9, row.history_size);
    out.int(10, row.state_transitions);
    for (tag, names) in [(11, &row.parent), (12, &row.root)] {
        if let Some((workflow_id, run_id)) = names {
            out.message(tag, |out| {
                out.text(2, workflow_id);
                out.text(3, run_id);
            });
        }
    }
    out.bytes(13, &row.memo);
    out.bytes(14, &row.search_attributes);
    for (name, found) in &row.search_values {
        out.message(15, |out| {
            out.text(1, name);
            out.message(2, |out| value_of(out, found));
        });
    }
}

fn value_of(out: &mut Out, found: &Value) {
    match found {
        Value::Bool(found) => out.number(1, u64::from(*found)),
        Value::Int(found) => out.number(2, found.cast_unsigned()),
        Value::Double(found) => out.fixed(3, found.to_bits()),
        Value::Time(found) => out.number(4, found.nanos().cast_unsigned()),
        Value::Text(found) => out.always(5, found.as_bytes()),
    }
}

fn attempt_of(out: &mut Out, row: &AttemptRow) {
    out.int(1, row.activity);
    out.text(2, &row.activity_id);
    out.text(3, &row.activity_type);
    out.int(4, row.attempt.into());
    out.text(5, &row.worker);
    out.int(6, row.scheduled_at.nanos());
    out.time(7, row.started_at);
    out.int(8, row.ended_at.nanos());
    out.int(9, row.outcome.number().into());
    out.text(10, &row.error_type);
    out.text(11, &row.message);
    out.fixed(12, row.fingerprint);
    out.text(13, &row.why);
    out.time(14, row.next_at);
    out.text(15, &row.rule);
    out.text(16, &row.layer);
    out.text(17, &row.policy);
    out.text(18, &row.source);
    out.maybe(19, row.delay.map(number::nanos));
    out.text(20, &row.class);
    out.flag(21, row.parked);
}

fn error_of(out: &mut Out, row: &ErrorWrite) {
    out.int(1, row.subject);
    out.each(2, &row.row, error_row_of);
}

fn error_row_of(out: &mut Out, row: &ErrorRow) {
    out.text(1, &row.workflow_type);
    out.text(2, &row.activity_id);
    out.text(3, &row.activity_type);
    out.text(4, &row.kind);
    out.int(5, row.state.number().into());
    out.int(6, row.attempts.into());
    out.text(7, &row.error_type);
    out.text(8, &row.cause);
    out.fixed(9, row.fingerprint);
    out.int(10, row.first_at.nanos());
    out.int(11, row.last_at.nanos());
    out.time(12, row.next_at);
    out.text(13, &row.reason);
    if let Some(seen) = &row.acknowledged {
        out.message(14, |out| {
            out.int(1, seen.at.nanos());
            out.text(2, &seen.by);
            out.text(3, &seen.reason);
        });
    }
    out.int(15, row.resumes.into());
}

/// Fields of protobuf messages, one behind the other. What is 0 or empty is left out, as it is what a
/// reader takes a field for that is not there.
struct Out(Vec<u8>);

/// Bytes that the length of a message takes: written before it is known, in a form that has room for
/// all that can be.
const LENGTH_BYTES: usize = 4;

impl Out {
    fn int(&mut self, tag: u32, value: i64) {
        if value != 0 {
            self.number(tag, value.cast_unsigned());
        }
    }

    fn flag(&mut self, tag: u32, value: bool) {
        self.int(tag, i64::from(value));
    }

    fn time(&mut self, tag: u32, time: Option<Timestamp>) {
        self.maybe(tag, time.map(Timestamp::nanos));
    }

    fn maybe(&mut self, tag: u32, value: Option<i64>) {
        if let Some(value) = value {
            self.number(tag, value.cast_unsigned());
        }
    }

    fn text(&mut self, tag: u32, value: &str) {
        self.bytes(tag, value.as_bytes());
    }

    fn bytes(&mut self, tag: u32, value: &[u8]) {
        if !value.is_empty() {
            self.always(tag, value);
        }
    }

    fn always(&mut self, tag: u32, value: &[u8]) {
        encode_key(tag, WireType::LengthDelimited, &mut self.0);
        encode_varint(value.len().try_into().unwrap_or(u64::MAX), &mut self.0);
        self.0.extend_from_slice(value);
    }

    fn number(&mut self, tag: u32, value: u64) {
        encode_key(tag, WireType::Varint, &mut self.0);
        encode_varint(value, &mut self.0);
    }

    fn fixed(&mut self, tag: u32, value: u64) {
        encode_key(tag, WireType::SixtyFourBit, &mut self.0);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// A message for each row.
    fn each<'a, T: 'a>(
        &mut self,
        tag: u32,
        rows: impl IntoIterator<Item = &'a T>,
        fields: fn(&mut Self, &T),
    ) {
        for row in rows {
            self.message(tag, |out| fields(out, row));
        }
    }

    fn message(&mut self, tag: u32, fields: impl FnOnce(&mut Self)) {
        encode_key(tag, WireType::LengthDelimited, &mut self.0);
        let place = self.0.len();
        self.0.extend_from_slice(&[0; LENGTH_BYTES]);
        fields(self);
        let mut length = self.0.len() - place - LENGTH_BYTES;
        for (index, byte) in self.0[place..place + LENGTH_BYTES].iter_mut().enumerate() {
            let more = if index + 1 < LENGTH_BYTES { 0x80 } else { 0 };
            *byte = u8::try_from(length & 0x7f).unwrap_or(0) | more;
            length >>= 7;
        }
        debug_assert_eq!(length, 0, "larger commits are not packed");
    }
}
