//! The rules that a batch must keep whatever the backend, checked before anything is written.

use std::collections::BTreeSet;

use crate::{
    error::Error,
    filter::Value,
    rows::{Batch, EventBatch, RUNNING, RunIdentity, RunWrite, VisibilityRow},
};

/// Refuses a batch that breaks a rule which can be seen without looking at the store.
pub(crate) fn batch(batch: &Batch) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for write in &batch.writes {
        if !batch.leases.contains_key(&write.shard) {
            return refuse(write, &format!("the batch holds no lease on shard {}", write.shard.0));
        }
        if !seen.insert(write.run) {
            return refuse(write, "it is written twice in one batch");
        }
        if !write.delete {
            one(write)?;
        }
    }
    Ok(())
}

/// The values that can be searched for, in the order in which they are given back: by name, and as
/// they came within a name. A number that is not one cannot be compared, and is left out.
pub(crate) fn searchable(values: &[(String, Value)]) -> Vec<(String, Value)> {
    let mut kept: Vec<_> = values
        .iter()
        .filter(|(_, value)| !matches!(value, Value::Double(number) if number.is_nan()))
        .cloned()
        .collect();
    kept.sort_by(|a, b| a.0.cmp(&b.0));
    kept
}

/// The error for a write that names a run which is not there, or not in that shard.
pub(crate) fn unknown_run(write: &RunWrite) -> Error {
    refused(write, &format!("shard {} has no such run", write.shard.0))
}

/// The error for a write that creates what is there already.
pub(crate) fn taken(write: &RunWrite, identity: &RunIdentity) -> Error {
    refused(write, &format!("its number or its id {} is taken", identity.run_id))
}

/// The error for a batch of events that does not follow those that are there.
pub(crate) fn event_taken(write: &RunWrite, first: i64) -> Error {
    refused(write, &format!("event {first} is already there"))
}

/// The error for a batch that does not follow the last one.
pub(crate) fn out_of_sequence(found: u64, last: u64) -> Error {
    Error::Rejected(format!("commit {found} does not follow commit {last}"))
}

/// The error for a shard that nobody has acquired.
pub(crate) fn unknown_shard(shard: u32) -> Error {
    Error::Rejected(format!("there is no shard {shard}"))
}

/// How many shards a store has in which so many were `found`: a new one as many as are `asked` for.
pub(crate) fn shards(found: u32, asked: u32) -> Result<u32, Error> {
    match (found, asked) {
        (_, 0) => {
            Err(Error::Rejected("a store has one shard at least, 0 were asked for".to_owned()))
        }
        (0, asked) => Ok(asked),
        (found, _) => Ok(found),
    }
}

/// The error for a namespace whose name another one has.
pub(crate) fn name_taken(name: &str) -> Error {
    Error::Rejected(format!("another namespace has the name {name}"))
}

fn one(write: &RunWrite) -> Result<(), Error> {
    if write.create.is_some() && write.run.0 < 1 {
        return refuse(write, "numbers begin at 1");
    }
    if write.create.is_some() && write.state.is_none() {
        return refuse(write, "a new run needs a state");
    }
    if let (Some(identity), Some(row)) = (&write.create, &write.visibility)
        && row.identity != **identity
    {
        return refuse(write, "its visibility row names another run");
    }
    let is_wrong = |row: &VisibilityRow| row.status == RUNNING && row.close_time.is_some();
    if write.visibility.as_deref().is_some_and(is_wrong) {
        return refuse(write, "its visibility row has it running though it is closed");
    }
    events(write)
}

fn events(write: &RunWrite) -> Result<(), Error> {
    if write.events.iter().any(|batch| batch.first > batch.last) {
        return refuse(write, "a batch of events ends before it begins");
    }
    let follows = |pair: &[EventBatch]| pair[0].last < pair[1].first;
    if !write.events.windows(2).all(follows) {
        return refuse(write, "its events are not in order");
    }
    Ok(())
}

fn refuse(write: &RunWrite, reason: &str) -> Result<(), Error> {
    Err(refused(write, reason))
}

fn refused(write: &RunWrite, reason: &str) -> Error {
    Error::Rejected(format!("run {}: {reason}", write.run.0))
}
