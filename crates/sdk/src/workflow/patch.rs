//! Changes to the code of workflows that are running: marks in history, as the official SDKs write them, and
//! the list of a run's changes, by which runs are found.

use serde::{Deserialize, Serialize};
use steadfast_proto::history::{HistoryEvent, history_event::Attributes as E};

use super::{
    context::WorkflowContext,
    journal::State,
    marker::{self, Kind, Marker},
};
use crate::{fields::Fields, payload};

/// The mark of a change. The list follows it.
pub(super) const PATCH: Kind = Kind { name: "core_patch", key: "patch-data" };
/// The mark that this SDK wrote before: an id, and no list.
pub(super) const EARLIER: Kind = Kind { name: "steadfast_patch", key: "value" };
/// The search attribute with the changes of a run.
const LIST: &str = "TemporalChangeVersion";
/// A longer list is not written: servers refuse it.
const LIST_BYTES_MAX: usize = 2_048;

/// What a mark says.
#[derive(Debug, Deserialize, Serialize)]
struct Change {
    id: String,
    /// Whether no run needs the old way any more.
    #[serde(default)]
    deprecated: bool,
}

/// Whether the changed code is to run. Runs that were there before the change go the old way.
pub(crate) fn patched(ctx: &WorkflowContext, id: &str) -> bool {
    let mark = {
        let mut state = ctx.journal.state();
        if let Some(known) = state.patches.get(id) {
            return *known;
        }
        let mark = decide(&mut state, id, false);
        state.patches.insert(id.to_owned(), mark.is_some());
        mark
    };
    let is_new = mark.is_some();
    note(ctx, mark);
    is_new
}

/// Says that no run needs the old way any more. The mark stays in history.
pub(crate) fn deprecate(ctx: &WorkflowContext, id: &str) {
    let mark = {
        let mut state = ctx.journal.state();
        let is_first = state.patches.insert(id.to_owned(), true).is_none();
        is_first.then(|| decide(&mut state, id, true)).flatten()
    };
    note(ctx, mark);
}

/// The mark that history has, or that it is to have.
fn decide(state: &mut State, id: &str, deprecated: bool) -> Option<Marker> {
    let recorded = Marker::take(&mut state.ahead, |mark| mark.id().as_deref() == Some(id));
    if recorded.is_some() || state.replaying {
        return recorded;
    }
    let value = payload::encode(&Change { id: id.to_owned(), deprecated }).ok();
    Some(Marker { kind: PATCH, value })
}

fn note(ctx: &WorkflowContext, mark: Option<Marker>) {
    let Some(Marker { kind, value: Some(value) }) = mark else { return };
    marker::record(ctx, kind, value);
    if kind == PATCH {
        list(ctx);
    }
}

/// Lists the changes that the run has.
fn list(ctx: &WorkflowContext) {
    let list: Vec<String> = {
        let state = ctx.journal.state();
        state.patches.iter().filter(|(_, is_new)| **is_new).map(|(id, _)| id.clone()).collect()
    };
    let bytes: usize = list.iter().map(String::len).sum();
    if bytes <= LIST_BYTES_MAX {
        // Strings can always be written.
        let _ = ctx.upsert_search_attribute(LIST, &list);
    }
}

impl Marker {
    /// The change that it is the mark of.
    fn id(&self) -> Option<String> {
        let value = self.value.as_ref()?;
        match self.kind {
            PATCH => payload::decode::<Change>(value).ok().map(|change| change.id),
            EARLIER => payload::decode(value).ok(),
            _ => None,
        }
    }

    fn is_deprecated(&self) -> bool {
        let value = self.value.as_ref().filter(|_| self.kind == PATCH);
        value.and_then(|it| payload::decode::<Change>(it).ok()).is_some_and(|it| it.deprecated)
    }
}

/// Whether an event marks a change that no run needs the old way of. The code may have forgotten it.
pub(crate) fn marks_deprecated(event: &HistoryEvent) -> bool {
    match &event.attributes {
        Some(E::MarkerRecordedEventAttributes(marker)) => {
            Marker::of(marker).is_some_and(|mark| mark.is_deprecated())
        }
        _ => false,
    }
}

/// Whether an event is the list of a run's changes and nothing else.
pub(crate) fn is_list(event: &HistoryEvent) -> bool {
    match &event.attributes {
        Some(E::UpsertWorkflowSearchAttributesEventAttributes(upsert)) => {
            Fields::of_search_attributes(upsert.search_attributes.as_ref()).names() == [LIST]
        }
        _ => false,
    }
}
