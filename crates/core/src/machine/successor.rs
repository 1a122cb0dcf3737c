//! The run that goes on where one closes: by retry, by cron, or because the workflow wants it.

use std::time::Duration;

use steadfast_proto::{
    command, common,
    enums::{ContinueAsNewInitiator as Initiator, WorkflowTaskFailedCause as FailedCause},
    failure::Failure,
    history,
};
use steadfast_retry::{Decision, RetryState, Seed, Signals, State as Counters, Timestamp, decide};

use crate::{
    bad, cron,
    failure::for_decision,
    input::Start,
    machine::{close, create, setback::Decided},
    policy,
    refused::BadCommand,
    run::Identity,
    size,
    span::{from_wire, kept, to_wire},
    state::{CadenceTerms, Started},
    tx::{Context, Note, Tx},
};

/// What a policy says about a run that failed.
pub(crate) enum Verdict {
    /// It is run again.
    Again {
        /// As this run.
        run_id: String,
        /// After this wait.
        delay: Duration,
        /// Why.
        decided: Decided,
    },
    /// It is not.
    Ends(RetryState, Decided),
}

/// Starts the run that follows a failed one, if its policy says so.
pub(crate) fn by_retry(
    tx: &mut Tx<'_>,
    failure: &Failure,
    last_completion_result: Option<common::Payloads>,
) -> Verdict {
    let started = tx.run.started.clone();
    if tx.run.state.cancel_requested && started.retry_policy.is_some() {
        let words = "fail: cancel requested".to_owned();
        let decided = Decided { words, class: for_decision(failure).class().name(), delay: None };
        return Verdict::Ends(RetryState::CancelRequested, decided);
    }
    let policy = started.retry_policy.as_ref().map(|wire| policy::known(wire).for_workflow());
    let attempt = u32::try_from(started.attempt).unwrap_or(1);
    let counters = Counters::at_attempt(attempt, tx.run.started_at());
    let signals = Signals { deadline: tx.run.state.retries_end(), ..Signals::default() };
    let identity = &tx.run.identity;
    let parts = [identity.namespace_id.as_str(), &identity.workflow_id, &identity.run_id];
    let view = for_decision(failure);
    let seed = Seed::new(&parts);
    let decision = decide(policy.as_ref(), &counters, &view, &signals, tx.now, seed);
    let (words, class) = (decision.to_string(), view.class().name());
    match decision {
        Decision::RetryAt { delay, .. } => {
            let mut next = following(&started, Initiator::Retry, delay);
            next.attempt = started.attempt.saturating_add(1);
            next.continued_failure = Some(failure.clone());
            next.last_completion_result = last_completion_result;
            next.completion_callbacks.clone_from(&started.completion_callbacks);
            let decided = Decided { words, class, delay: Some(delay) };
            Verdict::Again { run_id: begin(tx, next), delay, decided }
        }
        ended @ (Decision::Park { .. } | Decision::Exhausted { .. } | Decision::Fail { .. }) => {
            Verdict::Ends(ended.retry_state(), Decided { words, class, delay: None })
        }
    }
}

/// Starts the run that a cron schedule asks for next, if there is a schedule. A run that failed
/// hands on the result that it was given.
pub(crate) fn by_cron(
    tx: &mut Tx<'_>,
    end: Result<Option<common::Payloads>, &Failure>,
) -> Option<String> {
    let started = tx.run.started.clone();
    if started.cron_schedule.is_empty() || tx.run.state.cancel_requested {
        return None;
    }
    let schedule = cron::parse(&started.cron_schedule).ok()?;
    let last = Timestamp(tx.run.state.execution_at);
    let delay = schedule.wait(last, tx.now)?;
    if kept(tx.run.state.chain_expires_at).is_some_and(|end| tx.now.after(delay) > end) {
        return None;
    }
    let mut next = following(&started, Initiator::CronSchedule, delay);
    next.attempt = 1;
    (next.last_completion_result, next.continued_failure) = match end {
        Ok(result) => (result, None),
        Err(failure) => (started.last_completion_result.clone(), Some(failure.clone())),
    };
    Some(begin(tx, next))
}

/// The workflow wants to go on as a new run.
pub(crate) fn by_workflow(
    tx: &mut Tx<'_>,
    wanted: command::ContinueAsNewWorkflowExecutionCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    check(tx, &wanted)?;
    let started = tx.run.started.clone();
    let lived = tx.now.since(Timestamp(tx.run.state.execution_at));
    let wait = tx.limits.continue_as_new_interval.saturating_sub(lived);
    let backoff = from_wire(wanted.backoff_start_interval.as_ref()).max(wait);
    let mut next = following(&started, Initiator::Workflow, backoff);
    next.attempt = 1;
    next.workflow_type = wanted.workflow_type.clone().filter(|kind| !kind.name.is_empty());
    next.workflow_type = next.workflow_type.or_else(|| started.workflow_type.clone());
    let queue = wanted.task_queue.clone().filter(|queue| !queue.name.is_empty());
    next.task_queue = queue.or_else(|| started.task_queue.clone());
    let or =
        |wanted: Option<_>, old| if from_wire(wanted.as_ref()).is_zero() { old } else { wanted };
    next.workflow_run_timeout = or(wanted.workflow_run_timeout, started.workflow_run_timeout);
    next.workflow_task_timeout = or(wanted.workflow_task_timeout, started.workflow_task_timeout);
    next.input.clone_from(&wanted.input);
    next.header.clone_from(&wanted.header);
    next.memo.clone_from(&wanted.memo);
    next.search_attributes.clone_from(&wanted.search_attributes);
    next.last_completion_result.clone_from(&wanted.last_completion_result);
    next.continued_failure.clone_from(&wanted.failure);
    next.cron_schedule.clone_from(&wanted.cron_schedule);
    next.retry_policy = match &wanted.retry_policy {
        None => None,
        Some(policy) => Some(policy::checked(policy).map_err(|fault| {
            bad::command(FailedCause::BadContinueAsNewAttributes, fault.to_string())
        })?),
    };
    next.completion_callbacks.clone_from(&started.completion_callbacks);
    let new_execution_run_id = begin(tx, next.clone());
    close::close_noted(tx, continued(wanted, next, new_execution_run_id, completed), note);
    Ok(())
}

/// What a run that follows another one has in common with it, taken from its first event.
fn following(started: &Started, initiator: Initiator, backoff: Duration) -> Started {
    Started {
        initiator: initiator.into(),
        first_workflow_task_backoff: to_wire(backoff),
        continued_execution_run_id: String::new(),
        continued_failure: None,
        last_completion_result: None,
        completion_callbacks: Vec::new(),
        eager_execution_accepted: false,
        ..started.clone()
    }
}

/// Creates the run as part of this transition.
fn begin(tx: &mut Tx<'_>, mut started: Started) -> String {
    let initiator = started.initiator();
    let run_id = tx.entropy.run_id(tx.now);
    started.continued_execution_run_id.clone_from(&tx.run.identity.run_id);
    started.parent_workflow_execution = tx.run.parent();
    started.original_execution_run_id.clone_from(&run_id);
    let start = Start {
        identity: Identity { run_id: run_id.clone(), ..tx.run.identity.clone() },
        started,
        user_metadata: tx.run.user_metadata().cloned(),
        links: Vec::new(),
        // Whoever asks again for what began the chain must find it, however far it has gone on.
        request_id: tx.run.state.create_request_id.clone(),
        signal: None,
        cadence: following_terms(tx, initiator),
        scheduled_by: tx.run.state.scheduled_by.clone(),
    };
    let entropy = tx.entropy.split();
    let context =
        Context { now: tx.now, entropy, limits: tx.limits, rules: tx.rules, company: tx.company };
    let (mut run, transition) = create::create(start, context);
    if initiator == Initiator::Retry {
        tx.run.first_tried_run_id().clone_into(&mut run.state.first_tried_run_id);
    }
    tx.out.successor = Some(Box::new((run, transition)));
    run_id
}

/// A retry goes on with what is left of the expiration, any other run has all of it.
fn following_terms(tx: &Tx<'_>, initiator: Initiator) -> Option<CadenceTerms> {
    let terms = tx.run.state.cadence?;
    let is_retry = initiator == Initiator::Retry;
    Some(if is_retry { terms } else { CadenceTerms { expires_at: 0, ..terms } })
}

fn check(
    tx: &Tx<'_>,
    wanted: &command::ContinueAsNewWorkflowExecutionCommandAttributes,
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadContinueAsNewAttributes;
    let limits = tx.limits;
    let kind = wanted.workflow_type.as_ref().map_or("", |kind| &kind.name);
    bad::check_length(cause, "WorkflowType", kind, limits)?;
    let queue = wanted.task_queue.as_ref().map_or("", |queue| &queue.name);
    bad::check_length(cause, "TaskQueue", queue, limits)?;
    bad::check_span(cause, "WorkflowRunTimeout", wanted.workflow_run_timeout.as_ref())?;
    bad::check_span(cause, "WorkflowTaskTimeout", wanted.workflow_task_timeout.as_ref())?;
    bad::check_span(cause, "BackoffStartInterval", wanted.backoff_start_interval.as_ref())?;
    if !wanted.cron_schedule.is_empty() {
        cron::parse(&wanted.cron_schedule)
            .map_err(|fault| bad::command(cause, format!("invalid CronSchedule: {fault}")))?;
    }
    let bytes = size::payloads(wanted.input.as_ref());
    bad::check_size(cause, "ContinueAsNewWorkflowExecutionCommandAttributes.Input", bytes, limits)?;
    let bytes = size::of(wanted.memo.as_ref());
    bad::check_size(cause, "ContinueAsNewWorkflowExecutionCommandAttributes.Memo", bytes, limits)
}

fn continued(
    wanted: command::ContinueAsNewWorkflowExecutionCommandAttributes,
    next: Started,
    new_execution_run_id: String,
    completed: i64,
) -> history::WorkflowExecutionContinuedAsNewEventAttributes {
    #[expect(deprecated, reason = "kept as the command carried it")]
    history::WorkflowExecutionContinuedAsNewEventAttributes {
        new_execution_run_id,
        workflow_type: next.workflow_type,
        task_queue: next.task_queue,
        input: wanted.input,
        workflow_run_timeout: next.workflow_run_timeout,
        workflow_task_timeout: next.workflow_task_timeout,
        workflow_task_completed_event_id: completed,
        backoff_start_interval: wanted.backoff_start_interval,
        initiator: Initiator::Workflow.into(),
        failure: wanted.failure,
        last_completion_result: wanted.last_completion_result,
        header: wanted.header,
        memo: wanted.memo,
        search_attributes: wanted.search_attributes,
        inherit_build_id: wanted.inherit_build_id,
        initial_versioning_behavior: wanted.initial_versioning_behavior,
    }
}
