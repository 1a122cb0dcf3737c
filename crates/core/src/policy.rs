//! Retry policies between the wire and the retry crate.

use std::time::Duration;

use steadfast_proto::common;
use steadfast_retry::{
    TimeoutKind,
    preset::{
        cadence,
        temporal::{self, Invalid, RetryPolicy},
    },
};

use crate::{
    span::to_wire,
    state::{CadenceTerms, Timeouts},
};

/// A policy from the wire, checked and with its gaps filled: what the history and descriptions
/// show.
pub fn checked(wire: &common::RetryPolicy) -> Result<common::RetryPolicy, Invalid> {
    let policy = read(wire)?;
    policy.validate()?;
    Ok(write(policy.normalised()))
}

/// The policy of an activity that was given none.
pub fn of_activities() -> common::RetryPolicy {
    write(RetryPolicy::default())
}

/// The time limits of an activity whose policy is declared in Cadence's terms: while it is retried
/// it may wait for a worker, and go on with all its attempts, for as long as the policy lasts;
/// without an expiration, for as long as the workflow may take.
pub fn cadence_timeouts(
    given: Timeouts,
    policy: &cadence::RetryPolicy,
    workflow: Duration,
) -> Timeouts {
    let lasts = match u64::try_from(policy.expiration_interval) {
        Ok(seconds @ 1..) => Duration::from_secs(seconds),
        Ok(0) | Err(_) => workflow,
    };
    Timeouts { schedule_to_start: lasts, schedule_to_close: lasts, ..given }
}

/// A workflow's policy that is declared in Cadence's terms: what the wire can say of it, and what it
/// cannot.
pub fn of_cadence_workflow(
    policy: &cadence::RetryPolicy,
) -> Result<(common::RetryPolicy, CadenceTerms), cadence::Invalid> {
    policy.validate()?;
    let span = |seconds: i32| Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let coefficient = policy.backoff_coefficient;
    let on_wire = RetryPolicy {
        initial_interval: span(policy.initial_interval),
        backoff_coefficient: if coefficient == 0.0 { 2.0 } else { coefficient },
        maximum_interval: span(policy.maximum_interval),
        maximum_attempts: policy.maximum_attempts,
        non_retryable_error_types: policy
            .non_retriable_error_reasons
            .iter()
            .map(error_type)
            .collect(),
    };
    let expiration = i64::from(policy.expiration_interval).saturating_mul(1_000_000_000);
    Ok((write(on_wire.normalised()), CadenceTerms { expiration, expires_at: 0 }))
}

/// The public name of what Cadence knows by a reason.
fn error_type(reason: &String) -> String {
    let kind = TimeoutKind::ALL.into_iter().find(|kind| cadence::timeout_reason(*kind) == reason);
    kind.map_or_else(|| reason.clone(), temporal::timeout_type)
}

/// A policy that was checked when it came in.
pub(crate) fn known(wire: &common::RetryPolicy) -> RetryPolicy {
    read(wire).unwrap_or_default()
}

fn read(wire: &common::RetryPolicy) -> Result<RetryPolicy, Invalid> {
    let initial = wire.initial_interval.unwrap_or_default();
    let maximum = wire.maximum_interval.unwrap_or_default();
    Ok(RetryPolicy {
        initial_interval: temporal::initial_interval(initial.seconds, initial.nanos)?,
        backoff_coefficient: wire.backoff_coefficient,
        maximum_interval: temporal::maximum_interval(maximum.seconds, maximum.nanos)?,
        maximum_attempts: wire.maximum_attempts,
        non_retryable_error_types: wire.non_retryable_error_types.clone(),
    })
}

fn write(policy: RetryPolicy) -> common::RetryPolicy {
    common::RetryPolicy {
        initial_interval: to_wire(policy.initial_interval),
        backoff_coefficient: policy.backoff_coefficient,
        maximum_interval: to_wire(policy.maximum_interval),
        maximum_attempts: policy.maximum_attempts,
        non_retryable_error_types: policy.non_retryable_error_types,
    }
}
