//! Markers: what the code found out by itself, written into history so that a replay finds the same.

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    command::{Command, RecordMarkerCommandAttributes},
    common::{Payload, Payloads},
};

use super::context::WorkflowContext;
use crate::payload::{self, CodecError};

/// The marker of a value that was computed once.
const SIDE_EFFECT: &str = "steadfast_side_effect";
/// The marker of a change to a workflow's code.
const PATCH: &str = "steadfast_patch";
/// All of them.
pub(crate) const MARKERS: [&str; 2] = [SIDE_EFFECT, PATCH];
/// Where a marker keeps its one value.
pub(crate) const VALUE: &str = "value";

/// A value that is computed once, and read from history ever after.
pub(crate) fn side_effect<T>(
    ctx: &WorkflowContext,
    compute: impl FnOnce() -> T,
) -> Result<T, CodecError>
where
    T: Serialize + DeserializeOwned,
{
    let known = {
        let mut state = ctx.journal.state();
        let first = state.ahead.iter().position(|(name, _)| name == SIDE_EFFECT);
        first.and_then(|at| state.ahead.remove(at)).and_then(|(_, value)| value)
    };
    let value = match known {
        Some(value) => value,
        // The code is not held up by the lock: it may use the context.
        None => payload::encode(&compute())?,
    };
    let decoded = payload::decode(&value);
    record(ctx, SIDE_EFFECT, value);
    decoded
}

/// Whether the changed code is to run. Runs that were there before the change go the old way.
pub(crate) fn patched(ctx: &WorkflowContext, id: &str) -> bool {
    let decided = {
        let mut state = ctx.journal.state();
        if let Some(known) = state.patches.get(id) {
            return *known;
        }
        let recorded = take_patch(&mut state.ahead, id);
        let decided = recorded || !state.replaying;
        state.patches.insert(id.to_owned(), decided);
        decided
    };
    if decided {
        note_patch(ctx, id);
    }
    decided
}

/// Says that no run needs the old way any more. The mark stays in history.
pub(crate) fn deprecate_patch(ctx: &WorkflowContext, id: &str) {
    let noted = {
        let mut state = ctx.journal.state();
        let recorded = take_patch(&mut state.ahead, id);
        let first = state.patches.insert(id.to_owned(), true).is_none();
        first && (recorded || !state.replaying)
    };
    if noted {
        note_patch(ctx, id);
    }
}

fn take_patch(ahead: &mut std::collections::VecDeque<(String, Option<Payload>)>, id: &str) -> bool {
    let is_it = |value: &Option<Payload>| {
        value.as_ref().and_then(|value| payload::decode::<String>(value).ok()).as_deref()
            == Some(id)
    };
    let at = ahead.iter().position(|(name, value)| name == PATCH && is_it(value));
    at.and_then(|at| ahead.remove(at)).is_some()
}

fn note_patch(ctx: &WorkflowContext, id: &str) {
    // A string can always be written.
    if let Ok(value) = payload::encode(id) {
        record(ctx, PATCH, value);
    }
}

fn record(ctx: &WorkflowContext, name: &str, value: Payload) {
    let details = [(VALUE.to_owned(), Payloads { payloads: vec![value] })].into();
    let attributes = RecordMarkerCommandAttributes {
        marker_name: name.to_owned(),
        details,
        ..RecordMarkerCommandAttributes::default()
    };
    ctx.journal.state().tell(Command::of(attributes));
}
