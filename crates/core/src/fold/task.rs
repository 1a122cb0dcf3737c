//! The workflow task.

use steadfast_proto::{common, enums, history};

use super::{child, external};
use crate::{
    limits::{BUILD_BYTES_MAX, BUILDS_MAX},
    run::Run,
    span::from_wire,
    state::{UNVERSIONED, WorkflowTask},
};

pub(super) fn scheduled(
    run: &mut Run,
    id: i64,
    event: &history::WorkflowTaskScheduledEventAttributes,
    at: i64,
) {
    let sticky =
        event.task_queue.as_ref().is_some_and(|queue| queue.kind() == enums::TaskQueueKind::Sticky);
    let timeout = from_wire(event.start_to_close_timeout.as_ref());
    run.state.backoff_until = 0;
    run.state.task = Some(WorkflowTask {
        scheduled_event_id: id,
        attempt: u32::try_from(event.attempt).unwrap_or(1),
        scheduled_at: at,
        original_scheduled_at: at,
        timeout: i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX),
        sticky,
        ..WorkflowTask::default()
    });
}

pub(super) fn started(
    run: &mut Run,
    id: i64,
    event: &history::WorkflowTaskStartedEventAttributes,
    at: i64,
) {
    if let Some(task) = &mut run.state.task {
        task.started_event_id = id;
        task.started_at = at;
        task.identity.clone_from(&event.identity);
        task.request_id.clone_from(&event.request_id);
    }
}

#[expect(deprecated, reason = "how workers still tell their build")]
pub(super) fn completed(run: &mut Run, event: &history::WorkflowTaskCompletedEventAttributes) {
    run.state.task = None;
    run.state.task_attempt = 1;
    run.state.task_trouble = None;
    run.state.previous_started_event_id = event.started_event_id;
    if let Some(build) = &event.worker_version {
        done_by(run, build);
    }
}

fn done_by(run: &mut Run, build: &common::WorkerVersionStamp) {
    if build.build_id.is_empty() || build.build_id.len() > BUILD_BYTES_MAX {
        return;
    }
    let kind = if build.use_versioning { "versioned" } else { UNVERSIONED };
    let builds = &mut run.state.builds;
    let is_known = |it: &String| {
        it.strip_prefix(kind).and_then(|it| it.strip_prefix(':')) == Some(&build.build_id)
    };
    if builds.iter().any(is_known) {
        return;
    }
    if builds.len() == BUILDS_MAX {
        builds.remove(0);
    }
    builds.push(format!("{kind}:{}", build.build_id));
}

/// What a run asked of others before it was reset keeps its request ids, by which those know that
/// they have done it already.
pub(super) fn failed(run: &mut Run, event: &history::WorkflowTaskFailedEventAttributes) {
    run.state.task = None;
    if event.cause() == enums::WorkflowTaskFailedCause::ResetWorkflow {
        child::keep_request_ids(run, &event.base_run_id);
        external::keep_request_ids(run, &event.base_run_id);
    }
}
