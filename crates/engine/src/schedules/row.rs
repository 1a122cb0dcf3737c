//! A schedule as the store keeps it.

use prost::Message as _;
use steadfast_core::{Timestamp, schedule::Schedule, span};
use steadfast_proto::enums::WorkflowExecutionStatus as Status;
use steadfast_store::{RunIdentity, RunRows, RunWrite, StateRow, Value, VisibilityRow, codec};

use super::{
    cache::{Entry, Name},
    listed,
};
use crate::{
    namespaces::Namespace,
    rows::Unreadable,
    visibility::{self, Schema},
};

/// Where the schedules of a namespace are, as the store names it.
pub(crate) fn space(namespace_id: &str) -> String {
    format!("{namespace_id}{SUFFIX}")
}

/// Whether rows are a schedule's.
pub(crate) fn is_schedule(identity: &RunIdentity) -> bool {
    identity.namespace.ends_with(SUFFIX)
}

/// What is to be written of a schedule as it is now.
pub(crate) fn write<W>(entry: &Entry<W>, namespace: Option<&Namespace>, into: &mut RunWrite) {
    into.state = Some(StateRow {
        data: codec::encode(entry.schedule.state()),
        next_due: entry.schedule.next_due(),
        has_work: entry.schedule.has_work(),
    });
    into.visibility = Some(Box::new(visible(entry, namespace)));
}

/// Reads a schedule.
pub(crate) fn read<W>(rows: &RunRows) -> Result<Entry<W>, Unreadable> {
    let identity = &rows.identity;
    let namespace_id = identity.namespace.strip_suffix(SUFFIX).unwrap_or_default();
    let name = Name {
        namespace_id: namespace_id.to_owned(),
        schedule_id: identity.workflow_id.clone(),
        incarnation: identity.run_id.clone(),
    };
    let state = codec::decode(&rows.state.data)?;
    let schedule = Schedule::from_state(state, &name.schedule_id)?;
    Ok(Entry::new(name, schedule, rows.state.data.len()))
}

impl Name {
    /// The names that the store knows it by.
    pub(crate) fn identity(&self) -> RunIdentity {
        RunIdentity {
            namespace: space(&self.namespace_id),
            workflow_id: self.schedule_id.clone(),
            run_id: self.incarnation.clone(),
        }
    }
}

/// What lists show of a schedule.
fn visible<W>(entry: &Entry<W>, namespace: Option<&Namespace>) -> VisibilityRow {
    let state = entry.schedule.state();
    let schema = Schema::new(namespace.map(Namespace::search_attributes).unwrap_or_default());
    let attributes = state.search_attributes.clone().unwrap_or_default();
    let mut search_values = visibility::known_values(&attributes, &schema);
    search_values.push((PAUSED.to_owned(), Value::Bool(listed::is_paused(&entry.schedule))));
    let created = state.info.as_ref().and_then(|info| info.create_time.as_ref());
    let created = created.map_or_else(Timestamp::default, span::instant_from_wire);
    let action = entry.schedule.action().cloned().unwrap_or_default();
    VisibilityRow {
        identity: entry.name.identity(),
        workflow_type: action.workflow_type.unwrap_or_default().name,
        task_queue: action.task_queue.unwrap_or_default().name,
        status: Status::Running.into(),
        start_time: created,
        execution_time: created,
        memo: listed::write(&entry.schedule).encode_to_vec(),
        search_attributes: attributes.encode_to_vec(),
        search_values,
        ..VisibilityRow::default()
    }
}

/// Namespace ids are UUIDs: none ends so.
const SUFFIX: &str = "/schedules";
const PAUSED: &str = "TemporalSchedulePaused";
