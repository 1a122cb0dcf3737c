//! What each input does to a run: the one place where all of them are told apart.

use steadfast_retry::Timestamp;

use crate::{
    completion,
    deadline::Deadline,
    input::{Input, Start},
    machine::{
        acknowledge, activity, activity_change, activity_options, activity_park, activity_retry,
        attach, cancel, child, close, create, external, parent, run_resume, signal, task_park,
        tell, terminate, timer, update, workflow_task,
    },
    refused::Refused,
    run::Run,
    span::kept,
    transition::{Effect, Transition},
    tx::{Context, Tx},
};

impl Run {
    /// Begins a run.
    pub fn create(start: Start, context: Context<'_>) -> (Self, Transition) {
        create::create(start, context)
    }

    /// Takes one input. When it is refused, nothing has changed.
    pub fn apply(&mut self, input: Input, context: Context<'_>) -> Result<Transition, Refused> {
        let mut tx = Tx::begin(self, context);
        match take(&mut tx, input) {
            Ok(()) => {
                workflow_task::schedule_wanted(&mut tx);
                keep_within_limits(&mut tx);
                tell::of_failures(&mut tx);
                Ok(tx.commit())
            }
            Err(why) => Err(tx.refuse(why)),
        }
    }
}

fn take(tx: &mut Tx<'_>, input: Input) -> Result<(), Refused> {
    if !tx.run.is_open() {
        return take_closed(tx, &input);
    }
    match input {
        Input::Signal(input) => signal::receive(tx, input),
        Input::Attach(input) => attach::receive(tx, *input),
        Input::RequestCancel(input) => cancel::request(tx, input),
        Input::Terminate(input) => terminate::request(tx, input),
        Input::AdmitUpdate(request) => update::admit(tx, request),
        Input::ResetSticky => {
            workflow_task::reset_sticky(tx);
            Ok(())
        }
        Input::StartWorkflowTask(input) => workflow_task::start(tx, input),
        Input::CompleteWorkflowTask(input) => completion::complete(tx, *input),
        Input::FailWorkflowTask(input) => workflow_task::report_failure(tx, input),
        Input::StartActivity(input) => activity::start(tx, input),
        Input::ReturnActivity(token) => activity::give_back(tx, &token),
        Input::CompleteActivity(input) => activity::complete(tx, input),
        Input::FailActivity(input) => activity_retry::report_failure(tx, input),
        Input::CancelActivity(input) => activity::cancel(tx, input),
        Input::Heartbeat(input) => activity::heartbeat(tx, input),
        Input::PauseActivity(input) => activity_options::pause(tx, &input),
        Input::UnpauseActivity(input) => activity_options::unpause(tx, &input),
        Input::ResetActivity(input) => activity_options::reset(tx, &input),
        Input::UpdateActivityOptions(input) => activity_options::update(tx, &input),
        Input::ParkActivity(input) => activity_park::park(tx, &input),
        Input::ResumeActivity(input) => activity_park::resume(tx, &input),
        Input::ScheduleResume(input) => activity_park::schedule_resume(tx, &input),
        Input::ClearResume(input) => activity_park::clear_resume(tx, &input),
        Input::GiveUpActivity(input) => activity_park::give_up(tx, &input),
        Input::RetryNow(input) => activity_change::retry_now(tx, &input),
        Input::ChangeActivity(input) => activity_change::change(tx, &input),
        Input::ResumeTask(input) => task_park::resume(tx, &input),
        Input::AcknowledgeError(input) => acknowledge::acknowledge(tx, &input),
        Input::SweepChanged => {
            activity_park::look_again(tx);
            Ok(())
        }
        // An open run that is reset ends by it.
        Input::Resumed(_) => Ok(()),
        Input::ChildStarted(input) => child::started(tx, &input),
        Input::ChildStartFailed(input) => child::start_failed(tx, &input),
        Input::ChildClosed(input) => child::closed(tx, *input),
        Input::Adopt(input) => parent::adopt(tx, &input),
        Input::ExternalAnswered(input) => external::answered(tx, &input),
        Input::MessageDelivered(number) => {
            tx.run.messages.remove(&number);
            Ok(())
        }
        Input::TakeBack(process) => {
            activity_retry::take_back(tx, process);
            workflow_task::take_back(tx, process);
            Ok(())
        }
        Input::Tick => {
            tick(tx);
            Ok(())
        }
    }
}

/// A closed run takes nothing but what it waits for to be gone, a new parent, that somebody has taken
/// note of its errors, and what is about its resume.
fn take_closed(tx: &mut Tx<'_>, input: &Input) -> Result<(), Refused> {
    match input {
        // Whoever wants it to end has what he wants, and no worker has anything of it.
        Input::RequestCancel(_) | Input::TakeBack(_) => Ok(()),
        Input::Adopt(input) => parent::adopt(tx, input),
        Input::AcknowledgeError(input) => acknowledge::acknowledge(tx, input),
        Input::Resumed(by) => {
            run_resume::resumed(tx, *by);
            Ok(())
        }
        Input::ScheduleResume(input) => run_resume::schedule(tx, input),
        Input::ClearResume(input) => run_resume::clear(tx, input),
        Input::SweepChanged => {
            run_resume::look_again(tx);
            Ok(())
        }
        Input::MessageDelivered(number) => {
            tx.run.messages.remove(number);
            Ok(())
        }
        Input::Tick => {
            if tx.run.state.resume.is_some() {
                run_resume::due(tx);
            } else if kept(tx.run.state.delete_at).is_some_and(|at| at <= tx.now) {
                tx.effect(Effect::Delete);
            }
            Ok(())
        }
        Input::StartWorkflowTask(_)
        | Input::CompleteWorkflowTask(_)
        | Input::FailWorkflowTask(_) => Err(Refused::TaskNotFound),
        Input::Signal(_)
        | Input::Attach(_)
        | Input::Terminate(_)
        | Input::AdmitUpdate(_)
        | Input::ResetSticky
        | Input::StartActivity(_)
        | Input::ReturnActivity(_)
        | Input::CompleteActivity(_)
        | Input::FailActivity(_)
        | Input::CancelActivity(_)
        | Input::Heartbeat(_)
        | Input::PauseActivity(_)
        | Input::UnpauseActivity(_)
        | Input::ResetActivity(_)
        | Input::UpdateActivityOptions(_)
        | Input::ParkActivity(_)
        | Input::ResumeActivity(_)
        | Input::GiveUpActivity(_)
        | Input::RetryNow(_)
        | Input::ChangeActivity(_)
        | Input::ResumeTask(_)
        | Input::ChildStarted(_)
        | Input::ChildStartFailed(_)
        | Input::ChildClosed(_)
        | Input::ExternalAnswered(_) => Err(Refused::Closed),
    }
}

/// Does everything that is due. Each thing looks again whether it still is: one before it may have
/// changed that.
fn tick(tx: &mut Tx<'_>) {
    for what in tx.run.deadlines.due(tx.now) {
        if !tx.run.is_open() {
            return;
        }
        match what {
            Deadline::Chain if is_due(tx, tx.run.state.chain_expires_at) => {
                close::time_out(tx, true);
            }
            Deadline::Run if is_due(tx, tx.run.state.run_expires_at) => {
                let chain = tx.run.state.chain_expires_at;
                close::time_out(tx, is_due(tx, chain));
            }
            Deadline::Backoff if is_due(tx, tx.run.state.backoff_until) => {
                workflow_task::backoff_is_over(tx);
            }
            Deadline::Task if tx.run.state.task_deadline().is_some_and(|at| at <= tx.now) => {
                workflow_task::time_out(tx);
            }
            Deadline::Timer(id) => timer::due(tx, id),
            Deadline::Activity(id) => activity_retry::due(tx, id),
            Deadline::Chain
            | Deadline::Run
            | Deadline::Backoff
            | Deadline::Task
            | Deadline::Resume
            | Deadline::Delete => {}
        }
    }
}

fn is_due(tx: &Tx<'_>, nanos: i64) -> bool {
    kept(nanos).is_some_and(|at: Timestamp| at <= tx.now)
}

/// A run that grows without end is stopped before it harms others.
fn keep_within_limits(tx: &mut Tx<'_>) {
    if !tx.run.is_open() {
        return;
    }
    let bytes = usize::try_from(tx.run.state.buffered_bytes).unwrap_or_default();
    if tx.run.buffer.len() > tx.limits.buffered_events_max || bytes > tx.limits.buffered_bytes_max {
        let cause = steadfast_proto::enums::WorkflowTaskFailedCause::ForceCloseCommand;
        workflow_task::fail(tx, cause, None, workflow_task::ENGINE, "");
    }
    if tx.run.last_event_id() > tx.limits.history_events_max {
        terminate::by_engine(tx, "Workflow history count exceeds limit.");
    } else if tx.run.state.history_bytes > tx.limits.history_bytes_max {
        terminate::by_engine(tx, "Workflow history size exceeds limit.");
    }
}
