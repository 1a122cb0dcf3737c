//! The workflow that a schedule starts: its first event.

use std::time::Duration;

use steadfast_core::{Started, Timestamp, policy, schedule::Pending, schedule::Schedule};
use steadfast_proto::{common, workflow::NewWorkflowExecutionInfo};
use steadfast_store::SearchType;

use crate::{
    namespaces::Namespace,
    start,
    visibility::{self, Schema},
};

/// Who starts the workflows of a schedule.
pub(crate) fn identity(namespace: &Namespace, schedule_id: &str) -> String {
    format!("temporal-scheduler-{}-{schedule_id}", namespace.name)
}

/// The first event of a workflow that a schedule starts.
pub(crate) fn started(
    namespace: &Namespace,
    schedule_id: &str,
    schedule: &Schedule,
    pending: &Pending,
) -> impl FnOnce(&str, Timestamp) -> Started + use<> {
    let action = schedule.action().cloned().unwrap_or_default();
    let schema = Schema::new(namespace.search_attributes());
    let attributes = attributes(&action, schedule_id, Timestamp(pending.nominal));
    let attributes = visibility::with_types(attributes, &schema);
    let state = schedule.state();
    let started = Started {
        workflow_type: action.workflow_type,
        task_queue: action.task_queue,
        input: action.input,
        workflow_execution_timeout: action.workflow_execution_timeout,
        workflow_run_timeout: action.workflow_run_timeout,
        workflow_task_timeout: action.workflow_task_timeout,
        continued_failure: state.continued_failure.clone(),
        last_completion_result: state.last_completion_result.clone(),
        identity: identity(namespace, schedule_id),
        // It was checked when the schedule was made.
        retry_policy: action.retry_policy.as_ref().and_then(|it| policy::checked(it).ok()),
        memo: action.memo,
        search_attributes: Some(attributes),
        header: action.header,
        workflow_id: pending.workflow_id.clone(),
        versioning_override: action.versioning_override,
        priority: action.priority,
        ..Started::default()
    };
    let limits = std::sync::Arc::clone(&namespace.limits);
    move |run_id, now| start::resolved(started, run_id, Duration::ZERO, now, &limits)
}

/// The action's own search attributes, and which schedule started it when.
fn attributes(
    action: &NewWorkflowExecutionInfo,
    schedule_id: &str,
    nominal: Timestamp,
) -> common::SearchAttributes {
    let mut attributes = action.search_attributes.clone().unwrap_or_default();
    let at = visibility::instant_text(nominal);
    for (name, value, kind) in [
        ("TemporalScheduledById", schedule_id, SearchType::Keyword),
        ("TemporalScheduledStartTime", at.as_str(), SearchType::Datetime),
    ] {
        let payload = visibility::payload(&value.into(), kind);
        attributes.indexed_fields.insert(name.to_owned(), payload);
    }
    attributes
}
