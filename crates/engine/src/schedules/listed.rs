//! Schedules as clients see them: one, or a list.

use prost::Message as _;
use steadfast_core::{
    Timestamp,
    schedule::{Schedule, Times},
    span::instant_to_wire,
};
use steadfast_proto::{
    common::{Memo, SearchAttributes},
    schedule::{ScheduleInfo, ScheduleListEntry, ScheduleListInfo, schedule_action::Action},
    workflowservice::DescribeScheduleResponse,
};
use steadfast_store::VisibilityRow;

use crate::{
    error::{Code, Error},
    visibility::{self, Schema},
};

/// What lists are made from, beside the columns that are searched. A tag is never reused.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Listed {
    #[prost(message, optional, tag = "1")]
    memo: Option<Memo>,
    #[prost(message, optional, tag = "2")]
    info: Option<ScheduleListInfo>,
    /// How often it may still act; absent for as often as it likes.
    #[prost(int64, optional, tag = "3")]
    remaining: Option<i64>,
    /// Nominal times up to here were considered.
    #[prost(int64, tag = "4")]
    considered: i64,
}

/// All that is shown of a schedule.
pub(crate) fn describe(
    schedule: &Schedule,
    schema: &Schema,
    now: Timestamp,
) -> DescribeScheduleResponse {
    let state = schedule.state();
    let future = schedule.future(FUTURE_MAX, now);
    let info = ScheduleInfo {
        future_action_times: future.into_iter().map(instant_to_wire).collect(),
        ..state.info.clone().unwrap_or_default()
    };
    let attributes = state.search_attributes.clone();
    let mut wanted = state.schedule.clone();
    let action = wanted.as_mut().and_then(|it| it.action.as_mut()?.action.as_mut());
    if let Some(Action::StartWorkflow(workflow)) = action {
        let given = workflow.search_attributes.take();
        workflow.search_attributes = given.map(|given| visibility::with_types(given, schema));
    }
    DescribeScheduleResponse {
        schedule: wanted,
        info: Some(info),
        memo: Some(state.memo.clone().unwrap_or_default()),
        search_attributes: attributes.map(|given| visibility::with_types(given, schema)),
        conflict_token: schedule.conflict_token(),
    }
}

/// A schedule in a list.
pub(crate) fn entry(
    row: &VisibilityRow,
    schema: &Schema,
    now: Timestamp,
) -> Result<ScheduleListEntry, Error> {
    let damaged =
        |error| Error::new(Code::Internal, format!("a schedule's row is damaged: {error}"));
    let listed = Listed::decode(row.memo.as_slice()).map_err(damaged)?;
    let attributes = SearchAttributes::decode(row.search_attributes.as_slice()).map_err(damaged)?;
    let future = listed.future(&row.identity.workflow_id, now);
    let info = ScheduleListInfo {
        future_action_times: future.into_iter().map(instant_to_wire).collect(),
        ..listed.info.unwrap_or_default()
    };
    Ok(ScheduleListEntry {
        schedule_id: row.identity.workflow_id.clone(),
        memo: Some(listed.memo.unwrap_or_default()),
        search_attributes: Some(visibility::with_types(attributes, schema)),
        info: Some(info),
    })
}

/// Whether a schedule is paused.
pub(super) fn is_paused(schedule: &Schedule) -> bool {
    let state = schedule.state().schedule.as_ref().and_then(|it| it.state.as_ref());
    state.is_some_and(|state| state.paused)
}

/// What a list shows of a schedule as it is now. Times to come are found when it is listed.
pub(super) fn write(schedule: &Schedule) -> Listed {
    let kept = schedule.state();
    let asked = kept.schedule.clone().unwrap_or_default();
    let state = asked.state.unwrap_or_default();
    let recent = kept.info.as_ref().map_or(&[][..], |info| &info.recent_actions);
    let info = ScheduleListInfo {
        spec: asked.spec,
        workflow_type: schedule.action().and_then(|action| action.workflow_type.clone()),
        notes: state.notes,
        paused: state.paused,
        recent_actions: recent[recent.len().saturating_sub(LISTED_MAX)..].to_vec(),
        ..ScheduleListInfo::default()
    };
    Listed {
        memo: kept.memo.clone(),
        info: Some(info),
        remaining: state.limited_actions.then_some(state.remaining_actions),
        considered: kept.considered,
    }
}

impl Listed {
    fn future(&self, schedule_id: &str, now: Timestamp) -> Vec<Timestamp> {
        let spec = self.info.as_ref().and_then(|info| info.spec.clone()).unwrap_or_default();
        let Ok(times) = Times::new(&spec, schedule_id) else { return Vec::new() };
        let remaining = self.remaining.map(|count| usize::try_from(count).unwrap_or_default());
        let most = remaining.map_or(LISTED_MAX, |count| count.min(LISTED_MAX));
        times.future(Timestamp(self.considered), now).take(most).collect()
    }
}

/// Times to come of one schedule.
const FUTURE_MAX: usize = 10;
/// Times to come, and last actions, of each schedule in a list.
const LISTED_MAX: usize = 5;
