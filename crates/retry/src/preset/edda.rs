//! Edda's retry policy: five attempts within five minutes, and lists of error types.
//!
//! `delay = min(initial * coefficient^(attempt-1), max_interval)`, where `attempt` just failed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    backoff::Backoff,
    hint::Hints,
    matcher::{CauseDepth, Matcher},
    pattern::NamePattern,
    policy::{Draft, Policy},
    rule::{Action, Behaviour, Ending, Limits, Rule},
};

/// The parameters as Edda has them: seconds as floats, `None` for no limit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct RetryPolicy {
    /// Attempts, the first one included.
    pub max_attempts: Option<i64>,
    /// Seconds before the first retry.
    pub initial_interval: f64,
    /// What each retry multiplies the wait by.
    pub backoff_coefficient: f64,
    /// The longest wait in seconds.
    pub max_interval: f64,
    /// Seconds after which no attempt starts.
    pub max_duration: Option<f64>,
    /// Only these are retried, with all that is derived from them; empty is all.
    pub retryable_error_types: Vec<String>,
    /// These are not retried, with all that is derived from them. Wins over the other list.
    pub non_retryable_error_types: Vec<String>,
}

/// 5 attempts, 1 s doubling to 60 s, within 300 s.
pub const DEFAULT: RetryPolicy = preset(Some(5), 1.0, 2.0, 60.0, Some(300.0));
/// 10 attempts, 100 ms growing by half to 10 s, within 60 s.
pub const AGGRESSIVE: RetryPolicy = preset(Some(10), 0.1, 1.5, 10.0, Some(60.0));
/// 3 attempts, 5 s doubling to 300 s, within 900 s.
pub const CONSERVATIVE: RetryPolicy = preset(Some(3), 5.0, 2.0, 300.0, Some(900.0));
/// 1 s doubling to 60 s, for ever.
pub const INFINITE: RetryPolicy = preset(None, 1.0, 2.0, 60.0, None);

/// What is wrong with a policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Not a single attempt.
    #[error("max_attempts must be at least 1, not {attempts}")]
    MaxAttempts {
        /// What was given.
        attempts: i64,
    },
    /// No number of seconds.
    #[error("{field} must be 0 seconds or more, not {seconds}")]
    Seconds {
        /// Which parameter.
        field: &'static str,
        /// What was given.
        seconds: f64,
    },
    /// Shrinking waits.
    #[error("backoff_coefficient must be at least 1, not {coefficient}")]
    Coefficient {
        /// What was given.
        coefficient: f64,
    },
    /// A list of types too long to look through.
    #[error("retryable_error_types: {source}")]
    Types {
        /// What is wrong with it.
        source: crate::pattern::Error,
    },
}

/// Which error types are derived from which: a list names a type and means its descendants too.
///
/// ```
/// # use steadfast_retry::preset::edda::Kinds;
/// let kinds = Kinds::python().derive("StripeError", "ConnectionError");
/// assert!(kinds.descendants("OSError").contains(&"StripeError"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Kinds {
    derived: Vec<(String, String)>,
}

impl RetryPolicy {
    /// The wait after attempt number `attempt` failed, if the policy is valid.
    pub fn delay(&self, attempt: u32) -> Result<Duration, Invalid> {
        Ok(self.backoff()?.base(attempt).unwrap_or_default())
    }

    /// Ours, if it is valid, with the error types of Python's standard library.
    pub fn compile(&self) -> Result<Policy, Invalid> {
        self.compile_with(&Kinds::python())
    }

    /// Ours, if it is valid.
    pub fn compile_with(&self, kinds: &Kinds) -> Result<Policy, Invalid> {
        self.draft_with(kinds).map(Policy::known)
    }

    /// As somebody would write it in our terms, with the error types of Python's standard library:
    /// what is sent to an engine, and merged with the drafts of other layers.
    ///
    /// ```
    /// # use steadfast_retry::{Policy, preset::edda};
    /// let policy = Policy::new(edda::DEFAULT.draft()?)?;
    /// assert_eq!(policy, edda::DEFAULT.compile()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draft(&self) -> Result<Draft, Invalid> {
        self.draft_with(&Kinds::python())
    }

    /// As somebody would write it in our terms.
    pub fn draft_with(&self, kinds: &Kinds) -> Result<Draft, Invalid> {
        let retrying = Behaviour { hints: Hints::exact(), ..Behaviour::retrying(self.backoff()?) };
        let limits = self.limits()?;
        let fail = |name: &str| Rule::ending(Matcher::exactly(name), Action::Fail);
        let refused = self.non_retryable_error_types.iter();
        let mut rules: Vec<Rule> =
            refused.flat_map(|name| kinds.descendants(name)).map(fail).collect();
        let default = match self.retryable(kinds)? {
            None => retrying,
            Some(when) => {
                rules.push(Rule { when, then: retrying.clone(), force: false });
                Behaviour { action: Action::Fail, ..retrying }
            }
        };
        Ok(Draft {
            name: "edda".to_owned(),
            rules,
            default: Some(default),
            limits,
            on_exhausted: Some(Ending::Fail),
            idempotency: None,
        })
    }

    /// One matcher for the whole list, so that the waits grow over all of its types together.
    fn retryable(&self, kinds: &Kinds) -> Result<Option<Matcher>, Invalid> {
        if self.retryable_error_types.is_empty() {
            return Ok(None);
        }
        let names = self.retryable_error_types.iter().flat_map(|name| kinds.descendants(name));
        let names: Vec<String> = names.map(regex::escape).collect();
        let pattern = NamePattern::new(&format!("/^(?:{})$/", names.join("|")));
        Ok(Some(Matcher {
            error_type: Some(pattern.map_err(|source| Invalid::Types { source })?),
            cause_depth: CauseDepth::Outermost,
            ..Matcher::default()
        }))
    }

    fn backoff(&self) -> Result<Backoff, Invalid> {
        let coefficient = self.backoff_coefficient;
        if !(coefficient.is_finite() && coefficient >= 1.0) {
            return Err(Invalid::Coefficient { coefficient });
        }
        let initial = span("initial_interval", self.initial_interval)?;
        let max = span("max_interval", self.max_interval)?;
        Ok(Backoff::exponential(initial, coefficient).capped(max).exact())
    }

    fn limits(&self) -> Result<Limits, Invalid> {
        let max_attempts = match self.max_attempts {
            None => None,
            Some(attempts) if attempts < 1 => return Err(Invalid::MaxAttempts { attempts }),
            Some(attempts) => Some(u32::try_from(attempts).unwrap_or(u32::MAX)),
        };
        let max_elapsed = self.max_duration.map(|limit| span("max_duration", limit)).transpose()?;
        Ok(Limits { max_attempts, max_elapsed, max_execution: None })
    }
}

impl Kinds {
    /// The error types of Python's standard library that people retry by.
    #[must_use]
    pub fn python() -> Self {
        let derived = PYTHON.iter().flat_map(|(base, names)| {
            names.iter().map(|name| ((*name).to_owned(), (*base).to_owned()))
        });
        Self { derived: derived.collect() }
    }

    /// Adds a type derived from another.
    #[must_use]
    pub fn derive(mut self, name: &str, base: &str) -> Self {
        self.derived.push((name.to_owned(), base.to_owned()));
        self
    }

    /// The type itself and all that is derived from it.
    #[must_use]
    pub fn descendants<'a>(&'a self, base: &'a str) -> Vec<&'a str> {
        let mut found = vec![base];
        let mut next = 0;
        while let Some(&parent) = found.get(next) {
            for (name, base) in &self.derived {
                if base == parent && !found.contains(&name.as_str()) {
                    found.push(name);
                }
            }
            next += 1;
        }
        found
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        DEFAULT
    }
}

const fn preset(
    max_attempts: Option<i64>,
    initial_interval: f64,
    backoff_coefficient: f64,
    max_interval: f64,
    max_duration: Option<f64>,
) -> RetryPolicy {
    RetryPolicy {
        max_attempts,
        initial_interval,
        backoff_coefficient,
        max_interval,
        max_duration,
        retryable_error_types: Vec::new(),
        non_retryable_error_types: Vec::new(),
    }
}

fn span(field: &'static str, seconds: f64) -> Result<Duration, Invalid> {
    if seconds >= 0.0 {
        return Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    Err(Invalid::Seconds { field, seconds })
}

const PYTHON: &[(&str, &[&str])] = &[
    (
        "Exception",
        &[
            "ArithmeticError",
            "AssertionError",
            "AttributeError",
            "LookupError",
            "OSError",
            "RuntimeError",
            "TypeError",
            "ValueError",
        ],
    ),
    ("ArithmeticError", &["FloatingPointError", "OverflowError", "ZeroDivisionError"]),
    ("LookupError", &["IndexError", "KeyError"]),
    ("OSError", &["ConnectionError", "FileNotFoundError", "PermissionError", "TimeoutError"]),
    (
        "ConnectionError",
        &[
            "BrokenPipeError",
            "ConnectionAbortedError",
            "ConnectionRefusedError",
            "ConnectionResetError",
        ],
    ),
    ("RuntimeError", &["NotImplementedError", "RecursionError"]),
    ("ValueError", &["JSONDecodeError", "UnicodeError"]),
];
