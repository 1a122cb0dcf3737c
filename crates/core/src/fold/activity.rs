//! Activities. Attempts and their failures are not in the history, so they are not here.

use std::sync::Arc;

use steadfast_proto::history;

use crate::{
    run::Run,
    state::{Activity, ActivityRow},
};

pub(super) fn scheduled(
    run: &mut Run,
    id: i64,
    event: &history::ActivityTaskScheduledEventAttributes,
    at: i64,
) {
    let row = ActivityRow {
        scheduled_event_id: id,
        attempt: 1,
        first_scheduled_at: at,
        scheduled_at: at,
        queued: true,
        ..ActivityRow::default()
    };
    run.activities.insert(id, Activity { scheduled: Arc::new(event.clone()), row });
}

pub(super) fn started(run: &mut Run, id: i64, event: &history::ActivityTaskStartedEventAttributes) {
    if let Some(activity) = run.activities.get_mut(&event.scheduled_event_id) {
        activity.row.started_event_id = id;
    }
}

pub(super) fn cancel_requested(run: &mut Run, scheduled_event_id: i64, id: i64) {
    if let Some(activity) = run.activities.get_mut(&scheduled_event_id) {
        activity.row.cancel_requested_event_id = id;
    }
}

pub(super) fn closed(run: &mut Run, scheduled_event_id: i64) {
    run.activities.remove(&scheduled_event_id);
}
