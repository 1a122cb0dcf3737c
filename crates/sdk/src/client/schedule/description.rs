//! How a schedule stands.

use std::time::SystemTime;

use serde::de::DeserializeOwned;
use steadfast_proto::{
    enums::WorkflowExecutionStatus, prost_types::Timestamp, schedule as wire, workflowservice as ws,
};

use crate::{fields::Fields, payload::CodecError, span};

/// How a schedule stands.
///
/// ```no_run
/// # async fn f(nightly: steadfast::ScheduleHandle) -> Result<(), steadfast::ClientError> {
/// let described = nightly.describe().await?;
/// println!("acted {} times, next at {:?}", described.actions, described.next.first());
/// for started in described.recent {
///     println!("{} is {:?}", started.workflow_id, started.status);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScheduleDescription {
    /// What it is: when it acts, what it starts, how.
    pub schedule: wire::Schedule,
    /// Whether it is paused.
    pub is_paused: bool,
    /// A line for people.
    pub note: String,
    /// How often it may still act, if that is limited.
    pub remaining: Option<u64>,
    /// How often it has acted.
    pub actions: u64,
    /// How often it did not because it was too late.
    pub missed: u64,
    /// How often it did not because the run before was not done.
    pub skipped: u64,
    /// What it has started and still runs, by their ids.
    pub running: Vec<String>,
    /// What it has started lately, the newest last.
    pub recent: Vec<ScheduledStart>,
    /// When it acts next, the nearest first.
    pub next: Vec<SystemTime>,
    /// When it was made.
    pub created_at: Option<SystemTime>,
    /// When it was last changed.
    pub updated_at: Option<SystemTime>,
    memo: Fields,
    search_attributes: Fields,
}

/// Something that a schedule has started.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScheduledStart {
    /// When it was to be started.
    pub scheduled_at: SystemTime,
    /// When it was.
    pub started_at: SystemTime,
    /// Its id.
    pub workflow_id: String,
    /// Its first run.
    pub run_id: String,
    /// What has become of it.
    pub status: WorkflowExecutionStatus,
}

/// A schedule in a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScheduleSummary {
    /// Its id.
    pub schedule_id: String,
    /// The workflow that it starts.
    pub workflow_type: String,
    /// Whether it is paused.
    pub is_paused: bool,
    /// A line for people.
    pub note: String,
    /// What it has started lately, the newest last.
    pub recent: Vec<ScheduledStart>,
    /// When it acts next, the nearest first.
    pub next: Vec<SystemTime>,
    memo: Fields,
    search_attributes: Fields,
}

impl ScheduleDescription {
    pub(super) fn of(response: ws::DescribeScheduleResponse) -> Self {
        let schedule = response.schedule.unwrap_or_default();
        let info = response.info.unwrap_or_default();
        let state = schedule.state.clone().unwrap_or_default();
        Self {
            schedule,
            is_paused: state.paused,
            note: state.notes,
            remaining: state.limited_actions.then(|| number(state.remaining_actions)),
            actions: number(info.action_count),
            missed: number(info.missed_catchup_window),
            skipped: number(info.overlap_skipped),
            running: info.running_workflows.into_iter().map(|run| run.workflow_id).collect(),
            recent: info.recent_actions.into_iter().map(ScheduledStart::of).collect(),
            next: times(&info.future_action_times),
            created_at: info.create_time.as_ref().map(span::time_from_wire),
            updated_at: info.update_time.as_ref().map(span::time_from_wire),
            memo: Fields::of_memo(response.memo.as_ref()),
            search_attributes: Fields::of_search_attributes(response.search_attributes.as_ref()),
        }
    }

    /// What is kept beside it under this key.
    pub fn memo<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, CodecError>> {
        self.memo.get(key)
    }

    /// Its search attribute of this name.
    pub fn search_attribute<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Option<Result<T, CodecError>> {
        self.search_attributes.get(name)
    }
}

impl ScheduleSummary {
    pub(super) fn of(entry: wire::ScheduleListEntry) -> Self {
        let info = entry.info.unwrap_or_default();
        Self {
            schedule_id: entry.schedule_id,
            workflow_type: info.workflow_type.unwrap_or_default().name,
            is_paused: info.paused,
            note: info.notes,
            recent: info.recent_actions.into_iter().map(ScheduledStart::of).collect(),
            next: times(&info.future_action_times),
            memo: Fields::of_memo(entry.memo.as_ref()),
            search_attributes: Fields::of_search_attributes(entry.search_attributes.as_ref()),
        }
    }

    /// What is kept beside it under this key.
    pub fn memo<T: DeserializeOwned>(&self, key: &str) -> Option<Result<T, CodecError>> {
        self.memo.get(key)
    }

    /// Its search attribute of this name.
    pub fn search_attribute<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Option<Result<T, CodecError>> {
        self.search_attributes.get(name)
    }
}

impl ScheduledStart {
    fn of(result: wire::ScheduleActionResult) -> Self {
        let status = result.start_workflow_status();
        let run = result.start_workflow_result.unwrap_or_default();
        let time = |time: Option<Timestamp>| span::time_from_wire(&time.unwrap_or_default());
        Self {
            scheduled_at: time(result.schedule_time),
            started_at: time(result.actual_time),
            workflow_id: run.workflow_id,
            run_id: run.run_id,
            status,
        }
    }
}

pub(super) fn times(wire: &[Timestamp]) -> Vec<SystemTime> {
    wire.iter().map(span::time_from_wire).collect()
}

fn number(wire: i64) -> u64 {
    u64::try_from(wire).unwrap_or_default()
}
