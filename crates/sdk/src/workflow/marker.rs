//! Markers: what the code found out by itself, written into history so that a replay finds the same.

use std::collections::VecDeque;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    command::{Command, RecordMarkerCommandAttributes},
    common::{Payload, Payloads},
    history::MarkerRecordedEventAttributes,
};

use super::{context::WorkflowContext, patch};
use crate::payload::{self, CodecError};

/// The marker of a value that was computed once.
const SIDE_EFFECT: Kind = Kind { name: "steadfast_side_effect", key: "value" };

/// A marker of this SDK: its name, and where it keeps its one value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) key: &'static str,
}

/// A marker that history has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marker {
    pub(super) kind: Kind,
    pub(super) value: Option<Payload>,
}

impl Marker {
    /// Reads an event, if it is a marker that is found here.
    pub(crate) fn of(event: &MarkerRecordedEventAttributes) -> Option<Self> {
        let kinds = [SIDE_EFFECT, patch::PATCH, patch::EARLIER];
        let kind = kinds.into_iter().find(|kind| kind.name == event.marker_name)?;
        let value = event.details.get(kind.key).and_then(|value| value.payloads.first()).cloned();
        Some(Self { kind, value })
    }

    /// Takes the first that is such a one.
    pub(super) fn take(ahead: &mut VecDeque<Self>, is: impl Fn(&Self) -> bool) -> Option<Self> {
        let at = ahead.iter().position(is)?;
        ahead.remove(at)
    }
}

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
        let known = Marker::take(&mut state.ahead, |mark| mark.kind == SIDE_EFFECT);
        known.and_then(|mark| mark.value)
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

/// Writes a marker.
pub(super) fn record(ctx: &WorkflowContext, kind: Kind, value: Payload) {
    let details = [(kind.key.to_owned(), Payloads { payloads: vec![value] })].into();
    let attributes = RecordMarkerCommandAttributes {
        marker_name: kind.name.to_owned(),
        details,
        ..RecordMarkerCommandAttributes::default()
    };
    ctx.journal.state().tell(Command::of(attributes));
}
