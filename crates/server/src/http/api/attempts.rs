//! Every attempt of a workflow: of its activities, of its workflow tasks, and of its run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use steadfast_engine::fingerprint;
use steadfast_proto::common::WorkflowExecution;
use steadfast_store::{AttemptLog, AttemptOutcome, AttemptRow};
use utoipa::{IntoParams, ToSchema};

use super::{
    call::Call,
    errors::{Subject, subject},
    fault::Fault,
    input::Query,
    wire::{Span, Time},
};

/// Which run of the workflow.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(rename_all = "camelCase", parameter_in = Query)]
pub(super) struct OfRun {
    /// The run; the latest if it is not said.
    run_id: Option<String>,
}

/// The attempts of a workflow.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Attempts {
    /// What was tried: activities in the order in which they were scheduled.
    tried: Vec<Tried>,
}

/// What was tried, and how often.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tried {
    subject: Subject,
    /// The event that scheduled the activity; 0 for the run, -1 for its workflow task.
    event_id: i64,
    activity_id: String,
    activity_type: String,
    /// The first five and the last fifty.
    attempts: Vec<Attempt>,
    /// Of those between: how many had which fingerprint.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    dropped: BTreeMap<String, u64>,
}

/// One attempt.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Attempt {
    /// From 1.
    #[serde(rename = "attempt")]
    number: u32,
    outcome: OutcomeName,
    /// Who ran it.
    worker: String,
    /// When it was due.
    scheduled_at: Time,
    /// When a worker took it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Time>,
    ended_at: Time,
    #[serde(skip_serializing_if = "String::is_empty")]
    error_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// The kind of trouble: transient, throttle, timeout, …
    #[serde(skip_serializing_if = "String::is_empty")]
    class: String,
    /// What was decided, and why.
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    /// The rule that decided.
    #[serde(skip_serializing_if = "String::is_empty")]
    rule: String,
    /// Who wrote that rule: operator, call site, …
    #[serde(skip_serializing_if = "String::is_empty")]
    layer: String,
    /// The policy that it is from, with its version if it is an operator's.
    #[serde(skip_serializing_if = "String::is_empty")]
    policy: String,
    /// How long to wait, as it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Span>,
    /// Where the delay comes from: backoff, `next_delay`, `retry_after`, operator, resume.
    #[serde(skip_serializing_if = "String::is_empty")]
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<Time>,
    /// Whether it was parked after this attempt.
    parked: bool,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AttemptOutcome)]
pub(super) enum OutcomeName {
    Failed,
    TimedOut,
    Completed,
    Cancelled,
}

/// Lists them.
pub(super) async fn list(call: Call, Query(of): Query<OfRun>) -> Result<Attempts, Fault> {
    let execution = WorkflowExecution {
        workflow_id: call.part("workflowId").to_owned(),
        run_id: of.run_id.unwrap_or_default(),
    };
    let logs = call.engine.workflow_attempts(&call.namespace, &execution).await?;
    Ok(Attempts { tried: logs.into_iter().map(Tried::from).collect() })
}

impl From<AttemptLog> for Tried {
    fn from(log: AttemptLog) -> Self {
        let first = log.rows.first().cloned().unwrap_or_default();
        let dropped =
            log.dropped.into_iter().map(|(print, count)| (fingerprint::text(print), count));
        Self {
            subject: subject(first.activity),
            event_id: first.activity,
            activity_id: first.activity_id,
            activity_type: first.activity_type,
            attempts: log.rows.into_iter().map(Attempt::from).collect(),
            dropped: dropped.collect(),
        }
    }
}

impl From<AttemptRow> for Attempt {
    fn from(row: AttemptRow) -> Self {
        let outcome = match row.outcome {
            AttemptOutcome::Failed => OutcomeName::Failed,
            AttemptOutcome::TimedOut => OutcomeName::TimedOut,
            AttemptOutcome::Completed => OutcomeName::Completed,
            AttemptOutcome::Cancelled => OutcomeName::Cancelled,
        };
        Self {
            number: row.attempt,
            outcome,
            worker: row.worker,
            scheduled_at: Time(row.scheduled_at),
            started_at: row.started_at.map(Time),
            ended_at: Time(row.ended_at),
            error_type: row.error_type,
            message: row.message,
            fingerprint: (row.fingerprint != 0).then(|| fingerprint::text(row.fingerprint)),
            class: row.class,
            why: row.why,
            rule: row.rule,
            layer: row.layer,
            policy: row.policy,
            delay: row.delay.map(Span),
            source: row.source,
            next_at: row.next_at.map(Time),
            parked: row.parked,
        }
    }
}
