//! A child workflow.
//!
//! ```text
//!            initiated               started                  closed
//!  (absent) ───────────▶ Initiated ─────────▶ Started ──────────────────▶ (absent)
//!                            │ could not be started                ▲
//!                            ▼                                     │
//!                         (absent)      Initiated ── closed ───────┘ (started is written first)
//! ```
//!
//! Starting it, and hearing of its end, may be repeated after a crash: what is known already
//! changes nothing.

use std::time::Duration;

use steadfast_proto::{
    command, common,
    enums::{
        ParentClosePolicy, TaskQueueKind, WorkflowIdReusePolicy as ReusePolicy,
        WorkflowTaskFailedCause as FailedCause,
    },
    history::{self, history_event::Attributes},
    taskqueue,
};

use crate::{
    bad, cron,
    input::{ChildClosed, ChildStartFailed, ChildStarted},
    machine::workflow_task,
    policy,
    refused::{BadCommand, Refused},
    size,
    span::{from_wire, limit_to_wire, shorter, to_wire},
    state::Child,
    transition::Effect,
    tx::{Note, Tx},
};

const CAUSE: FailedCause = FailedCause::BadStartChildExecutionAttributes;

/// The workflow wants a child.
pub(crate) fn initiate(
    tx: &mut Tx<'_>,
    wanted: command::StartChildWorkflowExecutionCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    check(tx, &wanted)?;
    let retry_policy = match &wanted.retry_policy {
        None => None,
        Some(given) => {
            Some(policy::checked(given).map_err(|fault| bad::command(CAUSE, fault.to_string()))?)
        }
    };
    let event = initiated(tx, wanted, retry_policy, completed);
    let initiated_event_id = tx.append_noted(event, note);
    tx.effect(Effect::StartChild { initiated_event_id });
    Ok(())
}

/// It runs.
pub(crate) fn started(tx: &mut Tx<'_>, input: &ChildStarted) -> Result<(), Refused> {
    let child = tx.run.children.get(&input.initiated_event_id).ok_or(Refused::WrongRun)?;
    if !child.row.run_id.is_empty() {
        return Ok(());
    }
    write_started(tx, input.initiated_event_id, &input.run_id);
    workflow_task::want(tx);
    Ok(())
}

/// It could not be started.
#[expect(deprecated, reason = "`control` is echoed for older workers")]
pub(crate) fn start_failed(tx: &mut Tx<'_>, input: &ChildStartFailed) -> Result<(), Refused> {
    let id = input.initiated_event_id;
    let child = tx.run.children.get(&id).ok_or(Refused::WrongRun)?;
    if !child.row.run_id.is_empty() {
        return Err(Refused::WrongRun);
    }
    let asked = child.initiated.clone();
    tx.happen(history::StartChildWorkflowExecutionFailedEventAttributes {
        namespace: asked.namespace.clone(),
        namespace_id: asked.namespace_id.clone(),
        workflow_id: asked.workflow_id.clone(),
        workflow_type: asked.workflow_type.clone(),
        cause: input.cause.into(),
        control: asked.control.clone(),
        initiated_event_id: id,
        workflow_task_completed_event_id: asked.workflow_task_completed_event_id,
    });
    workflow_task::want(tx);
    Ok(())
}

/// It has closed, and no other run of it goes on.
pub(crate) fn closed(tx: &mut Tx<'_>, input: ChildClosed) -> Result<(), Refused> {
    let id = input.initiated_event_id;
    let child = tx.run.children.get(&id).ok_or(Refused::WrongRun)?;
    if child.row.run_id.is_empty() {
        write_started(tx, id, &input.first_run_id);
    }
    let child = tx.run.children.get(&id).cloned().ok_or(Refused::WrongRun)?;
    if child.row.run_id != input.first_run_id {
        return Err(Refused::WrongRun);
    }
    let Some(event) = end(&child, id, input.execution, input.close) else {
        return Err(Refused::WrongRun);
    };
    tx.happen(event);
    workflow_task::want(tx);
    Ok(())
}

fn write_started(tx: &mut Tx<'_>, id: i64, run_id: &str) {
    let Some(child) = tx.run.children.get(&id) else { return };
    let asked = child.initiated.clone();
    tx.happen(history::ChildWorkflowExecutionStartedEventAttributes {
        namespace: asked.namespace.clone(),
        namespace_id: asked.namespace_id.clone(),
        initiated_event_id: id,
        workflow_execution: Some(common::WorkflowExecution {
            workflow_id: asked.workflow_id.clone(),
            run_id: run_id.to_owned(),
        }),
        workflow_type: asked.workflow_type.clone(),
        header: asked.header.clone(),
    });
}

#[expect(deprecated, reason = "older workers still name the namespace")]
fn check(
    tx: &Tx<'_>,
    wanted: &command::StartChildWorkflowExecutionCommandAttributes,
) -> Result<(), BadCommand> {
    let limits = tx.limits;
    bad::check_name(CAUSE, "WorkflowId", &wanted.workflow_id, limits)?;
    let kind = wanted.workflow_type.as_ref().map_or("", |kind| &kind.name);
    bad::check_name(CAUSE, "WorkflowType", kind, limits)?;
    let queue = wanted.task_queue.as_ref().map_or("", |queue| &queue.name);
    bad::check_length(CAUSE, "TaskQueue", queue, limits)?;
    let execution = wanted.workflow_execution_timeout.as_ref();
    bad::check_span(CAUSE, "WorkflowExecutionTimeout", execution)?;
    bad::check_span(CAUSE, "WorkflowRunTimeout", wanted.workflow_run_timeout.as_ref())?;
    bad::check_span(CAUSE, "WorkflowTaskTimeout", wanted.workflow_task_timeout.as_ref())?;
    if !wanted.namespace.is_empty() && wanted.namespace != tx.run.identity.namespace {
        let detail = format!("a child cannot be started in namespace {:?}", wanted.namespace);
        return Err(bad::command(CAUSE, detail));
    }
    if !wanted.cron_schedule.is_empty() {
        cron::parse(&wanted.cron_schedule)
            .map_err(|fault| bad::command(CAUSE, format!("invalid CronSchedule: {fault}")))?;
    }
    let bytes = size::payloads(wanted.input.as_ref());
    bad::check_size(CAUSE, "StartChildWorkflowExecutionCommandAttributes.Input", bytes, limits)?;
    let bytes = size::of(wanted.memo.as_ref());
    bad::check_size(CAUSE, "StartChildWorkflowExecutionCommandAttributes.Memo", bytes, limits)?;
    let cause = FailedCause::PendingChildWorkflowsLimitExceeded;
    bad::check_pending(cause, "child workflows", tx.run.children.len(), limits)
}

#[expect(deprecated, reason = "`control` is kept as the command has it")]
fn initiated(
    tx: &Tx<'_>,
    wanted: command::StartChildWorkflowExecutionCommandAttributes,
    retry_policy: Option<common::RetryPolicy>,
    completed: i64,
) -> history::StartChildWorkflowExecutionInitiatedEventAttributes {
    let close_policy = match wanted.parent_close_policy() {
        ParentClosePolicy::Unspecified => ParentClosePolicy::Terminate,
        given @ (ParentClosePolicy::Terminate
        | ParentClosePolicy::Abandon
        | ParentClosePolicy::RequestCancel) => given,
    };
    let reuse_policy = Some(wanted.workflow_id_reuse_policy())
        .filter(|policy| *policy != ReusePolicy::Unspecified)
        .unwrap_or(ReusePolicy::AllowDuplicate);
    let name = wanted.task_queue.map(|queue| queue.name).filter(|name| !name.is_empty());
    let task_queue = taskqueue::TaskQueue {
        name: name.unwrap_or_else(|| tx.run.task_queue().to_owned()),
        kind: TaskQueueKind::Normal.into(),
        normal_name: String::new(),
    };
    let execution_timeout = from_wire(wanted.workflow_execution_timeout.as_ref());
    let run_timeout = from_wire(wanted.workflow_run_timeout.as_ref());
    let task_timeout = match from_wire(wanted.workflow_task_timeout.as_ref()) {
        Duration::ZERO => tx.limits.task_timeout,
        given => given.min(tx.limits.task_timeout_max),
    };
    history::StartChildWorkflowExecutionInitiatedEventAttributes {
        namespace: tx.run.identity.namespace.clone(),
        namespace_id: tx.run.identity.namespace_id.clone(),
        workflow_id: wanted.workflow_id,
        workflow_type: wanted.workflow_type,
        task_queue: Some(task_queue),
        input: wanted.input,
        workflow_execution_timeout: limit_to_wire(execution_timeout),
        workflow_run_timeout: limit_to_wire(shorter(run_timeout, execution_timeout)),
        workflow_task_timeout: to_wire(task_timeout),
        parent_close_policy: close_policy.into(),
        control: wanted.control,
        workflow_task_completed_event_id: completed,
        workflow_id_reuse_policy: reuse_policy.into(),
        retry_policy,
        cron_schedule: wanted.cron_schedule,
        header: wanted.header,
        memo: wanted.memo,
        search_attributes: wanted.search_attributes,
        priority: wanted.priority.or_else(|| tx.run.started.priority.clone()),
        versioning_override: wanted.versioning_override,
        ..history::StartChildWorkflowExecutionInitiatedEventAttributes::default()
    }
}

/// The parent's event for the child's last one; `None` if that was not an end.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events are no ends")]
fn end(
    child: &Child,
    initiated_event_id: i64,
    execution: common::WorkflowExecution,
    close: Attributes,
) -> Option<Attributes> {
    let asked = &child.initiated;
    let namespace = asked.namespace.clone();
    let namespace_id = asked.namespace_id.clone();
    let workflow_execution = Some(execution);
    let workflow_type = asked.workflow_type.clone();
    let started_event_id = child.row.started_event_id;
    Some(match close {
        Attributes::WorkflowExecutionCompletedEventAttributes(close) => {
            history::ChildWorkflowExecutionCompletedEventAttributes {
                result: close.result,
                namespace,
                namespace_id,
                workflow_execution,
                workflow_type,
                initiated_event_id,
                started_event_id,
            }
            .into()
        }
        Attributes::WorkflowExecutionFailedEventAttributes(close) => {
            history::ChildWorkflowExecutionFailedEventAttributes {
                failure: close.failure,
                namespace,
                namespace_id,
                workflow_execution,
                workflow_type,
                initiated_event_id,
                started_event_id,
                retry_state: close.retry_state,
            }
            .into()
        }
        Attributes::WorkflowExecutionCanceledEventAttributes(close) => {
            history::ChildWorkflowExecutionCanceledEventAttributes {
                details: close.details,
                namespace,
                namespace_id,
                workflow_execution,
                workflow_type,
                initiated_event_id,
                started_event_id,
            }
            .into()
        }
        Attributes::WorkflowExecutionTimedOutEventAttributes(close) => {
            history::ChildWorkflowExecutionTimedOutEventAttributes {
                namespace,
                namespace_id,
                workflow_execution,
                workflow_type,
                initiated_event_id,
                started_event_id,
                retry_state: close.retry_state,
            }
            .into()
        }
        Attributes::WorkflowExecutionTerminatedEventAttributes(_) => {
            history::ChildWorkflowExecutionTerminatedEventAttributes {
                namespace,
                namespace_id,
                workflow_execution,
                workflow_type,
                initiated_event_id,
                started_event_id,
            }
            .into()
        }
        _ => return None,
    })
}
