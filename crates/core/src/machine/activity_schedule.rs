//! The workflow asks for an activity, or for its cancellation.

use std::time::Duration;

use steadfast_proto::{
    command, common,
    enums::{self, WorkflowTaskFailedCause as FailedCause},
    history, taskqueue,
};

use crate::{
    activity::Timeouts,
    bad, ending,
    limits::Limits,
    policy,
    refused::BadCommand,
    run::Run,
    size,
    span::to_wire,
    state::Activity,
    transition::Effect,
    tx::{Note, Tx},
};

const CAUSE: FailedCause = FailedCause::BadScheduleActivityAttributes;
const RESERVED: &str = "/_sys/";
const NOT_STARTED: &str = "\"ACTIVITY_ID_NOT_STARTED\"";

/// Schedules an activity and puts its first attempt on its queue.
pub(crate) fn schedule(
    tx: &mut Tx<'_>,
    wanted: command::ScheduleActivityTaskCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    check(tx.run, &wanted, tx.limits)?;
    let limits = resolve(&wanted, tx.run.run_timeout())?;
    let retry_policy = match &wanted.retry_policy {
        None => policy::of_activities(),
        Some(given) => {
            policy::checked(given).map_err(|fault| bad::command(CAUSE, fault.to_string()))?
        }
    };
    check_header(tx, wanted.header.as_ref())?;
    let task_queue = queue(tx.run, wanted.task_queue);
    let eager = wanted.request_eager_execution && task_queue.name == tx.run.task_queue();
    let event = history::ActivityTaskScheduledEventAttributes {
        activity_id: wanted.activity_id,
        activity_type: wanted.activity_type,
        task_queue: Some(task_queue),
        header: wanted.header,
        input: wanted.input,
        schedule_to_close_timeout: to_wire(limits.schedule_to_close),
        schedule_to_start_timeout: to_wire(limits.schedule_to_start),
        start_to_close_timeout: to_wire(limits.start_to_close),
        heartbeat_timeout: to_wire(limits.heartbeat),
        workflow_task_completed_event_id: completed,
        retry_policy: Some(retry_policy),
        priority: wanted.priority.or_else(|| tx.run.started.priority.clone()),
        ..history::ActivityTaskScheduledEventAttributes::default()
    };
    let scheduled_event_id = tx.append_noted(event, note);
    tx.effect(Effect::ActivityReady { scheduled_event_id, eager });
    Ok(())
}

/// Checks the policy in a header. Activities that are scheduled together have it in common more often
/// than not, and what the newest pending one has was checked with it.
fn check_header(tx: &Tx<'_>, header: Option<&common::Header>) -> Result<(), BadCommand> {
    let newest = tx.run.activities.iter().next_back();
    let known =
        newest.and_then(|(_, it)| policy::field(it.scheduled.header.as_ref(), policy::HEADER));
    if known.is_some() && known == policy::field(header, policy::HEADER) {
        return Ok(());
    }
    let checked = policy::of_header(header, tx.limits.retry_policy_bytes_max);
    checked
        .map(drop)
        .map_err(|fault| bad::command(CAUSE, format!("header.fields[{}]: {fault}", policy::HEADER)))
}

/// Asks for an activity's cancellation. One that no worker has is cancelled by that alone: gives the
/// event that says so, which is to come after those of all commands. Workers number these in
/// advance, and none may come between them.
pub(crate) fn request_cancel(
    tx: &mut Tx<'_>,
    wanted: command::RequestCancelActivityTaskCommandAttributes,
    completed: i64,
    (identity, note): (&str, Note),
) -> Result<Option<history::ActivityTaskCanceledEventAttributes>, BadCommand> {
    let id = wanted.scheduled_event_id;
    let cause = FailedCause::BadRequestCancelActivityAttributes;
    let pending = tx.run.activities.get(&id);
    if pending.is_none() && !has_ended_meanwhile(tx.run, id) {
        let detail = format!("no pending activity with scheduled event id {id}");
        return Err(bad::command(cause, detail));
    }
    if pending.is_some_and(Activity::is_cancel_requested) {
        let detail = format!("cancellation of the activity scheduled by {id} was requested before");
        return Err(bad::command(cause, detail));
    }
    let is_waiting = pending.is_some_and(|activity| !activity.is_started());
    let event = history::ActivityTaskCancelRequestedEventAttributes {
        scheduled_event_id: id,
        workflow_task_completed_event_id: completed,
    };
    let requested = tx.append_noted(event, note);
    Ok(is_waiting.then(|| history::ActivityTaskCanceledEventAttributes {
        details: Some(not_started()),
        latest_cancel_requested_event_id: requested,
        scheduled_event_id: id,
        identity: identity.to_owned(),
        ..history::ActivityTaskCanceledEventAttributes::default()
    }))
}

/// Makes what was left open definite: zero is no limit, and nothing outlives the run.
pub(crate) fn limits_within(given: Timeouts, run: Duration) -> Option<Timeouts> {
    let Timeouts { schedule_to_close, schedule_to_start, start_to_close, heartbeat } = given;
    let mut all = if !schedule_to_close.is_zero() {
        Timeouts {
            schedule_to_close,
            schedule_to_start: or_at_most(schedule_to_start, schedule_to_close),
            start_to_close: or_at_most(start_to_close, schedule_to_close),
            heartbeat,
        }
    } else if !start_to_close.is_zero() {
        Timeouts {
            schedule_to_close: run,
            schedule_to_start: if schedule_to_start.is_zero() { run } else { schedule_to_start },
            start_to_close,
            heartbeat,
        }
    } else {
        return None;
    };
    if !run.is_zero() {
        all.schedule_to_close = all.schedule_to_close.min(run);
        all.schedule_to_start = all.schedule_to_start.min(run);
        all.start_to_close = all.start_to_close.min(run);
        all.heartbeat = all.heartbeat.min(run);
    }
    all.heartbeat = all.heartbeat.min(all.start_to_close);
    Some(all)
}

fn check(
    run: &Run,
    wanted: &command::ScheduleActivityTaskCommandAttributes,
    limits: &Limits,
) -> Result<(), BadCommand> {
    let id = &wanted.activity_id;
    bad::check_name(CAUSE, "ActivityId", id, limits)?;
    let kind = wanted.activity_type.as_ref().map_or("", |kind| &kind.name);
    bad::check_name(CAUSE, "ActivityType", kind, limits)?;
    let queue = wanted.task_queue.as_ref().map_or("", |queue| &queue.name);
    bad::check_length(CAUSE, "TaskQueue", queue, limits)?;
    if queue.starts_with(RESERVED) {
        let detail = format!("task queue name cannot start with reserved prefix {RESERVED}");
        return Err(bad::command(CAUSE, detail));
    }
    bad::check_size(
        CAUSE,
        "ScheduleActivityTaskCommandAttributes.Input",
        size::payloads(wanted.input.as_ref()),
        limits,
    )?;
    let cause = FailedCause::PendingActivitiesLimitExceeded;
    bad::check_pending(cause, "activities", run.activities.len(), limits)?;
    if run.activities.named(id).is_some() {
        let detail = format!("activity with ID {id} is pending already");
        return Err(bad::command(FailedCause::ScheduleActivityDuplicateId, detail));
    }
    Ok(())
}

fn resolve(
    wanted: &command::ScheduleActivityTaskCommandAttributes,
    run: Duration,
) -> Result<Timeouts, BadCommand> {
    let span = |field, wire| bad::check_span(CAUSE, field, wire);
    let given = Timeouts {
        schedule_to_close: span(
            "ScheduleToCloseTimeout",
            wanted.schedule_to_close_timeout.as_ref(),
        )?,
        schedule_to_start: span(
            "ScheduleToStartTimeout",
            wanted.schedule_to_start_timeout.as_ref(),
        )?,
        start_to_close: span("StartToCloseTimeout", wanted.start_to_close_timeout.as_ref())?,
        heartbeat: span("HeartbeatTimeout", wanted.heartbeat_timeout.as_ref())?,
    };
    limits_within(given, run).ok_or_else(|| {
        let kind = wanted.activity_type.as_ref().map_or("", |kind| &kind.name);
        bad::command(
            CAUSE,
            format!(
                "a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the \
                 activity. ActivityId={} ActivityType={kind}",
                wanted.activity_id
            ),
        )
    })
}

fn queue(run: &Run, wanted: Option<taskqueue::TaskQueue>) -> taskqueue::TaskQueue {
    let name = wanted.map(|queue| queue.name).filter(|name| !name.is_empty());
    taskqueue::TaskQueue {
        name: name.unwrap_or_else(|| run.task_queue().to_owned()),
        kind: enums::TaskQueueKind::Normal.into(),
        normal_name: String::new(),
    }
}

/// Whether the activity's end waits for the very task whose worker wants it cancelled.
fn has_ended_meanwhile(run: &Run, id: i64) -> bool {
    run.buffer.iter().any(|(_, event)| ending::subject(event) == Some(id))
}

fn or_at_most(value: Duration, limit: Duration) -> Duration {
    if value.is_zero() { limit } else { value.min(limit) }
}

fn not_started() -> common::Payloads {
    common::Payloads { payloads: vec![common::Payload::json(NOT_STARTED)] }
}
