//! Starting a run: whether it may be, and what its first event says.

use std::time::Duration;

use steadfast_core::{Identity, Run, Started, Terminate, Timestamp, cron, span};
use steadfast_proto::{
    common,
    enums::{
        ContinueAsNewInitiator, TaskQueueKind, WorkflowExecutionStatus as Status,
        WorkflowIdConflictPolicy as Conflict, WorkflowIdReusePolicy as Reuse,
    },
    errordetails::WorkflowExecutionAlreadyStartedFailure,
    history::StartChildWorkflowExecutionInitiatedEventAttributes as Initiated,
    taskqueue,
};

use crate::error::{Code, Detail, Error};

/// What to do when the workflow id is taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct StartPolicy {
    reuse: Reuse,
    conflict: Conflict,
}

/// What is to be done about a start.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Create the run.
    Create,
    /// Terminate the run that is open, and create the new one.
    Replace,
    /// It is there already.
    Existing {
        /// The run.
        run_id: String,
        /// Whether this very request created it.
        by_this_request: bool,
    },
    /// It may not be started.
    Refuse(Box<Error>),
}

/// The parent of a child that is started.
#[derive(Clone, Debug)]
pub(crate) struct ParentLink {
    pub(crate) identity: Identity,
    pub(crate) initiated_event_id: i64,
    pub(crate) root: common::WorkflowExecution,
}

impl StartPolicy {
    /// What a start request asks for; what it leaves open is as users expect.
    pub(crate) fn of_start(reuse: Reuse, conflict: Conflict) -> Result<Self, Error> {
        Self::checked(reuse, conflict, Conflict::Fail)
    }

    /// What a signal-with-start asks for.
    pub(crate) fn of_signal(reuse: Reuse, conflict: Conflict) -> Result<Self, Error> {
        if conflict == Conflict::Fail {
            return Err(Error::invalid(
                "workflow_id_conflict_policy: FAIL is not possible with a signal, which goes to \
                 the run that is open; use USE_EXISTING or TERMINATE_EXISTING",
            ));
        }
        Self::checked(reuse, conflict, Conflict::UseExisting)
    }

    /// What a parent asks for.
    #[expect(deprecated, reason = "children may still ask for it")]
    pub(crate) fn of_child(reuse: Reuse) -> Self {
        match reuse {
            Reuse::TerminateIfRunning => {
                Self { reuse: Reuse::AllowDuplicate, conflict: Conflict::TerminateExisting }
            }
            Reuse::Unspecified => Self { reuse: Reuse::AllowDuplicate, conflict: Conflict::Fail },
            Reuse::AllowDuplicate | Reuse::AllowDuplicateFailedOnly | Reuse::RejectDuplicate => {
                Self { reuse, conflict: Conflict::Fail }
            }
        }
    }

    #[expect(deprecated, reason = "older clients still ask for it")]
    fn checked(reuse: Reuse, conflict: Conflict, otherwise: Conflict) -> Result<Self, Error> {
        if reuse == Reuse::TerminateIfRunning {
            if conflict != Conflict::Unspecified {
                return Err(Error::invalid(
                    "Invalid WorkflowIDReusePolicy: \
                     WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING cannot be used together with a \
                     WorkflowIDConflictPolicy.",
                ));
            }
            return Ok(Self::of_child(reuse));
        }
        if reuse == Reuse::RejectDuplicate && conflict == Conflict::TerminateExisting {
            return Err(Error::invalid(
                "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE cannot \
                 be used together with WorkflowIdConflictPolicy \
                 WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING.",
            ));
        }
        Ok(Self {
            reuse: if reuse == Reuse::Unspecified { Reuse::AllowDuplicate } else { reuse },
            conflict: if conflict == Conflict::Unspecified { otherwise } else { conflict },
        })
    }
}

/// What is to be done about a start, given the newest run with that id.
pub(crate) fn plan(current: Option<&Run>, policy: StartPolicy, request_id: &str) -> Plan {
    let Some(run) = current else { return Plan::Create };
    if !request_id.is_empty() && run.state().create_request_id == request_id {
        return Plan::Existing { run_id: run.first_run_id().to_owned(), by_this_request: true };
    }
    if run.is_open() {
        return match policy.conflict {
            Conflict::UseExisting => {
                let run_id = run.identity().run_id.clone();
                Plan::Existing { run_id, by_this_request: false }
            }
            Conflict::TerminateExisting => Plan::Replace,
            Conflict::Fail | Conflict::Unspecified => {
                let id = run.identity();
                Plan::Refuse(Box::new(taken(
                    run,
                    format!(
                        "Workflow execution is already running. WorkflowId: {}, RunId: {}.",
                        id.workflow_id, id.run_id
                    ),
                )))
            }
        };
    }
    plan_closed(run, policy.reuse)
}

/// What the run that makes room for another one is told.
pub(crate) fn termination(new_run_id: &str) -> Terminate {
    let details = common::Payload::json(format!("\"terminated by new runID: {new_run_id}\""));
    Terminate {
        reason: "TerminateIfRunning WorkflowIdReusePolicy".to_owned(),
        details: Some(common::Payloads { payloads: vec![details] }),
        identity: "history-service".to_owned(),
        ..Terminate::default()
    }
}

/// The first event of a child.
pub(crate) fn of_child(
    asked: &Initiated,
    run_id: &str,
    parent: &ParentLink,
    now: Timestamp,
) -> Started {
    let started = Started {
        workflow_type: asked.workflow_type.clone(),
        parent_workflow_namespace: parent.identity.namespace.clone(),
        parent_workflow_namespace_id: parent.identity.namespace_id.clone(),
        parent_workflow_execution: Some(common::WorkflowExecution {
            workflow_id: parent.identity.workflow_id.clone(),
            run_id: parent.identity.run_id.clone(),
        }),
        parent_initiated_event_id: parent.initiated_event_id,
        root_workflow_execution: Some(parent.root.clone()),
        task_queue: asked.task_queue.clone(),
        input: asked.input.clone(),
        workflow_execution_timeout: asked.workflow_execution_timeout,
        workflow_run_timeout: asked.workflow_run_timeout,
        workflow_task_timeout: asked.workflow_task_timeout,
        retry_policy: asked.retry_policy.clone(),
        cron_schedule: asked.cron_schedule.clone(),
        memo: asked.memo.clone(),
        search_attributes: asked.search_attributes.clone(),
        header: asked.header.clone(),
        workflow_id: asked.workflow_id.clone(),
        priority: asked.priority.clone(),
        ..Started::default()
    };
    resolved(started, run_id, Duration::ZERO, now, &steadfast_core::Limits::default())
}

/// Makes definite what a first event leaves open.
pub(crate) fn resolved(
    mut started: Started,
    run_id: &str,
    delay: Duration,
    now: Timestamp,
    limits: &steadfast_core::Limits,
) -> Started {
    run_id.clone_into(&mut started.original_execution_run_id);
    run_id.clone_into(&mut started.first_execution_run_id);
    started.attempt = 1;
    let (initiator, backoff) = first_backoff(&started.cron_schedule, delay, now);
    started.initiator = initiator.into();
    started.first_workflow_task_backoff = span::to_wire(backoff);
    let execution = span::from_wire(started.workflow_execution_timeout.as_ref());
    let run = span::from_wire(started.workflow_run_timeout.as_ref());
    let run = span::shorter(run, execution);
    let task = match span::from_wire(started.workflow_task_timeout.as_ref()) {
        Duration::ZERO => limits.task_timeout,
        given => given.min(limits.task_timeout_max),
    };
    let task = if run.is_zero() { task } else { task.min(run) };
    started.workflow_execution_timeout = span::limit_to_wire(execution);
    started.workflow_run_timeout = span::limit_to_wire(run);
    started.workflow_task_timeout = span::to_wire(task);
    started.workflow_execution_expiration_time =
        (!execution.is_zero()).then(|| span::instant_to_wire(now.after(backoff).after(execution)));
    if let Some(queue) = &mut started.task_queue {
        *queue = taskqueue::TaskQueue {
            name: std::mem::take(&mut queue.name),
            kind: TaskQueueKind::Normal.into(),
            normal_name: String::new(),
        };
    }
    started
}

fn first_backoff(
    cron_schedule: &str,
    delay: Duration,
    now: Timestamp,
) -> (ContinueAsNewInitiator, Duration) {
    if cron_schedule.is_empty() {
        return (ContinueAsNewInitiator::Unspecified, delay);
    }
    let wait = cron::parse(cron_schedule).ok().and_then(|schedule| schedule.wait(now, now));
    (ContinueAsNewInitiator::CronSchedule, wait.unwrap_or_default())
}

#[expect(deprecated, reason = "all policies are named")]
fn plan_closed(run: &Run, reuse: Reuse) -> Plan {
    let failed = matches!(
        run.status(),
        Status::Failed | Status::Canceled | Status::Terminated | Status::TimedOut
    );
    let id = run.identity();
    let refuse = |how: &str, policy: &str| {
        let message = format!(
            "Workflow execution already finished{how}. WorkflowId: {}, RunId: {}. Workflow Id \
             reuse policy: {policy}.",
            id.workflow_id, id.run_id
        );
        Plan::Refuse(Box::new(taken(run, message)))
    };
    match reuse {
        Reuse::RejectDuplicate => refuse("", "reject duplicate workflow Id"),
        Reuse::AllowDuplicateFailedOnly if !failed => {
            refuse(" successfully", "allow duplicate workflow Id if last run failed")
        }
        Reuse::Unspecified
        | Reuse::AllowDuplicate
        | Reuse::AllowDuplicateFailedOnly
        | Reuse::TerminateIfRunning => Plan::Create,
    }
}

fn taken(run: &Run, message: String) -> Error {
    let detail = WorkflowExecutionAlreadyStartedFailure {
        start_request_id: run.state().create_request_id.clone(),
        run_id: run.identity().run_id.clone(),
        first_execution_run_id: run.first_run_id().to_owned(),
    };
    Error::new(Code::AlreadyExists, message).with(Detail::AlreadyStarted(detail))
}
