//! Retry policies between the wire and the retry crate.
//!
//! The public message says attempts, intervals and types that are not retried. What else a policy
//! may say (rules, jitter, how long in all) goes into a header of the activity, [`HEADER`]; the
//! message beside it is what other tools show.

use std::time::Duration;

use steadfast_proto::common;
use steadfast_retry::{
    Draft, Policy, TimeoutKind,
    preset::{
        cadence,
        temporal::{self, Invalid, RetryPolicy},
    },
};

use crate::{activity::Timeouts, span::to_wire, state::CadenceTerms};

/// The header field that holds an activity's policy, as the JSON of a [`Draft`].
pub const HEADER: &str = "steadfast-retry-policy";

/// The header field that holds an activity's kind, a tag that rules may ask for, as a JSON string.
pub const KIND_HEADER: &str = "steadfast-activity-kind";

/// Why the policy in an activity's header cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadHeader {
    /// It is encoded in a way that only its sender can read.
    #[error("its encoding must be json/plain, not {0:?}")]
    Encoding(String),
    /// It is too long.
    #[error("it has {bytes} bytes; at most {bytes_max} are allowed")]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        bytes_max: usize,
    },
    /// It is no policy.
    #[error("it is not the JSON of a retry policy: {0}")]
    Json(#[from] serde_json::Error),
    /// It is a policy that means nothing.
    #[error(transparent)]
    Invalid(#[from] steadfast_retry::Invalid),
}

/// The header field for a policy.
pub fn to_payload(draft: &Draft) -> common::Payload {
    // A draft has no map with keys that are not texts, the one thing that JSON cannot say.
    common::Payload::json(serde_json::to_vec(draft).unwrap_or_default())
}

/// The policy in an activity's header, if there is one.
pub fn of_header(
    header: Option<&common::Header>,
    bytes_max: usize,
) -> Result<Option<Policy>, BadHeader> {
    let Some(payload) = field(header, HEADER) else { return Ok(None) };
    let encoding = payload.metadata.get("encoding").unwrap_or_default();
    if encoding != JSON {
        return Err(BadHeader::Encoding(String::from_utf8_lossy(encoding).into_owned()));
    }
    let bytes = payload.data.len();
    if bytes > bytes_max {
        return Err(BadHeader::TooLarge { bytes, bytes_max });
    }
    let draft: Draft = serde_json::from_slice(&payload.data)?;
    Ok(Some(Policy::new(draft)?))
}

/// A field of a header.
pub(crate) fn field<'a>(
    header: Option<&'a common::Header>,
    name: &str,
) -> Option<&'a common::Payload> {
    header.and_then(|header| header.fields.get(name))
}

/// The policy that a text says, which is the JSON of a draft.
pub fn of_text(text: &str, bytes_max: usize) -> Result<Policy, BadHeader> {
    let bytes = text.len();
    if bytes > bytes_max {
        return Err(BadHeader::TooLarge { bytes, bytes_max });
    }
    Ok(Policy::new(serde_json::from_str::<Draft>(text)?)?)
}

/// The header field for an activity's kind.
pub fn kind_to_payload(kind: &str) -> common::Payload {
    common::Payload::json(serde_json::Value::from(kind).to_string())
}

/// The kind in an activity's header; empty if there is none.
pub fn kind_of_header(header: Option<&common::Header>) -> String {
    let payload = field(header, KIND_HEADER);
    payload.and_then(|it| serde_json::from_slice(&it.data).ok()).unwrap_or_default()
}

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

const JSON: &[u8] = b"json/plain";
