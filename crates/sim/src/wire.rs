//! The few shapes of the public API that actors and the oracle keep building and reading.

use std::time::Duration;

use steadfast_engine::Timestamp;
use steadfast_proto::{
    common::{Payload, Payloads, RetryPolicy, WorkflowExecution, WorkflowType},
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    prost_types,
    taskqueue::TaskQueue,
};

/// The namespace that everything happens in.
pub(crate) const NAMESPACE: &str = "default";
/// The queue that all workflows and activities are on.
pub(crate) const QUEUE: &str = "work";

/// What all workflows are.
pub(crate) const PROGRAM: &str = "Program";
/// What the result of an activity ends with that wrote it into the engine's file as well.
pub(crate) const WITH_EFFECT: &str = " with effect";

/// The type of all workflows.
pub(crate) fn program() -> WorkflowType {
    WorkflowType { name: PROGRAM.to_owned() }
}

/// A text as a payload.
pub(crate) fn payloads(text: &str) -> Payloads {
    Payloads { payloads: vec![Payload::json(format!("{text:?}"))] }
}

/// The text in a payload that [`payloads`] made.
pub(crate) fn text(payloads: Option<&Payloads>) -> String {
    let first = payloads.and_then(|payloads| payloads.payloads.first());
    let data = first.map(|payload| payload.data.as_slice()).unwrap_or_default();
    String::from_utf8_lossy(data).trim_matches('"').to_owned()
}

/// A failure of the program.
pub(crate) fn failure(message: &str, non_retryable: bool) -> Failure {
    Failure {
        message: message.to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(ApplicationFailureInfo {
            r#type: "Planned".to_owned(),
            non_retryable,
            ..ApplicationFailureInfo::default()
        })),
        ..Failure::default()
    }
}

/// A run, or the newest one if `run_id` is empty.
pub(crate) fn execution(workflow_id: &str, run_id: &str) -> WorkflowExecution {
    WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() }
}

/// The queue with this name.
pub(crate) fn queue(name: &str) -> TaskQueue {
    TaskQueue { name: name.to_owned(), ..TaskQueue::default() }
}

/// So many milliseconds; none if 0.
pub(crate) fn millis(millis: u64) -> Option<prost_types::Duration> {
    (millis > 0).then(|| prost_types::Duration {
        seconds: i64::try_from(millis / 1_000).unwrap_or(i64::MAX),
        nanos: i32::try_from(millis % 1_000 * 1_000_000).unwrap_or(0),
    })
}

/// A policy that waits `initial` milliseconds, then twice as long, and so on, but not longer than
/// ten times as long.
pub(crate) fn policy(initial: u64, maximum_attempts: u32) -> RetryPolicy {
    RetryPolicy {
        initial_interval: millis(initial),
        backoff_coefficient: 2.0,
        maximum_interval: millis(initial * 10),
        maximum_attempts: i32::try_from(maximum_attempts).unwrap_or(i32::MAX),
        non_retryable_error_types: Vec::new(),
    }
}

/// How long that policy waits before this attempt.
pub(crate) fn backoff(initial: u64, attempt: u32) -> Duration {
    let doubled = initial.saturating_mul(1 << attempt.saturating_sub(2).min(20));
    Duration::from_millis(doubled.min(initial * 10))
}

/// A time on the wire.
pub(crate) fn instant(wire: Option<&prost_types::Timestamp>) -> Timestamp {
    wire.map(steadfast_core::span::instant_from_wire).unwrap_or_default()
}

/// An instant as text.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    text.parse::<prost_types::Timestamp>().ok().map(|at| instant(Some(&at)))
}

/// A span on the wire.
pub(crate) fn span(wire: Option<&prost_types::Duration>) -> Duration {
    steadfast_core::span::from_wire(wire)
}
