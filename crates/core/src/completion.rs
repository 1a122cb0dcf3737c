//! A worker is done with a workflow task: its commands become events, all of them or none.
//!
//! ```text
//!   completed, <the events of the commands, in their order>, <what was buffered>,
//!   <activities that were cancelled by being asked to>, scheduled …
//! ```
//!
//! One bad command spoils them all: the task has failed then, and that is all that is written.

use std::time::Duration;

use steadfast_proto::{
    command::{Command, command::Attributes},
    common, deployment,
    enums::WorkflowTaskFailedCause as FailedCause,
    failure::Failure,
    history,
    protocol::Message,
};

use crate::{
    bad,
    failure::of_server,
    input::CompleteWorkflowTask,
    machine::{
        activity_schedule, child, close, external, properties, speculation, successor, terminate,
        timer, update, workflow_task,
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
        workflow_task::time_out(tx);
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
    if speculation::is_for_nothing(tx, &input) {
        set_sticky(tx, &input);
        return speculation::forget(tx, &input);
    }
    workflow_task::write_unwritten(tx);
    // An event is large: they are not to be moved as more and more of them come.
    tx.out.events.reserve(input.commands.len() + ROUND);
    let completed = tx.append(completed(tx.run.state.task.as_ref().unwrap_or(task), &mut input));
    set_sticky(tx, &input);
    let heartbeats = is_heartbeat(&input);
    let mut step = Step {
        completed,
        identity: &input.identity,
        messages: input.messages,
        cancelled: Vec::new(),
    };
    for command in input.commands {
        step.carry_out(tx, command)?;
    }
    if !tx.run.is_open() {
        return Ok(());
    }
    step.answer_updates(tx)?;
    tx.run.state.closing = false;
    if !input.force_new_task {
        update::reject_unanswered(tx);
    }
    let flushed = tx.flush();
    let has_news = flushed || !step.cancelled.is_empty();
    for event in step.cancelled {
        tx.append(event);
    }
    if has_news || input.force_new_task {
        workflow_task::schedule(tx);
    } else if update::are_waiting(tx.run) {
        speculation::schedule(tx);
    }
    if heartbeats && let Some(next) = &mut tx.run.state.task {
        next.original_scheduled_at = task.original_scheduled_at;
    }
    Ok(())
}

/// The events of a task beside those of its commands.
const ROUND: usize = 3;

/// What the commands of a completed task are carried out with.
struct Step<'a> {
    completed: i64,
    identity: &'a str,
    messages: Vec<Message>,
    /// Activities that end with this, once all commands have their events.
    cancelled: Vec<history::ActivityTaskCanceledEventAttributes>,
}

impl Step<'_> {
    fn carry_out(&mut self, tx: &mut Tx<'_>, mut command: Command) -> Result<(), BadCommand> {
        let note = Note::of_command(&mut command);
        let completed = self.completed;
        let Some(attributes) = command.attributes else { return Ok(()) };
        match attributes {
            Attributes::ScheduleActivityTaskCommandAttributes(wanted) => {
                activity_schedule::schedule(tx, *wanted, completed, note)?;
            }
            Attributes::RequestCancelActivityTaskCommandAttributes(wanted) => {
                let by = (self.identity, note);
                let cancelled = activity_schedule::request_cancel(tx, *wanted, completed, by)?;
                self.cancelled.extend(cancelled);
            }
            Attributes::StartTimerCommandAttributes(wanted) => {
                timer::start(tx, *wanted, completed, note)?;
            }
            Attributes::CancelTimerCommandAttributes(wanted) => {
                timer::cancel(tx, *wanted, completed, (self.identity, note))?;
            }
            Attributes::StartChildWorkflowExecutionCommandAttributes(wanted) => {
                child::initiate(tx, *wanted, completed, note)?;
            }
            Attributes::SignalExternalWorkflowExecutionCommandAttributes(wanted) => {
                external::signal(tx, *wanted, completed, note)?;
            }
            Attributes::RequestCancelExternalWorkflowExecutionCommandAttributes(wanted) => {
                external::cancel(tx, *wanted, completed, note)?;
            }
            Attributes::RecordMarkerCommandAttributes(wanted) => {
                properties::record_marker(tx, *wanted, completed, note)?;
            }
            Attributes::UpsertWorkflowSearchAttributesCommandAttributes(wanted) => {
                properties::upsert_search_attributes(tx, *wanted, completed, note)?;
            }
            Attributes::ModifyWorkflowPropertiesCommandAttributes(wanted) => {
                properties::modify(tx, *wanted, completed, note)?;
            }
            Attributes::ProtocolMessageCommandAttributes(wanted) => {
                update::answer(tx, &self.take_message(&wanted.message_id)?)?;
            }
            Attributes::CompleteWorkflowExecutionCommandAttributes(wanted) => {
                self.complete(tx, wanted.result, note)?;
            }
            Attributes::FailWorkflowExecutionCommandAttributes(wanted) => {
                self.fail(tx, wanted.failure, note)?;
            }
            Attributes::CancelWorkflowExecutionCommandAttributes(wanted) => {
                self.cancel(tx, wanted.details, note)?;
            }
            Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(wanted) => {
                self.before_close(tx)?;
                successor::by_workflow(tx, *wanted, completed, note)?;
            }
            Attributes::ScheduleNexusOperationCommandAttributes(_)
            | Attributes::RequestCancelNexusOperationCommandAttributes(_) => {
                let detail = "Nexus operations are not supported";
                return Err(bad::command(FailedCause::FeatureDisabled, detail));
            }
        }
        Ok(())
    }

    fn complete(
        &mut self,
        tx: &mut Tx<'_>,
        result: Option<common::Payloads>,
        note: Note,
    ) -> Result<(), BadCommand> {
        self.before_close(tx)?;
        // The cause that SDKs expect for a result, of all things.
        let cause = FailedCause::BadScheduleActivityAttributes;
        let what = "CompleteWorkflowExecutionCommandAttributes.Result";
        bad::check_size(cause, what, size::payloads(result.as_ref()), tx.limits)?;
        close::complete(tx, result, self.completed, note);
        Ok(())
    }

    fn fail(
        &mut self,
        tx: &mut Tx<'_>,
        failure: Option<Failure>,
        note: Note,
    ) -> Result<(), BadCommand> {
        self.before_close(tx)?;
        let cause = FailedCause::BadFailWorkflowExecutionAttributes;
        let missing = || bad::command(cause, "Failure is not set on command.");
        let failure = failure.ok_or_else(missing)?;
        let what = "FailWorkflowExecutionCommandAttributes.Failure";
        bad::check_size(cause, what, size::of(Some(&failure)), tx.limits)?;
        close::fail(tx, failure, self.completed, note);
        Ok(())
    }

    fn cancel(
        &mut self,
        tx: &mut Tx<'_>,
        details: Option<common::Payloads>,
        note: Note,
    ) -> Result<(), BadCommand> {
        self.before_close(tx)?;
        let cause = FailedCause::BadCancelWorkflowExecutionAttributes;
        let what = "CancelWorkflowExecutionCommandAttributes.Details";
        bad::check_size(cause, what, size::payloads(details.as_ref()), tx.limits)?;
        close::cancel(tx, details, self.completed, note);
        Ok(())
    }

    /// A workflow may close only when it has seen everything, and has the last word on its updates
    /// before it does.
    fn before_close(&mut self, tx: &mut Tx<'_>) -> Result<(), BadCommand> {
        if !tx.run.buffer.is_empty() {
            return Err(bad::command(FailedCause::UnhandledCommand, ""));
        }
        self.answer_updates(tx)
    }

    /// Takes the messages whose place no command has told.
    fn answer_updates(&mut self, tx: &mut Tx<'_>) -> Result<(), BadCommand> {
        let messages = std::mem::take(&mut self.messages);
        messages.iter().try_for_each(|message| update::answer(tx, message))
    }

    fn take_message(&mut self, id: &str) -> Result<Message, BadCommand> {
        let at = self.messages.iter().position(|message| message.id == id);
        at.map(|at| self.messages.remove(at)).ok_or_else(|| {
            let cause = FailedCause::BadUpdateWorkflowExecutionMessage;
            bad::command(cause, format!("message {id:?} is not part of the completion"))
        })
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
    if !unhandled {
        update::abort_sent(tx);
    }
    let failure = Some(of_server(&refused.to_string(), false));
    workflow_task::write_failed(tx, cause, failure, identity, "");
    if bad.fatal {
        terminate::by_engine(tx, &refused.to_string());
    } else {
        workflow_task::schedule(tx);
        tx.run.state.closing = unhandled;
    }
    tx.out.refused = Some(refused);
    Ok(())
}

/// Every command says what it wants, and one that closes the run is the last.
fn check_order(commands: &[Command]) -> Result<(), Refused> {
    let invalid = |problem: &str| {
        let problem = problem.to_owned();
        Err(Refused::Invalid { field: "commands", problem })
    };
    if commands.iter().any(|command| command.attributes.is_none()) {
        return invalid("a command has no attributes");
    }
    let before = commands.split_last().map_or(commands, |(_, before)| before);
    if before.iter().any(closes) {
        return invalid("a command that closes the workflow must be the last one");
    }
    Ok(())
}

fn closes(command: &Command) -> bool {
    matches!(
        command.attributes,
        Some(
            Attributes::CompleteWorkflowExecutionCommandAttributes(_)
                | Attributes::FailWorkflowExecutionCommandAttributes(_)
                | Attributes::CancelWorkflowExecutionCommandAttributes(_)
                | Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(_)
        )
    )
}

/// Whether the worker only says that it is still at it.
fn is_heartbeat(input: &CompleteWorkflowTask) -> bool {
    input.force_new_task && input.commands.is_empty()
}

fn is_stale_heartbeat(tx: &Tx<'_>, task: &WorkflowTask, input: &CompleteWorkflowTask) -> bool {
    let since = steadfast_retry::Timestamp(task.original_scheduled_at);
    is_heartbeat(input) && tx.now.since(since) > tx.limits.task_heartbeat_max
}

fn set_sticky(tx: &mut Tx<'_>, input: &CompleteWorkflowTask) {
    tx.run.state.sticky = input.sticky.as_ref().and_then(|sticky| {
        let queue = sticky.worker_task_queue.as_ref().filter(|queue| !queue.name.is_empty())?;
        let timeout = match from_wire(sticky.schedule_to_start_timeout.as_ref()) {
            Duration::ZERO => tx.limits.sticky_timeout,
            given => given,
        };
        Some(Sticky {
            queue: queue.name.clone(),
            timeout: i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX),
        })
    });
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
        worker_version: input.worker_version.take(),
        sdk_metadata: input.sdk_metadata.take(),
        metering_metadata: input.metering_metadata.take(),
        versioning_behavior: input.versioning_behavior,
        worker_deployment_name: deployment.map(|it| it.deployment_name).unwrap_or_default(),
        deployment_version: version,
        ..history::WorkflowTaskCompletedEventAttributes::default()
    }
}
