//! What a worker answers to a workflow task, from words.

use prost::Message as _;
use steadfast_core::Run;
use steadfast_proto::{
    command::{self, Command, command::Attributes},
    common, enums,
    failure::{ApplicationFailureInfo, CanceledFailureInfo, Failure, failure::FailureInfo},
    prost_types::Any,
    protocol::Message,
    taskqueue, update,
};

use super::words::Call;

/// One command, and the message that goes with it if it speaks to an update.
pub(crate) fn command(run: &Run, call: &Call) -> (Option<Command>, Option<Message>) {
    let attributes = match call.name.as_str() {
        "schedule" => Attributes::from(schedule(call)),
        "cancel-activity" => {
            Attributes::from(command::RequestCancelActivityTaskCommandAttributes {
                scheduled_event_id: activity(run, call.arg(0)),
            })
        }
        "timer" => Attributes::from(command::StartTimerCommandAttributes {
            timer_id: call.opt(0).unwrap_or_default().to_owned(),
            start_to_fire_timeout: call.opt(1).map(super::words::span),
        }),
        "cancel-timer" => Attributes::from(command::CancelTimerCommandAttributes {
            timer_id: call.opt(0).unwrap_or_default().to_owned(),
        }),
        "done" => Attributes::from(command::CompleteWorkflowExecutionCommandAttributes {
            result: payload(call.opt(0)),
        }),
        "fail" => Attributes::from(command::FailWorkflowExecutionCommandAttributes {
            failure: call.opt(0).map(|_| failure(call, 0)),
        }),
        "cancelled" => Attributes::from(command::CancelWorkflowExecutionCommandAttributes {
            details: payload(call.opt(0)),
        }),
        "continue" => Attributes::from(continue_as_new(call)),
        "marker" => Attributes::from(command::RecordMarkerCommandAttributes {
            marker_name: call.opt(0).unwrap_or_default().to_owned(),
            ..Default::default()
        }),
        "child" => Attributes::from(child(call)),
        "signal-external" => Attributes::from(signal_external(call)),
        "cancel-external" => Attributes::from(cancel_external(call)),
        "upsert" => Attributes::from(command::UpsertWorkflowSearchAttributesCommandAttributes {
            search_attributes: (!call.has("nothing"))
                .then(|| common::SearchAttributes { indexed_fields: fields(call) }),
        }),
        "memo" => Attributes::from(command::ModifyWorkflowPropertiesCommandAttributes {
            upserted_memo: (!call.has("nothing")).then(|| common::Memo { fields: fields(call) }),
        }),
        "nexus" => Attributes::from(command::ScheduleNexusOperationCommandAttributes::default()),
        "nothing" => return (Some(Command::default()), None),
        "message" => Attributes::from(command::ProtocolMessageCommandAttributes {
            message_id: call.arg(0).to_owned(),
        }),
        "accept" | "respond" | "reject" | "babble" => {
            let message = message(call);
            let place = Attributes::from(command::ProtocolMessageCommandAttributes {
                message_id: message.id.clone(),
            });
            let place = (!call.has("unplaced")).then(|| of(place, call));
            return (place, Some(message));
        }
        other => panic!("no such command: {other:?}"),
    };
    (Some(of(attributes, call)), None)
}

fn of(attributes: Attributes, call: &Call) -> Command {
    let summary = call.get("note").map(|note| steadfast_proto::sdk::UserMetadata {
        summary: payload(Some(note)).and_then(|it| it.payloads.into_iter().next()),
        details: None,
    });
    Command { attributes: Some(attributes), user_metadata: summary, ..Command::default() }
}

/// One payload with this text; `big=N` in place of the text makes N bytes.
pub(crate) fn payload(text: Option<&str>) -> Option<common::Payloads> {
    let text = text?;
    let data = match text.strip_prefix("big:") {
        Some(bytes) => vec![b'x'; bytes.parse().expect("a number of bytes")],
        None => text.as_bytes().to_vec(),
    };
    let payload = common::Payload { data, ..common::Payload::default() };
    Some(common::Payloads { payloads: vec![payload] })
}

/// A failure in the application's terms: message, `type=`, `final`, `next=`, `cancel`.
pub(crate) fn failure(call: &Call, at: usize) -> Failure {
    let info = if call.has("as-cancel") {
        FailureInfo::CanceledFailureInfo(CanceledFailureInfo::default())
    } else {
        FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: call.text("type"),
            non_retryable: call.has("final"),
            next_retry_delay: call.span("next"),
            details: payload(call.get("details")),
            ..Default::default()
        })
    };
    Failure { message: call.arg(at).to_owned(), failure_info: Some(info), ..Failure::default() }
}

/// A retry policy, if one of its words is there.
pub(crate) fn retry_policy(call: &Call) -> Option<common::RetryPolicy> {
    let words = ["init", "coef", "max", "attempts", "non", "policy"];
    words.iter().any(|word| call.get(word).is_some()).then(|| common::RetryPolicy {
        initial_interval: call.span("init"),
        backoff_coefficient: call.number("coef"),
        maximum_interval: call.span("max"),
        maximum_attempts: call.number("attempts"),
        non_retryable_error_types: call.get("non").map(str::to_owned).into_iter().collect(),
    })
}

/// A task queue with this name.
pub(crate) fn queue(name: &str) -> taskqueue::TaskQueue {
    taskqueue::TaskQueue {
        name: name.to_owned(),
        kind: enums::TaskQueueKind::Normal.into(),
        normal_name: String::new(),
    }
}

/// A type with this name, if there is one.
fn workflow_type(name: Option<&str>) -> Option<common::WorkflowType> {
    name.map(|name| common::WorkflowType { name: name.to_owned() })
}

fn schedule(call: &Call) -> command::ScheduleActivityTaskCommandAttributes {
    command::ScheduleActivityTaskCommandAttributes {
        activity_id: call.opt(0).unwrap_or_default().to_owned(),
        activity_type: call.opt(1).map(|name| common::ActivityType { name: name.to_owned() }),
        task_queue: call.get("queue").map(queue),
        input: payload(call.get("input")),
        schedule_to_close_timeout: call.span("s2c"),
        schedule_to_start_timeout: call.span("s2s"),
        start_to_close_timeout: call.span("stc"),
        heartbeat_timeout: call.span("hb"),
        retry_policy: retry_policy(call),
        request_eager_execution: call.has("eager"),
        ..Default::default()
    }
}

fn continue_as_new(call: &Call) -> command::ContinueAsNewWorkflowExecutionCommandAttributes {
    command::ContinueAsNewWorkflowExecutionCommandAttributes {
        workflow_type: workflow_type(call.opt(0)),
        task_queue: call.get("queue").map(queue),
        input: payload(call.get("input")),
        workflow_run_timeout: call.span("run"),
        backoff_start_interval: call.span("backoff"),
        retry_policy: retry_policy(call),
        cron_schedule: call.text("cron"),
        last_completion_result: payload(call.get("last")),
        ..Default::default()
    }
}

fn child(call: &Call) -> command::StartChildWorkflowExecutionCommandAttributes {
    use enums::ParentClosePolicy as Policy;
    let policy = match call.get("close") {
        Some("abandon") => Policy::Abandon,
        Some("cancel") => Policy::RequestCancel,
        Some("terminate") => Policy::Terminate,
        None => Policy::Unspecified,
        Some(other) => panic!("no such parent close policy: {other:?}"),
    };
    command::StartChildWorkflowExecutionCommandAttributes {
        workflow_id: call.opt(0).unwrap_or_default().to_owned(),
        workflow_type: workflow_type(call.opt(1)),
        task_queue: call.get("queue").map(queue),
        input: payload(call.get("input")),
        workflow_execution_timeout: call.span("exec"),
        workflow_run_timeout: call.span("run"),
        parent_close_policy: policy.into(),
        retry_policy: retry_policy(call),
        cron_schedule: call.text("cron"),
        ..Default::default()
    }
}

fn signal_external(call: &Call) -> command::SignalExternalWorkflowExecutionCommandAttributes {
    command::SignalExternalWorkflowExecutionCommandAttributes {
        execution: Some(common::WorkflowExecution {
            workflow_id: call.opt(0).unwrap_or_default().to_owned(),
            run_id: call.text("run"),
        }),
        signal_name: call.opt(1).unwrap_or_default().to_owned(),
        input: payload(call.get("input")),
        child_workflow_only: call.has("child-only"),
        ..Default::default()
    }
}

fn cancel_external(
    call: &Call,
) -> command::RequestCancelExternalWorkflowExecutionCommandAttributes {
    command::RequestCancelExternalWorkflowExecutionCommandAttributes {
        workflow_id: call.opt(0).unwrap_or_default().to_owned(),
        run_id: call.text("run"),
        child_workflow_only: call.has("child-only"),
        ..Default::default()
    }
}

fn fields<M: FromIterator<(String, common::Payload)>>(call: &Call) -> M {
    let field = |(key, value): (&str, &str)| {
        let data = value.as_bytes().to_vec();
        (key.to_owned(), common::Payload { data, ..common::Payload::default() })
    };
    call.pairs().map(field).collect()
}

/// What the workflow says to an update.
fn message(call: &Call) -> Message {
    let id = call.arg(0);
    let meta = Some(update::Meta { update_id: id.to_owned(), identity: String::new() });
    let (kind, value) = match call.name.as_str() {
        "accept" => {
            let request = call.has("with-request").then(|| request(id));
            let acceptance = update::Acceptance {
                accepted_request_message_id: format!("{id}/request"),
                accepted_request: request,
                ..Default::default()
            };
            ("Acceptance", acceptance.encode_to_vec())
        }
        "respond" => {
            let result = payload(call.opt(1)).unwrap_or_default();
            let outcome = update::Outcome { value: Some(update::outcome::Value::Success(result)) };
            let meta = meta.filter(|_| !call.has("no-meta"));
            ("Response", update::Response { meta, outcome: Some(outcome) }.encode_to_vec())
        }
        "reject" => {
            let rejection =
                update::Rejection { failure: Some(failure(call, 1)), ..Default::default() };
            ("Rejection", rejection.encode_to_vec())
        }
        _ => ("Nonsense", Vec::new()),
    };
    Message {
        id: format!("{id}/{kind}"),
        protocol_instance_id: id.to_owned(),
        body: Some(Any {
            type_url: format!("type.googleapis.com/temporal.api.update.v1.{kind}"),
            value,
        }),
        sequencing_id: None,
    }
}

/// The request of an update with this id.
pub(crate) fn request(id: &str) -> update::Request {
    update::Request {
        meta: Some(update::Meta { update_id: id.to_owned(), identity: "caller".to_owned() }),
        input: Some(update::Input { name: "set".to_owned(), ..Default::default() }),
        ..Default::default()
    }
}

/// The scheduled event of the activity with this id, or the number after `#`.
fn activity(run: &Run, name: &str) -> i64 {
    match name.strip_prefix('#') {
        Some(number) => number.parse().expect("an event id"),
        None => *run.activities().named(name).unwrap_or_else(|| panic!("no activity {name:?}")),
    }
}
