//! Retry policies as a workflow's author gives them, and which one holds.
//!
//! ```text
//! call site  ▶  activity  ▶  application  ▶  framework (five attempts within five minutes)
//! ```
//!
//! The first that is there holds, as a whole. Its fields that nobody set have the framework's
//! values. On the wire a policy is the public one, beside it, where that cannot say everything, the
//! whole of it in a header, which Steadfast reads.

use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};

use steadfast_engine::policy::to_payload;
use steadfast_proto::common::{Payload, RetryPolicy as Wire};
pub use steadfast_retry::{
    Draft,
    explain::Explanation,
    preset::{
        edda::{AGGRESSIVE, CONSERVATIVE, DEFAULT, INFINITE},
        temporal::RetryPolicy as TemporalPolicy,
    },
};
use steadfast_retry::{
    Policy,
    explain::{Setting, explain},
    preset::edda,
};

use crate::span;

/// When a failed activity is tried again, and when no more.
///
/// ```
/// use std::time::Duration;
/// use steadfast::RetryPolicy;
///
/// let policy = RetryPolicy::new()
///     .max_attempts(7)
///     .initial_interval(Duration::from_millis(500))
///     .never_on("CardDeclined");
/// assert!(policy.check().is_ok());
///
/// let wrong = RetryPolicy::new().max_attempts(0);
/// assert_eq!(wrong.check().unwrap_err().to_string(), "max_attempts must be at least 1, not 0");
/// ```
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    terms: Terms,
    /// As commands carry it: made once for all calls with this policy and its clones.
    carried: Arc<OnceLock<Carried>>,
}

/// In whose words it is said.
#[derive(Clone, Debug, PartialEq)]
enum Terms {
    Edda(edda::RetryPolicy),
    Temporal(TemporalPolicy),
    Rules(Box<Draft>),
}

/// What is wrong with a policy.
///
/// ```
/// use std::time::Duration;
/// use steadfast::{InvalidPolicy, RetryPolicy};
///
/// let backwards = RetryPolicy::new().backoff_coefficient(0.5).check();
/// assert!(matches!(backwards, Err(InvalidPolicy::Edda(_))));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPolicy {
    /// In Edda's terms, which are also those of [`RetryPolicy::new`].
    #[error(transparent)]
    Edda(#[from] edda::Invalid),
    /// In Temporal's terms.
    #[error(transparent)]
    Temporal(#[from] steadfast_retry::preset::temporal::Invalid),
    /// In rules.
    #[error(transparent)]
    Rules(#[from] steadfast_retry::Invalid),
}

/// A policy as a command carries it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Carried {
    /// What every server and tool understands.
    pub(crate) wire: Wire,
    /// The whole of it, if the wire cannot say it.
    pub(crate) whole: Option<Payload>,
}

impl RetryPolicy {
    /// The framework's policy: five attempts, one second doubling to a minute, within five minutes.
    pub fn new() -> Self {
        static FRAMEWORK: LazyLock<RetryPolicy> = LazyLock::new(|| RetryPolicy::from(DEFAULT));
        FRAMEWORK.clone()
    }

    /// So many attempts, the first one included.
    #[must_use]
    pub fn max_attempts(self, attempts: u32) -> Self {
        self.with(|edda| edda.max_attempts = Some(attempts.into()))
    }

    /// As many attempts as it takes.
    #[must_use]
    pub fn unlimited_attempts(self) -> Self {
        self.with(|edda| edda.max_attempts = None)
    }

    /// The wait before the second attempt.
    #[must_use]
    pub fn initial_interval(self, span: Duration) -> Self {
        self.with(|edda| edda.initial_interval = span.as_secs_f64())
    }

    /// What each failure multiplies the wait by.
    #[must_use]
    pub fn backoff_coefficient(self, coefficient: f64) -> Self {
        self.with(|edda| edda.backoff_coefficient = coefficient)
    }

    /// No wait is longer.
    #[must_use]
    pub fn max_interval(self, span: Duration) -> Self {
        self.with(|edda| edda.max_interval = span.as_secs_f64())
    }

    /// No attempt starts later than this after the first one.
    #[must_use]
    pub fn max_duration(self, span: Duration) -> Self {
        self.with(|edda| edda.max_duration = Some(span.as_secs_f64()))
    }

    /// For as long as it takes.
    #[must_use]
    pub fn unlimited_duration(self) -> Self {
        self.with(|edda| edda.max_duration = None)
    }

    /// Only failures of this type, and of others named so, are retried.
    #[must_use]
    pub fn only_on(self, error_type: impl Into<String>) -> Self {
        self.with(|edda| edda.retryable_error_types.push(error_type.into()))
    }

    /// Failures of this type are not retried.
    #[must_use]
    pub fn never_on(self, error_type: impl Into<String>) -> Self {
        self.with(|edda| edda.non_retryable_error_types.push(error_type.into()))
    }

    /// Whether it makes sense; the error names the field.
    pub fn check(&self) -> Result<(), InvalidPolicy> {
        self.compile().map(drop)
    }

    /// What it means, before it matters: when each attempt comes, how long an outage it outlives,
    /// and what looks wrong with it. Printed, it is a table.
    ///
    /// ```
    /// let explained = steadfast::RetryPolicy::new().explain()?;
    /// assert_eq!(explained.calls, Some(5));
    /// assert_eq!(explained.horizon.to_string(), "15s");
    /// # Ok::<(), steadfast::InvalidPolicy>(())
    /// ```
    pub fn explain(&self) -> Result<Explanation, InvalidPolicy> {
        Ok(explain(&self.compile()?, &Setting::default()))
    }

    /// As decisions are made by it.
    pub(crate) fn compile(&self) -> Result<Policy, InvalidPolicy> {
        Ok(match &self.terms {
            Terms::Edda(edda) => edda.compile()?,
            Terms::Temporal(temporal) => {
                temporal.validate()?;
                temporal.for_activity()
            }
            Terms::Rules(draft) => Policy::new((**draft).clone())?,
        })
    }

    /// As a command carries it. A policy that is wrong is refused by whoever takes the command, so
    /// that is not checked here again.
    pub(crate) fn carried(&self) -> &Carried {
        self.carried.get_or_init(|| self.terms.carry())
    }

    /// Changes a field. A policy in other terms is left behind for the framework's.
    fn with(self, change: impl FnOnce(&mut edda::RetryPolicy)) -> Self {
        let mut edda = match self.terms {
            Terms::Edda(edda) => edda,
            Terms::Temporal(_) | Terms::Rules(_) => DEFAULT,
        };
        change(&mut edda);
        Self::of(Terms::Edda(edda))
    }

    fn of(terms: Terms) -> Self {
        Self { terms, carried: Arc::default() }
    }
}

impl Terms {
    fn carry(&self) -> Carried {
        match self {
            Self::Edda(edda) => Carried { wire: edda_on_wire(edda), whole: whole(edda) },
            Self::Temporal(temporal) => Carried { wire: temporal_on_wire(temporal), whole: None },
            Self::Rules(draft) => {
                let attempts = draft.limits.max_attempts;
                let temporal = TemporalPolicy {
                    maximum_attempts: attempts
                        .map_or(0, |it| i32::try_from(it).unwrap_or(i32::MAX)),
                    ..TemporalPolicy::default()
                };
                Carried { wire: temporal_on_wire(&temporal), whole: Some(to_payload(draft)) }
            }
        }
    }
}

impl PartialEq for RetryPolicy {
    fn eq(&self, other: &Self) -> bool {
        self.terms == other.terms
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl From<edda::RetryPolicy> for RetryPolicy {
    fn from(policy: edda::RetryPolicy) -> Self {
        Self::of(Terms::Edda(policy))
    }
}

impl From<TemporalPolicy> for RetryPolicy {
    fn from(policy: TemporalPolicy) -> Self {
        Self::of(Terms::Temporal(policy))
    }
}

impl From<Draft> for RetryPolicy {
    fn from(draft: Draft) -> Self {
        Self::of(Terms::Rules(Box::new(draft)))
    }
}

/// The whole of a policy, if the wire cannot say it: a limit in time, or a list of what is retried.
fn whole(edda: &edda::RetryPolicy) -> Option<Payload> {
    if edda.max_duration.is_none() && edda.retryable_error_types.is_empty() {
        return None;
    }
    edda.draft().ok().map(|draft| to_payload(&draft))
}

fn edda_on_wire(edda: &edda::RetryPolicy) -> Wire {
    let span = |seconds| span::to_wire(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    // Zero is "no limit" on the wire, and no attempt at all here: that is for the engine to refuse.
    let attempts = edda.max_attempts.map_or(0, |it| if it < 1 { -1 } else { it });
    Wire {
        initial_interval: Some(span(edda.initial_interval)),
        backoff_coefficient: edda.backoff_coefficient,
        maximum_interval: Some(span(edda.max_interval)),
        maximum_attempts: i32::try_from(attempts).unwrap_or(i32::MAX),
        non_retryable_error_types: edda.non_retryable_error_types.clone(),
    }
}

fn temporal_on_wire(policy: &TemporalPolicy) -> Wire {
    Wire {
        initial_interval: Some(span::to_wire(policy.initial_interval)),
        backoff_coefficient: policy.backoff_coefficient,
        maximum_interval: Some(span::to_wire(policy.maximum_interval)),
        maximum_attempts: policy.maximum_attempts,
        non_retryable_error_types: policy.non_retryable_error_types.clone(),
    }
}
