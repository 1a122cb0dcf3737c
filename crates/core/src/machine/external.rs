//! A signal or a cancel request to another run.
//!
//! ```text
//!            initiated             delivered, or refused
//!  (absent) ───────────▶ Pending ───────────────────────▶ (absent)
//! ```

use std::sync::Arc;

use steadfast_proto::{
    command, common,
    enums::{
        CancelExternalWorkflowExecutionFailedCause as CancelFailed,
        SignalExternalWorkflowExecutionFailedCause as SignalFailed,
        WorkflowTaskFailedCause as FailedCause,
    },
    history::{
        self, RequestCancelExternalWorkflowExecutionInitiatedEventAttributes as CancelInitiated,
        SignalExternalWorkflowExecutionInitiatedEventAttributes as SignalInitiated,
        history_event::Attributes,
    },
};

use crate::{
    bad,
    input::{ExternalAnswered, ExternalRefused},
    machine::workflow_task,
    refused::{BadCommand, Refused},
    size,
    state::{External, ExternalInitiated},
    transition::Effect,
    tx::{Note, Tx},
};

/// The workflow wants to signal another run.
#[expect(deprecated, reason = "older workers still send `namespace` and `control`")]
pub(crate) fn signal(
    tx: &mut Tx<'_>,
    wanted: command::SignalExternalWorkflowExecutionCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadSignalWorkflowExecutionAttributes;
    let execution = wanted.execution.clone().unwrap_or_default();
    check_target(tx, cause, &wanted.namespace, &execution)?;
    bad::check_name(cause, "SignalName", &wanted.signal_name, tx.limits)?;
    let bytes = size::payloads(wanted.input.as_ref());
    bad::check_size(
        cause,
        "SignalExternalWorkflowExecutionCommandAttributes.Input",
        bytes,
        tx.limits,
    )?;
    check_pending(tx, FailedCause::PendingSignalsLimitExceeded, "signals", |it| {
        matches!(it, ExternalInitiated::Signal(_))
    })?;
    let initiated_event_id = tx.append_noted(
        SignalInitiated {
            workflow_task_completed_event_id: completed,
            namespace: tx.run.identity.namespace.clone(),
            namespace_id: tx.run.identity.namespace_id.clone(),
            workflow_execution: Some(execution),
            signal_name: wanted.signal_name,
            input: wanted.input,
            control: wanted.control,
            child_workflow_only: wanted.child_workflow_only,
            header: wanted.header,
        },
        note,
    );
    tx.effect(Effect::SendExternal { initiated_event_id });
    Ok(())
}

/// The workflow wants another run cancelled.
#[expect(deprecated, reason = "older workers still send `namespace` and `control`")]
pub(crate) fn cancel(
    tx: &mut Tx<'_>,
    wanted: command::RequestCancelExternalWorkflowExecutionCommandAttributes,
    completed: i64,
    note: Note,
) -> Result<(), BadCommand> {
    let cause = FailedCause::BadRequestCancelExternalWorkflowExecutionAttributes;
    let execution = common::WorkflowExecution {
        workflow_id: wanted.workflow_id.clone(),
        run_id: wanted.run_id.clone(),
    };
    check_target(tx, cause, &wanted.namespace, &execution)?;
    if starts_in_this_task(tx, &wanted.workflow_id, completed) {
        let detail =
            format!("start and cancel of child {:?} in the same workflow task", wanted.workflow_id);
        return Err(bad::command(cause, detail));
    }
    let cause = FailedCause::PendingRequestCancelLimitExceeded;
    check_pending(tx, cause, "requests to cancel", |it| {
        matches!(it, ExternalInitiated::Cancel(_))
    })?;
    let initiated_event_id = tx.append_noted(
        CancelInitiated {
            workflow_task_completed_event_id: completed,
            namespace: tx.run.identity.namespace.clone(),
            namespace_id: tx.run.identity.namespace_id.clone(),
            workflow_execution: Some(execution),
            control: wanted.control,
            child_workflow_only: wanted.child_workflow_only,
            reason: wanted.reason,
        },
        note,
    );
    tx.effect(Effect::SendExternal { initiated_event_id });
    Ok(())
}

/// The other run has it, or will not have it. A repeated answer changes nothing.
pub(crate) fn answered(tx: &mut Tx<'_>, input: &ExternalAnswered) -> Result<(), Refused> {
    let id = input.initiated_event_id;
    let Some(External { initiated, .. }) = tx.run.externals.get(&id).cloned() else {
        return Err(Refused::WrongRun);
    };
    let event = match initiated {
        ExternalInitiated::Signal(asked) => signal_answer(&asked, id, input.refused),
        ExternalInitiated::Cancel(asked) => cancel_answer(&asked, id, input.refused),
    };
    tx.happen(event);
    workflow_task::want(tx);
    Ok(())
}

fn check_target(
    tx: &Tx<'_>,
    cause: FailedCause,
    namespace: &str,
    execution: &common::WorkflowExecution,
) -> Result<(), BadCommand> {
    bad::check_name(cause, "WorkflowId", &execution.workflow_id, tx.limits)?;
    if !execution.run_id.is_empty() && uuid::Uuid::try_parse(&execution.run_id).is_err() {
        return Err(bad::command(cause, "Invalid RunId set on command."));
    }
    if !namespace.is_empty() && namespace != tx.run.identity.namespace {
        let detail = format!("a run in namespace {namespace:?} cannot be reached from here");
        return Err(bad::command(cause, detail));
    }
    Ok(())
}

/// They are told apart and counted only when there are so many that it matters.
fn check_pending(
    tx: &Tx<'_>,
    cause: FailedCause,
    what: &str,
    counts: fn(&ExternalInitiated) -> bool,
) -> Result<(), BadCommand> {
    if tx.run.externals.len() < tx.limits.pending_max {
        return Ok(());
    }
    let pending = tx.run.externals.iter().filter(|(_, external)| counts(&external.initiated));
    bad::check_pending(cause, what, pending.count(), tx.limits)
}

fn starts_in_this_task(tx: &Tx<'_>, workflow_id: &str, completed: i64) -> bool {
    let started = tx.run.children.iter().rev().map(|(_, child)| &child.initiated);
    started
        .take_while(|child| child.workflow_task_completed_event_id == completed)
        .any(|child| child.workflow_id == workflow_id)
}

#[expect(deprecated, reason = "`control` is echoed for older workers")]
fn signal_answer(
    asked: &Arc<SignalInitiated>,
    initiated_event_id: i64,
    refused: Option<ExternalRefused>,
) -> Attributes {
    let namespace = asked.namespace.clone();
    let namespace_id = asked.namespace_id.clone();
    let workflow_execution = asked.workflow_execution.clone();
    let control = asked.control.clone();
    let Some(refused) = refused else {
        return history::ExternalWorkflowExecutionSignaledEventAttributes {
            initiated_event_id,
            namespace,
            namespace_id,
            workflow_execution,
            control,
        }
        .into();
    };
    let cause = match refused {
        ExternalRefused::NotFound => SignalFailed::ExternalWorkflowExecutionNotFound,
        ExternalRefused::NamespaceNotFound => SignalFailed::NamespaceNotFound,
        ExternalRefused::SignalLimit => SignalFailed::SignalCountLimitExceeded,
    };
    history::SignalExternalWorkflowExecutionFailedEventAttributes {
        cause: cause.into(),
        workflow_task_completed_event_id: asked.workflow_task_completed_event_id,
        namespace,
        namespace_id,
        workflow_execution,
        initiated_event_id,
        control,
    }
    .into()
}

#[expect(deprecated, reason = "`control` is echoed for older workers")]
fn cancel_answer(
    asked: &Arc<CancelInitiated>,
    initiated_event_id: i64,
    refused: Option<ExternalRefused>,
) -> Attributes {
    let namespace = asked.namespace.clone();
    let namespace_id = asked.namespace_id.clone();
    let workflow_execution = asked.workflow_execution.clone();
    let Some(refused) = refused else {
        return history::ExternalWorkflowExecutionCancelRequestedEventAttributes {
            initiated_event_id,
            namespace,
            namespace_id,
            workflow_execution,
        }
        .into();
    };
    let cause = match refused {
        ExternalRefused::NotFound | ExternalRefused::SignalLimit => {
            CancelFailed::ExternalWorkflowExecutionNotFound
        }
        ExternalRefused::NamespaceNotFound => CancelFailed::NamespaceNotFound,
    };
    history::RequestCancelExternalWorkflowExecutionFailedEventAttributes {
        cause: cause.into(),
        workflow_task_completed_event_id: asked.workflow_task_completed_event_id,
        namespace,
        namespace_id,
        workflow_execution,
        initiated_event_id,
        control: asked.control.clone(),
    }
    .into()
}
