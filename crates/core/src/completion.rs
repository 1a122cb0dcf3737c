//! A worker is done with a workflow task: its commands become events, all of them or none.
//!
//! ```text
//!   completed, <one event or more a command, in their order>, <what was buffered>, scheduled …
//! ```
//!
//! One bad command spoils them all: the task has failed then, and that is all that is written.

use steadfast_proto::{
    command::{Command, command::Attributes},
    deployment,
    enums::WorkflowTaskFailedCause as FailedCause,
    history,
    protocol::Message,
};

use crate::{
    bad,
    failure::of_server,
    input::CompleteWorkflowTask,
    machine::{
        activity_schedule, child, close, external, properties, successor, terminate, timer, update,
        workflow_task,
    },
    refused::{BadCommand, Refused},
    size,
    span::from_wire,
    state::{Sticky, WorkflowTask},
    tx::{Note, Tx},
};

/// Carries out what the workflow wants.
pub(crate) fn complete(tx: &mut Tx<'_>, input: CompleteWorkflowTask) -> Result<(), Refused> {
    let task = workflow_task::under_way(tx.run, &input.token)?.clone();
    check_order(&input.commands)?;
    if is_stale_heartbeat(tx, &task, &input) {
        workflow_task::heartbeat_time_out(tx);
        tx.out.refused = Some(Refused::TaskHeartbeatTimeout);
        return Ok(());
    }
    let identity = input.identity.clone();
    match carry_out(tx, &task, input) {
        Ok(()) => Ok(()),
        Err(bad) => refuse(tx, &task, &bad, &identity),
    }
}

fn carry_out(
    tx: &mut Tx<'_>,
    task: &WorkflowTask,
    mut input: CompleteWorkflowTask,
) -> Result<(), BadCommand> {
    workflow_task::write_transient(tx);
    let completed = tx.append(completed(tx.run.state.task.as_ref().unwrap_or(task), &mut input));
    set_sticky(tx, &input);
    let heartbeats = input.force_new_task && input.commands.is_empty();
    let mut messages = input.messages;
    let mut wants_task = input.force_new_task;
    for command in input.commands {
        let step = Step { completed, identity: &input.identity };
        wants_task |= step.carry_out(tx, command, &mut messages)?;
    }
    for message in messages {
        update::answer(tx, &message)?;
    }
    if !tx.run.is_open() {
        return Ok(());
    }
    tx.run.state.closing = false;
    if !input.force_new_task {
        update::reject_unanswered(tx, task.nonce);
    }
    let flushed = tx.flush();
    if flushed || wants_task || update::are_waiting(tx.run) {
        workflow_task::schedule(tx);
    }
    if heartbeats && let Some(next) = &mut tx.run.state.task {
        next.original_scheduled_at = task.original_scheduled_at;
    }
    Ok(())
}

/// One command of a completed task.
struct Step<'a> {
    completed: i64,
    identity: &'a str,
}

impl Step<'_> {
    /// Says whether the workflow has to be run again because of it.
    fn carry_out(
        &self,
        tx: &mut Tx<'_>,
        mut command: Command,
        messages: &mut Vec<Message>,
    ) -> Result<bool, BadCommand> {
        let note = Note::of_command(&mut command);
        let completed = self.completed;
        let Some(attributes) = command.attributes else {
            return Err(bad::command(FailedCause::Unspecified, "a command has no attributes"));
        };
        match attributes {
            Attributes::ScheduleActivityTaskCommandAttributes(wanted) => {
                activity_schedule::schedule(tx, wanted, completed, note)?;
            }
            Attributes::RequestCancelActivityTaskCommandAttributes(wanted) => {
                return activity_schedule::request_cancel(tx, wanted, completed, self.identity);
            }
            Attributes::StartTimerCommandAttributes(wanted) => {
                timer::start(tx, wanted, completed, note)?;
            }
            Attributes::CancelTimerCommandAttributes(wanted) => {
                timer::cancel(tx, wanted, completed, self.identity)?;
            }
            Attributes::StartChildWorkflowExecutionCommandAttributes(wanted) => {
                child::initiate(tx, wanted, completed, note)?;
            }
            Attributes::SignalExternalWorkflowExecutionCommandAttributes(wanted) => {
                external::signal(tx, wanted, completed, note)?;
            }
            Attributes::RequestCancelExternalWorkflowExecutionCommandAttributes(wanted) => {
                external::cancel(tx, wanted, completed, note)?;
            }
            Attributes::RecordMarkerCommandAttributes(wanted) => {
                properties::record_marker(tx, wanted, completed, note)?;
            }
            Attributes::UpsertWorkflowSearchAttributesCommandAttributes(wanted) => {
                properties::upsert_search_attributes(tx, wanted, completed)?;
            }
            Attributes::ModifyWorkflowPropertiesCommandAttributes(wanted) => {
                properties::modify(tx, wanted, completed)?;
            }
            Attributes::ProtocolMessageCommandAttributes(wanted) => {
                update::answer(tx, &take_message(messages, &wanted.message_id)?)?;
            }
            Attributes::CompleteWorkflowExecutionCommandAttributes(_)
            | Attributes::FailWorkflowExecutionCommandAttributes(_)
            | Attributes::CancelWorkflowExecutionCommandAttributes(_)
            | Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(_) => {
                self.close(tx, attributes)?;
            }
            Attributes::ScheduleNexusOperationCommandAttributes(_)
            | Attributes::RequestCancelNexusOperationCommandAttributes(_) => {
                let detail = "Nexus operations are not supported";
                return Err(bad::command(FailedCause::FeatureDisabled, detail));
            }
        }
        Ok(false)
    }

    /// The workflow wants to close, which it may only when it has seen everything.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller told the others apart")]
    fn close(&self, tx: &mut Tx<'_>, attributes: Attributes) -> Result<(), BadCommand> {
        if !tx.run.buffer.is_empty() {
            return Err(bad::command(FailedCause::UnhandledCommand, ""));
        }
        let completed = self.completed;
        match attributes {
            Attributes::CompleteWorkflowExecutionCommandAttributes(wanted) => {
                let cause = FailedCause::BadCompleteWorkflowExecutionAttributes;
                check_size(tx, cause, "Result", size::payloads(wanted.result.as_ref()))?;
                close::complete(tx, wanted.result, completed);
            }
            Attributes::FailWorkflowExecutionCommandAttributes(wanted) => {
                let cause = FailedCause::BadFailWorkflowExecutionAttributes;
                let missing = || bad::command(cause, "Failure is not set on command.");
                let failure = wanted.failure.ok_or_else(missing)?;
                check_size(tx, cause, "Failure", size::of(Some(&failure)))?;
                close::fail(tx, failure, completed);
            }
            Attributes::CancelWorkflowExecutionCommandAttributes(wanted) => {
                let cause = FailedCause::BadCancelWorkflowExecutionAttributes;
                check_size(tx, cause, "Details", size::payloads(wanted.details.as_ref()))?;
                close::cancel(tx, wanted.details, completed);
            }
            Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(wanted) => {
                successor::by_workflow(tx, wanted, completed)?;
            }
            _ => return Err(bad::command(FailedCause::FeatureDisabled, "not supported")),
        }
        Ok(())
    }
}

/// Nothing of the completion counts but that it failed.
fn refuse(
    tx: &mut Tx<'_>,
    task: &WorkflowTask,
    bad: &BadCommand,
    identity: &str,
) -> Result<(), Refused> {
    tx.roll_back();
    let cause = bad.cause.0;
    let unhandled = cause == FailedCause::UnhandledCommand;
    let refused =
        if unhandled { Refused::UnhandledCommand } else { Refused::BadCommand(bad.clone()) };
    // A worker does not report the failure of a repetition either: it times out.
    if task.attempt > 1 && !unhandled && !bad.fatal {
        return Err(refused);
    }
    update::abort_sent(tx);
    workflow_task::fail(tx, cause, Some(of_server(&refused.to_string(), false)), identity, "");
    tx.run.state.closing = unhandled;
    if bad.fatal {
        terminate::by_engine(tx, &bad.detail);
    }
    tx.out.refused = Some(refused);
    Ok(())
}

/// A command that closes the run must be the last one.
fn check_order(commands: &[Command]) -> Result<(), Refused> {
    let closes = |command: &&Command| {
        matches!(
            command.attributes,
            Some(
                Attributes::CompleteWorkflowExecutionCommandAttributes(_)
                    | Attributes::FailWorkflowExecutionCommandAttributes(_)
                    | Attributes::CancelWorkflowExecutionCommandAttributes(_)
                    | Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(_)
            )
        )
    };
    let (_, before) = commands.split_last().unwrap_or((&EMPTY, &[]));
    if before.iter().any(|command| closes(&command)) {
        let problem = "a command that closes the workflow must be the last one".to_owned();
        return Err(Refused::Invalid { field: "commands", problem });
    }
    Ok(())
}

static EMPTY: Command = Command {
    command_type: 0,
    user_metadata: None,
    event_group_markers: Vec::new(),
    attributes: None,
};

fn is_stale_heartbeat(tx: &Tx<'_>, task: &WorkflowTask, input: &CompleteWorkflowTask) -> bool {
    let since = steadfast_retry::Timestamp(task.original_scheduled_at);
    input.force_new_task
        && input.commands.is_empty()
        && tx.now.since(since) > tx.limits.task_heartbeat_max
}

fn set_sticky(tx: &mut Tx<'_>, input: &CompleteWorkflowTask) {
    tx.run.state.sticky = input.sticky.as_ref().and_then(|sticky| {
        let queue = sticky.worker_task_queue.as_ref().filter(|queue| !queue.name.is_empty())?;
        let timeout = from_wire(sticky.schedule_to_start_timeout.as_ref());
        Some(Sticky {
            queue: queue.name.clone(),
            timeout: i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX),
        })
    });
}

fn check_size(tx: &Tx<'_>, cause: FailedCause, what: &str, bytes: usize) -> Result<(), BadCommand> {
    bad::check_size(cause, what, bytes, tx.limits)
}

fn take_message(messages: &mut Vec<Message>, id: &str) -> Result<Message, BadCommand> {
    let at = messages.iter().position(|message| message.id == id);
    at.map(|at| messages.remove(at)).ok_or_else(|| {
        let cause = FailedCause::BadUpdateWorkflowExecutionMessage;
        bad::command(cause, format!("message {id:?} is not part of the completion"))
    })
}

#[expect(deprecated, reason = "what older workers tell of themselves is kept")]
fn completed(
    task: &WorkflowTask,
    input: &mut CompleteWorkflowTask,
) -> history::WorkflowTaskCompletedEventAttributes {
    let deployment = input.deployment.take();
    let version = deployment.as_ref().map(|options| deployment::WorkerDeploymentVersion {
        build_id: options.build_id.clone(),
        deployment_name: options.deployment_name.clone(),
    });
    history::WorkflowTaskCompletedEventAttributes {
        scheduled_event_id: task.scheduled_event_id,
        started_event_id: task.started_event_id,
        identity: input.identity.clone(),
        binary_checksum: std::mem::take(&mut input.binary_checksum),
        sdk_metadata: input.sdk_metadata.take(),
        metering_metadata: input.metering_metadata.take(),
        versioning_behavior: input.versioning_behavior,
        worker_deployment_name: deployment.map(|it| it.deployment_name).unwrap_or_default(),
        deployment_version: version,
        ..history::WorkflowTaskCompletedEventAttributes::default()
    }
}
