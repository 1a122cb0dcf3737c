//! What can happen to a run, from words.

use std::{collections::BTreeSet, time::Duration};

use steadfast_core::{
    ActivityToken, Adopt, Attach, CadenceTerms, CancelActivity, CancelRequest, ChildClosed,
    ChildStartFailed, ChildStarted, CompleteActivity, CompleteWorkflowTask, ExternalAnswered,
    ExternalRefused, FailActivity, FailWorkflowTask, Heartbeat, Identity, Input, Parent,
    PauseActivity, ResetActivity, ResumedBy, Run, Selector, Signal, Start, StartActivity,
    StartWorkflowTask, Target, Terminate, Timestamp, UnpauseActivity, UpdateActivityOptions,
    WorkflowTaskToken, policy, span::instant_to_wire,
};
use steadfast_proto::{
    activity, common, enums,
    history::{self, history_event::Attributes},
    taskqueue,
};

use super::{
    commands::{self, failure, payload, queue, retry_policy},
    operators,
    words::{Call, length},
    world::Story,
};

/// The names of the first run of a script.
pub(crate) fn identity() -> Identity {
    Identity {
        namespace_id: "ns-id".to_owned(),
        namespace: "ns".to_owned(),
        workflow_id: "w".to_owned(),
        run_id: "00000001-0000-4000-8000-000000000000".to_owned(),
    }
}

/// A new run: `start Type run= exec= task= delay= init= … cron= parent= schedule=`.
pub(crate) fn start(call: &Call, now: Timestamp) -> Start {
    let identity = identity();
    let expires = call.get("exec").map(|text| instant_to_wire(now.after(length(text))));
    let parent = call.get("parent").map(|id| common::WorkflowExecution {
        workflow_id: id.to_owned(),
        run_id: "parent-run".to_owned(),
    });
    let retry_policy = retry_policy(call).map(|policy| policy::checked(&policy).unwrap());
    let started = history::WorkflowExecutionStartedEventAttributes {
        workflow_type: Some(common::WorkflowType { name: call.arg(0).to_owned() }),
        task_queue: Some(queue("q")),
        input: payload(call.get("input")),
        workflow_execution_timeout: call.span("exec"),
        workflow_run_timeout: call.span("run").or_else(|| call.span("exec")),
        workflow_task_timeout: call.span("task"),
        workflow_execution_expiration_time: expires,
        original_execution_run_id: identity.run_id.clone(),
        first_execution_run_id: identity.run_id.clone(),
        first_workflow_task_backoff: call.span("delay"),
        attempt: 1,
        retry_policy,
        cron_schedule: call.text("cron"),
        parent_initiated_event_id: if parent.is_some() { 5 } else { 0 },
        parent_workflow_execution: parent,
        ..Default::default()
    };
    let signal =
        call.get("signal").map(|name| Signal { name: name.to_owned(), ..signal_default() });
    Start {
        identity,
        started,
        user_metadata: None,
        links: Vec::new(),
        request_id: "start".to_owned(),
        signal,
        cadence: call
            .span("cadence")
            .map(|span| CadenceTerms { expiration: span.seconds * 1_000_000_000, expires_at: 0 }),
        scheduled_by: call
            .get("schedule")
            .map(|id| Target { workflow_id: id.to_owned(), ..Target::default() }),
    }
}

/// Everything else that can happen.
pub(crate) fn input(story: &Story, call: &Call) -> Input {
    let run = &story.run;
    match call.name.as_str() {
        "tick" => Input::Tick,
        "resumed" => Input::Resumed(ResumedBy::Hand),
        "sweep-changed" => Input::SweepChanged,
        "take-back" => Input::TakeBack(call.arg(0).parse().expect("a process")),
        "signal" => Input::Signal(signal(call)),
        "attach" => Input::Attach(Box::new(attach(call))),
        "cancel" => Input::RequestCancel(cancel(call)),
        "terminate" => Input::Terminate(terminate(call, 0)),
        "update" => Input::AdmitUpdate(commands::request(call.opt(0).unwrap_or_default())),
        "reset-sticky" => Input::ResetSticky,
        "take-task" => Input::StartWorkflowTask(take_task(run, call)),
        "complete" => Input::CompleteWorkflowTask(Box::new(complete(story, call))),
        "fail-task" => Input::FailWorkflowTask(fail_task(story, call)),
        "take" => Input::StartActivity(take(run, call)),
        "return" => Input::ReturnActivity(token(story, call.arg(0))),
        "finish" | "finish-id" => Input::CompleteActivity(CompleteActivity {
            token: token_of(story, call),
            result: payload(call.opt(1)),
            identity: "worker".to_owned(),
        }),
        "fail" | "fail-id" => Input::FailActivity(FailActivity {
            token: token_of(story, call),
            failure: Some(failure(call, 1)),
            last_heartbeat_details: payload(call.get("beat")),
            identity: "worker".to_owned(),
        }),
        "cancelled" | "cancelled-id" => Input::CancelActivity(CancelActivity {
            token: token_of(story, call),
            details: payload(call.opt(1)),
            identity: "worker".to_owned(),
        }),
        "beat" | "beat-id" => Input::Heartbeat(Heartbeat {
            token: token_of(story, call),
            details: payload(call.opt(1)),
            leaves: false,
        }),
        "leave" => Input::Heartbeat(Heartbeat {
            token: token(story, call.arg(0)),
            details: None,
            leaves: true,
        }),
        "pause" | "unpause" | "reset-activity" | "options" => operate(call),
        "park" | "resume" | "schedule-resume" | "clear-resume" | "give-up" | "retry-now"
        | "change" | "acknowledge" | "resume-task" => operators::input(run, call),
        "child-started" => Input::ChildStarted(ChildStarted {
            initiated_event_id: child(run, call.arg(0)),
            run_id: call.opt(1).unwrap_or("child-run").to_owned(),
        }),
        "child-not-started" => Input::ChildStartFailed(ChildStartFailed {
            initiated_event_id: child(run, call.arg(0)),
            cause: enums::StartChildWorkflowExecutionFailedCause::WorkflowAlreadyExists,
        }),
        "child-closed" => Input::ChildClosed(Box::new(child_closed(run, call))),
        "adopt" => Input::Adopt(Adopt {
            parent: Parent {
                workflow_id: call.arg(0).to_owned(),
                run_id: call.opt(1).unwrap_or("new-parent-run").to_owned(),
            },
            initiated_event_id: run.started().parent_initiated_event_id,
        }),
        "answered" => Input::ExternalAnswered(ExternalAnswered {
            initiated_event_id: external(run, call.arg(0)),
            refused: refused(call),
        }),
        "delivered" => Input::MessageDelivered(call.arg(0).parse().expect("a number")),
        other => panic!("no such verb: {other:?}"),
    }
}

/// A termination, its reason at this place.
pub(crate) fn terminate(call: &Call, at: usize) -> Terminate {
    Terminate {
        reason: call.opt(at).unwrap_or_default().to_owned(),
        identity: "someone".to_owned(),
        child_of: child_of(call),
        ..Terminate::default()
    }
}

/// What a reset is told to leave out.
pub(crate) fn excluded(call: &Call) -> BTreeSet<i32> {
    let kind = |word: &str| match word {
        "signal" => enums::ResetReapplyExcludeType::Signal.into(),
        "update" => enums::ResetReapplyExcludeType::Update.into(),
        other => panic!("cannot leave out {other:?}"),
    };
    call.get("without").map(kind).into_iter().collect()
}

fn signal_default() -> Signal {
    Signal { identity: "someone".to_owned(), ..Signal::default() }
}

fn attach(call: &Call) -> Attach {
    Attach { request_id: call.arg(0).to_owned(), ..Attach::default() }
}

fn signal(call: &Call) -> Signal {
    Signal {
        name: call.arg(0).to_owned(),
        input: payload(call.opt(1).filter(|word| *word != "wakes")),
        request_id: call.text("id"),
        wakes: call.has("wakes"),
        child_of: child_of(call),
        ..signal_default()
    }
}

fn cancel(call: &Call) -> CancelRequest {
    CancelRequest {
        reason: call.opt(0).unwrap_or_default().to_owned(),
        identity: "someone".to_owned(),
        child_of: child_of(call),
        ..CancelRequest::default()
    }
}

fn child_of(call: &Call) -> Option<Parent> {
    call.get("child-of").map(|id| Parent {
        workflow_id: id.to_owned(),
        run_id: call.get("run").unwrap_or("parent-run").to_owned(),
    })
}

fn take_task(run: &Run, call: &Call) -> StartWorkflowTask {
    let task = run.task().cloned().unwrap_or_default();
    StartWorkflowTask {
        scheduled_event_id: call
            .get("scheduled")
            .map_or(task.scheduled_event_id, |it| it.parse().expect("an event id")),
        attempt: call.get("attempt").map_or(task.attempt, |it| it.parse().expect("an attempt")),
        request_id: call.text("poll"),
        identity: call.get("by").unwrap_or("worker").to_owned(),
        sticky_queue: call.get("sticky").map(str::to_owned),
        process: call.number("process"),
    }
}

/// The token of the task taken last, or with `old` of the one before.
fn task_token(story: &Story, call: &Call) -> WorkflowTaskToken {
    let back = if call.has("old") { 2 } else { 1 };
    let at = story.task_tokens.len().checked_sub(back);
    at.map(|at| story.task_tokens[at].clone()).unwrap_or_default()
}

fn complete(story: &Story, call: &Call) -> CompleteWorkflowTask {
    let words = ["force", "old", "again"];
    let calls = call.args.iter().filter(|word| !words.contains(&word.as_str()));
    let (mut all, mut messages) = (Vec::new(), Vec::new());
    for word in calls {
        let (command, message) = commands::command(&story.run, &Call::of(word));
        all.extend(command);
        messages.extend(message);
    }
    let sticky = call.get("sticky").map(|name| taskqueue::StickyExecutionAttributes {
        worker_task_queue: Some(queue(name)),
        schedule_to_start_timeout: call.span("within"),
    });
    CompleteWorkflowTask {
        token: task_token(story, call),
        commands: all,
        messages,
        identity: "worker".to_owned(),
        sticky,
        force_new_task: call.has("force"),
        takes_events_again: call.has("again"),
        ..CompleteWorkflowTask::default()
    }
}

fn fail_task(story: &Story, call: &Call) -> FailWorkflowTask {
    let cause = match call.opt(0) {
        Some("too-large") => enums::WorkflowTaskFailedCause::GrpcMessageTooLarge,
        Some("nondeterminism") => enums::WorkflowTaskFailedCause::NonDeterministicError,
        _ => enums::WorkflowTaskFailedCause::WorkflowWorkerUnhandledFailure,
    };
    FailWorkflowTask {
        token: task_token(story, call),
        cause,
        failure: call.opt(1).map(|_| failure(call, 1)),
        identity: "worker".to_owned(),
        binary_checksum: String::new(),
    }
}

fn take(run: &Run, call: &Call) -> StartActivity {
    let id = run.activities().named(call.arg(0)).copied().unwrap_or_default();
    let row = run.activities().get(&id).map(|activity| activity.row.clone()).unwrap_or_default();
    StartActivity {
        scheduled_event_id: id,
        attempt: call.get("attempt").map_or(row.attempt, |it| it.parse().expect("an attempt")),
        stamp: call.get("stamp").map_or(row.stamp, |it| it.parse().expect("a stamp")),
        request_id: call.text("poll"),
        identity: call.get("by").unwrap_or("worker").to_owned(),
        process: call.number("process"),
        company: call.number("company"),
        silence_max: Duration::from_secs(call.number("silence-max")),
    }
}

fn token_of(story: &Story, call: &Call) -> ActivityToken {
    if call.name.ends_with("-id") {
        ActivityToken::Id(call.arg(0).to_owned())
    } else {
        token(story, call.arg(0))
    }
}

/// The token of the last take of an activity; `a#1` is that of the first.
fn token(story: &Story, name: &str) -> ActivityToken {
    let (name, number) = name.split_once('#').unwrap_or((name, ""));
    let takes = story.takes.get(name).map(Vec::as_slice).unwrap_or_default();
    let token = match number.parse::<usize>() {
        Ok(number) => takes.get(number - 1),
        Err(_) => takes.last(),
    };
    token.cloned().unwrap_or(ActivityToken::Attempt { scheduled_event_id: 0, attempt: 1, nonce: 7 })
}

/// Which activities are meant: an id, `#5` for a scheduled event, `all`, or `- type=Charge`.
pub(crate) fn selector(call: &Call) -> Selector {
    match (call.get("type"), call.arg(0)) {
        (Some(kind), _) => Selector::Type(kind.to_owned()),
        (None, "all") => Selector::All,
        (None, id) => match id.strip_prefix('#') {
            Some(event) => Selector::Event(event.parse().expect("an event id")),
            None => Selector::Id(id.to_owned()),
        },
    }
}

fn operate(call: &Call) -> Input {
    let selector = selector(call);
    let jitter = call.get("jitter").map(length).unwrap_or_default();
    match call.name.as_str() {
        "pause" => Input::PauseActivity(PauseActivity {
            selector,
            identity: "operator".to_owned(),
            reason: call.text("why"),
            request_id: call.text("id"),
        }),
        "unpause" => Input::UnpauseActivity(UnpauseActivity {
            selector,
            reset_attempts: call.has("reset-attempts"),
            reset_heartbeat: call.has("reset-heartbeat"),
            jitter,
        }),
        "reset-activity" => Input::ResetActivity(ResetActivity {
            selector,
            reset_heartbeat: call.has("reset-heartbeat"),
            keep_paused: call.has("keep-paused"),
            restore_options: call.has("restore"),
            jitter,
        }),
        _ => Input::UpdateActivityOptions(Box::new(options(selector, call))),
    }
}

/// Options and which of them are named.
pub(crate) fn options(selector: Selector, call: &Call) -> UpdateActivityOptions {
    let names = [
        ("s2c", "schedule_to_close_timeout"),
        ("s2s", "schedule_to_start_timeout"),
        ("stc", "start_to_close_timeout"),
        ("hb", "heartbeat_timeout"),
        ("queue", "task_queue.name"),
        ("init", "retry_policy.initial_interval"),
        ("coef", "retry_policy.backoff_coefficient"),
        ("max", "retry_policy.maximum_interval"),
        ("attempts", "retry_policy.maximum_attempts"),
    ];
    let given = names.iter().filter(|(key, _)| call.get(key).is_some());
    let mut mask: Vec<String> = given.map(|(_, path)| (*path).to_owned()).collect();
    mask.extend(call.get("mask").map(str::to_owned));
    UpdateActivityOptions {
        selector,
        options: activity::ActivityOptions {
            task_queue: call.get("queue").map(queue),
            schedule_to_close_timeout: call.span("s2c"),
            schedule_to_start_timeout: call.span("s2s"),
            start_to_close_timeout: call.span("stc"),
            heartbeat_timeout: call.span("hb"),
            retry_policy: retry_policy(call),
            ..Default::default()
        },
        mask,
        restore_original: call.has("restore"),
    }
}

/// The initiated event of the child with this workflow id, or the number after `#`.
fn child(run: &Run, name: &str) -> i64 {
    if let Some(number) = name.strip_prefix('#') {
        return number.parse().expect("an event id");
    }
    let found = run.children().iter().find(|(_, child)| child.initiated.workflow_id == name);
    found.map(|(id, _)| *id).unwrap_or_default()
}

fn child_closed(run: &Run, call: &Call) -> ChildClosed {
    ChildClosed {
        initiated_event_id: child(run, call.arg(0)),
        first_run_id: call.get("first").unwrap_or("child-run").to_owned(),
        execution: common::WorkflowExecution {
            workflow_id: call.arg(0).to_owned(),
            run_id: call.get("last").unwrap_or("child-run").to_owned(),
        },
        close: close_of(call),
    }
}

fn close_of(call: &Call) -> Attributes {
    let retry_state = enums::RetryState::RetryPolicyNotSet.into();
    match call.arg(1) {
        "completed" => history::WorkflowExecutionCompletedEventAttributes {
            result: payload(call.opt(2)),
            ..Default::default()
        }
        .into(),
        "failed" => history::WorkflowExecutionFailedEventAttributes {
            failure: Some(failure(call, 2)),
            retry_state,
            ..Default::default()
        }
        .into(),
        "cancelled" => history::WorkflowExecutionCanceledEventAttributes::default().into(),
        "timed-out" => {
            history::WorkflowExecutionTimedOutEventAttributes { retry_state, ..Default::default() }
                .into()
        }
        "terminated" => history::WorkflowExecutionTerminatedEventAttributes::default().into(),
        "continued" => history::WorkflowExecutionContinuedAsNewEventAttributes::default().into(),
        other => panic!("a run does not close as {other:?}"),
    }
}

/// The initiated event of the request to the run with this workflow id, or the number after `#`.
fn external(run: &Run, name: &str) -> i64 {
    use steadfast_core::ExternalInitiated::{Cancel, Signal};
    if let Some(number) = name.strip_prefix('#') {
        return number.parse().expect("an event id");
    }
    let found = run.externals().iter().find(|(_, external)| {
        let target = match &external.initiated {
            Signal(asked) => asked.workflow_execution.as_ref(),
            Cancel(asked) => asked.workflow_execution.as_ref(),
        };
        target.is_some_and(|target| target.workflow_id == name)
    });
    found.map(|(id, _)| *id).unwrap_or_default()
}

fn refused(call: &Call) -> Option<ExternalRefused> {
    match call.opt(1) {
        None => None,
        Some("not-found") => Some(ExternalRefused::NotFound),
        Some("no-namespace") => Some(ExternalRefused::NamespaceNotFound),
        Some("too-many") => Some(ExternalRefused::SignalLimit),
        Some(other) => panic!("not a reason: {other:?}"),
    }
}
