//! `show`: what a script wants to see of a run beside its history.

use std::fmt::Write as _;

use steadfast_core::{
    Attempt, Effect, Notice, Run, RunError, Timestamp, UpdateProgress, span::from_wire, text,
};
use steadfast_proto::{enums, update::outcome::Value, workflow::PendingActivityInfo};

use super::{
    words::Call,
    world::{BEGIN, World},
};

/// What the words after `show` name, a line each.
pub(crate) fn show(world: &World, call: &Call) -> String {
    let story = world.story();
    let run = &story.run;
    let at = world.now.since(BEGIN).as_secs_f64();
    let mut shown = String::new();
    for what in &call.args {
        let text = match what.as_str() {
            "activities" => run.pending_activities().iter().map(activity).collect(),
            "task" => task(run),
            "due" => due(run.next_due()),
            "status" => format!("{:?}", run.status()),
            "effects" => lines(story.effects.iter().map(effect)),
            "messages" => lines(run.messages().iter().map(|(number, message)| {
                let target = message.target.clone().unwrap_or_default();
                let notice = match &message.notice {
                    Some(Notice::ChildClosed(id)) => format!("child-closed #{id}"),
                    Some(Notice::Terminate(_)) => "terminate".to_owned(),
                    Some(Notice::Cancel(_)) => "cancel".to_owned(),
                    Some(Notice::Adopt(id)) => format!("adopt #{id}"),
                    Some(Notice::ScheduledClosed(_)) => "scheduled-closed".to_owned(),
                    Some(Notice::Signal(told) | Notice::Webhook(told)) => told.body.clone(),
                    None => "nothing".to_owned(),
                };
                let run = format!("{}{}", target.run_id, target.first_run_id);
                format!("{number}: {notice} to {} {run}", target.workflow_id)
            })),
            "unwritten" => {
                let events = run.unwritten_events(&world.limits);
                lines(events.iter().map(|it| format!("{} {}", it.event_id, text::line(it))))
            }
            "updates" => lines(run.task_messages().iter().map(|message| message.id.clone())),
            "attempts" => lines(story.attempts.iter().map(|it| {
                let next = it.next_at.map(|at| format!(", next {}", due(Some(at))));
                let why = Some(&it.why).filter(|why| !why.is_empty());
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                format!("{}/{}{why}{}", it.activity_id, it.attempt, next.unwrap_or_default())
            })),
            "header" => lines(run.activities().iter().flat_map(|(_, it)| {
                let fields = it.row.next_only.iter().flat_map(|only| &only.fields);
                fields
                    .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(&value.data)))
            })),
            "input" => lines(run.activities().iter().flat_map(|(_, it)| {
                let payloads =
                    it.input().iter().flat_map(|input| &input.payloads).collect::<Vec<_>>();
                payloads.into_iter().map(|it| String::from_utf8_lossy(&it.data).into_owned())
            })),
            "alone" => {
                let after = world.rules.poison_after;
                let alone = run.activities().iter().filter(|(_, it)| it.is_for_alone(after));
                lines(alone.map(|(_, it)| it.scheduled.activity_id.clone()))
            }
            "log" => lines(story.attempts.iter().map(logged)),
            "errors" => lines(story.rows.errors.values().map(error)),
            "changes" => lines(run.activities().iter().flat_map(|(_, it)| {
                it.row.changes.iter().map(|change| {
                    let by = format!("{} {:?}", change.identity, change.reason);
                    format!("{} {} by {by}", it.scheduled.activity_id, change.what)
                })
            })),
            "work" => format!("{}", run.has_work()),
            "query" => format!("{:?}", run.query_route(enums::QueryRejectCondition::None)),
            other => panic!("cannot show {other:?}"),
        };
        let text = if text.is_empty() { "none".to_owned() } else { text };
        _ = writeln!(shown, "{what} at {at}: {}", text.trim_end());
    }
    shown
}

/// An attempt, with who decided about the next one.
fn logged(attempt: &Attempt) -> String {
    let delay = attempt.delay.map_or_else(String::new, |delay| format!(" {delay:?}"));
    let parked = if attempt.parked { " parked" } else { "" };
    format!(
        "{}/{} [{}] {}/{} {}{delay} {}{parked}",
        attempt.activity_id,
        attempt.attempt,
        attempt.rule,
        attempt.layer,
        attempt.policy,
        attempt.source,
        attempt.class
    )
}

fn error(error: &RunError) -> String {
    let RunError { subject, attempts, error_type, cause, reason, .. } = error;
    let span = format!("{}..{}", due(Some(error.first_at)), due(Some(error.last_at)));
    let next = error.next_at.map(|at| format!(" next={}", due(Some(at)))).unwrap_or_default();
    let noted = error.acknowledged.as_ref();
    let noted = noted.map(|it| format!(" ack={}:{:?}", it.identity, it.reason)).unwrap_or_default();
    let resumes =
        if error.resumes == 0 { String::new() } else { format!(" resumes={}", error.resumes) };
    let state = error.state.name();
    format!(
        "#{subject} {state} x{attempts} {error_type:?} {cause:?} {span}{next} {reason:?}{noted}{resumes}"
    )
}

fn lines(all: impl Iterator<Item = String>) -> String {
    all.collect::<Vec<_>>().join("; ")
}

/// Seconds since the script began.
fn due(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".to_owned(), |at| at.since(BEGIN).as_secs_f64().to_string())
}

fn task(run: &Run) -> String {
    let Some(task) = run.pending_task() else { return "none".to_owned() };
    let state = task.state().as_str_name().trim_start_matches("PENDING_WORKFLOW_TASK_STATE_");
    let sticky = if run.task().is_some_and(|task| task.sticky) { " sticky" } else { "" };
    format!("{} attempt={}{sticky}", state.to_lowercase(), task.attempt)
}

fn activity(info: &PendingActivityInfo) -> String {
    let state = info.state().as_str_name().trim_start_matches("PENDING_ACTIVITY_STATE_");
    let mut text = format!("{} {state} attempt={}", info.activity_id, info.attempt);
    if info.maximum_attempts != 0 {
        _ = write!(text, "/{}", info.maximum_attempts);
    }
    if let Some(failure) = &info.last_failure {
        _ = write!(text, " last={:?}", failure.message);
    }
    for payload in info.heartbeat_details.iter().flat_map(|details| &details.payloads) {
        _ = write!(text, " beat={}", String::from_utf8_lossy(&payload.data));
    }
    if info.current_retry_interval.is_some() {
        _ = write!(text, " wait={:?}", from_wire(info.current_retry_interval.as_ref()));
    }
    format!("{text}; ")
}

fn effect(effect: &Effect) -> String {
    match effect {
        Effect::WorkflowTaskReady => "task".to_owned(),
        Effect::ActivityReady { scheduled_event_id, eager } => {
            format!("activity #{scheduled_event_id}{}", if *eager { " eager" } else { "" })
        }
        Effect::WorkflowTaskWithdrawn { scheduled_event_id, attempt } => {
            format!("withdraw task #{scheduled_event_id}.{attempt}")
        }
        Effect::ActivityWithdrawn { scheduled_event_id, stamp } => {
            format!("withdraw activity #{scheduled_event_id}.{stamp}")
        }
        Effect::StartChild { initiated_event_id } => format!("start #{initiated_event_id}"),
        Effect::SendExternal { initiated_event_id } => format!("send #{initiated_event_id}"),
        Effect::SendMessage { number } => format!("message {number}"),
        Effect::UpdateChanged { update_id, progress } => {
            format!("update {update_id} {}", progress_of(progress))
        }
        Effect::Closed => "closed".to_owned(),
        Effect::StartOver => "start over".to_owned(),
        Effect::Delete => "delete".to_owned(),
    }
}

fn progress_of(progress: &UpdateProgress) -> String {
    match progress {
        UpdateProgress::Accepted => "accepted".to_owned(),
        UpdateProgress::Completed(outcome) => match &outcome.value {
            Some(Value::Success(result)) => {
                let texts = result.payloads.iter().map(|it| String::from_utf8_lossy(&it.data));
                format!("gave {}", texts.collect::<Vec<_>>().join(","))
            }
            Some(Value::Failure(failure)) => format!("failed: {}", failure.message),
            None => "gave nothing".to_owned(),
        },
        UpdateProgress::Aborted(why) => format!("aborted: {why:?}"),
    }
}
