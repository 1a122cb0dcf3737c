//! A policy: ordered rules, what happens to the rest, and when enough is enough.
//!
//! What one person writes in one place is a [`Draft`]. Drafts of all layers, checked and merged into
//! one list that remembers who wrote what, are a [`Policy`], which is what `decide` reads.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    backoff::{Backoff, Curve},
    code::Class,
    jitter::Jitter,
    layer::Layer,
    matcher::Matcher,
    rule::{Action, Behaviour, Ending, Limits, PlacedRule, Rule, RuleId},
    span,
    time::Timestamp,
};

/// What is written in one layer. Gaps are filled by the layers below.
///
/// ```
/// # use steadfast_retry::{Draft, Policy};
/// let draft: Draft = serde_json::from_str(r#"{
///     "name": "stripe-charge",
///     "rules": [
///         {"match": {"code": 429}, "action": "retry", "counts": false},
///         {"match": {"type": "CardDeclined"}, "action": "fail"}
///     ],
///     "default": {"backoff": {"kind": "exponential", "initial": "1s", "max": "5m"}},
///     "max_attempts": 30
/// }"#)?;
/// let policy = Policy::new(draft)?;
/// assert_eq!(policy.rules().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(from = "Written")]
pub struct Draft {
    /// What people call it.
    pub name: String,
    /// Asked in order; the first that matches and is not used up decides.
    pub rules: Vec<Rule>,
    /// What happens to failures that no rule takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Behaviour>,
    /// Limits over all rules together.
    #[serde(flatten)]
    pub limits: Limits,
    /// What happens when the limits are reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_exhausted: Option<Ending>,
    /// What is known of the other side's memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency: Option<Idempotency>,
}

/// What is known of the memory of whoever is called.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Idempotency {
    /// How long it remembers an idempotency key: after that, the same call is another one.
    #[serde(with = "span::text")]
    pub ttl: Duration,
}

/// Checked, merged and ready to be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    name: String,
    rules: Vec<PlacedRule>,
    default: Behaviour,
    default_layer: Layer,
    limits: Limits,
    on_exhausted: Ending,
    idempotency: Option<Idempotency>,
}

/// All that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Invalid {
    /// Every fault, in the order of the policy.
    pub faults: Vec<Fault>,
}

/// One thing that is wrong with a policy. `rule` counts from 1; `None` is the default.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A coefficient below one shrinks the waits; one that is no number has no meaning.
    #[error("{}: coef must be a number of at least 1, not {coef}", Where(*rule))]
    Coefficient {
        /// Which rule.
        rule: Option<usize>,
        /// What was given.
        coef: f64,
    },
    /// A schedule without waits.
    #[error("{}: delays must hold at least one wait", Where(*rule))]
    EmptySchedule {
        /// Which rule.
        rule: Option<usize>,
    },
    /// A proportional jitter outside 0 to 1.
    #[error("{}: the share of a proportional jitter must be within 0..1, not {share}", Where(*rule))]
    Share {
        /// Which rule.
        rule: Option<usize>,
        /// What was given.
        share: f64,
    },
    /// A memory that holds nothing.
    #[error("idempotency: ttl must be above 0")]
    NoMemory,
    /// A range of attempts that holds none.
    #[error("{}: no attempt is in the range {range}", Where(*rule))]
    EmptyRange {
        /// Which rule.
        rule: Option<usize>,
        /// What was given.
        range: String,
    },
}

impl Policy {
    /// One draft on its own, as the call site's. What it leaves open is not limited, and fails.
    pub fn new(draft: Draft) -> Result<Self, Invalid> {
        Self::merge([(Layer::CallSite, draft)])
    }

    /// Merges drafts into one list, highest layer first, in the order given within a layer.
    ///
    /// The default behaviour, each limit and the ending come from the highest layer that has them.
    pub fn merge(drafts: impl IntoIterator<Item = (Layer, Draft)>) -> Result<Self, Invalid> {
        let mut drafts: Vec<_> = drafts.into_iter().collect();
        drafts.sort_by_key(|(layer, _)| *layer);
        let faults = faults(&drafts);
        if !faults.is_empty() {
            return Err(Invalid { faults });
        }
        Ok(Self::compile(drafts))
    }

    /// The engine's own layer: what nobody should retry fails, throttling is not held against the
    /// work, everything else is tried for a week and then parked.
    #[must_use]
    pub fn engine_default() -> Draft {
        let fails = [Class::Auth, Class::Data, Class::Permanent]
            .map(|class| Rule::ending(Matcher::of_class(class), Action::Fail));
        let mut throttle = Rule::retrying(
            Matcher::of_class(Class::Throttle),
            Backoff::exponential(Duration::from_secs(5), 2.0)
                .capped(Duration::from_secs(600))
                .jittered(Jitter::Equal),
        );
        throttle.then.counts = false;
        Draft {
            name: "engine default".to_owned(),
            rules: fails.into_iter().chain([throttle]).collect(),
            default: Some(Behaviour::default()),
            limits: Limits {
                max_elapsed: Some(Duration::from_secs(7 * 24 * 60 * 60)),
                ..Limits::default()
            },
            on_exhausted: Some(Ending::Park),
            idempotency: None,
        }
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The rules in the order in which they are asked.
    #[must_use]
    pub fn rules(&self) -> &[PlacedRule] {
        &self.rules
    }

    /// What happens to failures that no rule takes.
    #[must_use]
    pub fn default_behaviour(&self) -> &Behaviour {
        &self.default
    }

    /// The layer that the default behaviour came from.
    #[must_use]
    pub fn default_layer(&self) -> Layer {
        self.default_layer
    }

    /// The limits over all rules together.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// What the rule that decided says: its hints, its breaker, its budget.
    #[must_use]
    pub fn behaviour(&self, rule: Option<RuleId>) -> &Behaviour {
        let found = self.rules.iter().find(|placed| Some(placed.id) == rule);
        found.map_or(&self.default, |placed| &placed.rule.then)
    }

    /// What happens when the limits are reached.
    #[must_use]
    pub fn on_exhausted(&self) -> Ending {
        self.on_exhausted
    }

    /// How long whoever is called remembers an idempotency key, if that is said.
    #[must_use]
    pub fn idempotency_ttl(&self) -> Option<Duration> {
        self.idempotency.map(|it| it.ttl)
    }

    /// The last instant at which an attempt may start, for work first tried at `first_attempt_at`.
    /// The same for every attempt and, when a workflow is retried, for every run.
    #[must_use]
    pub fn expires_at(&self, first_attempt_at: Timestamp) -> Option<Timestamp> {
        self.limits.max_elapsed.map(|limit| first_attempt_at.after(limit))
    }

    /// This policy with other limits.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// This policy with every wait at its base, for tables that people read.
    #[must_use]
    pub fn without_jitter(&self) -> Self {
        let mut policy = self.clone();
        policy.default.backoff.jitter = Jitter::None;
        for placed in &mut policy.rules {
            placed.rule.then.backoff.jitter = Jitter::None;
        }
        policy
    }

    /// Built from parts that are known to be right; presets have checks of their own.
    pub(crate) fn from_parts(
        name: &str,
        rules: Vec<Rule>,
        default: Behaviour,
        limits: Limits,
    ) -> Self {
        let on_exhausted = Some(Ending::Fail);
        let name = name.to_owned();
        let default = Some(default);
        Self::known(Draft { name, rules, default, limits, on_exhausted, idempotency: None })
    }

    /// One draft that is known to be right, as the call site's.
    pub(crate) fn known(draft: Draft) -> Self {
        Self::compile(vec![(Layer::CallSite, draft)])
    }

    fn compile(drafts: Vec<(Layer, Draft)>) -> Self {
        let mut policy = Self {
            name: String::new(),
            rules: Vec::new(),
            default: Behaviour::default(),
            default_layer: Layer::Engine,
            limits: Limits::default(),
            on_exhausted: Ending::Fail,
            idempotency: None,
        };
        let (mut default, mut ending) = (None, None);
        let none: Arc<str> = Arc::default();
        for (layer, draft) in drafts {
            if policy.name.is_empty() {
                policy.name = draft.name;
            }
            for rule in draft.rules {
                PlacedRule::place(&mut policy.rules, rule, layer, Arc::clone(&none));
            }
            policy.limits = policy.limits.or(draft.limits);
            default = default.or_else(|| draft.default.map(|default| (layer, default)));
            ending = ending.or(draft.on_exhausted);
            policy.idempotency = policy.idempotency.or(draft.idempotency);
        }
        if let Some((layer, behaviour)) = default {
            (policy.default_layer, policy.default) = (layer, behaviour);
        }
        policy.on_exhausted = ending.unwrap_or_default();
        policy
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        f.write_str(&faults.join("; "))
    }
}

struct Where(Option<usize>);

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rule) => write!(f, "rule {rule}"),
            None => f.write_str("default"),
        }
    }
}

fn faults(drafts: &[(Layer, Draft)]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (_, draft) in drafts {
        for (index, rule) in draft.rules.iter().enumerate() {
            let number = Some(index + 1);
            faults.extend(backoff_fault(&rule.then.backoff, number));
            faults.extend(range_fault(&rule.when, number));
        }
        let default = draft.default.as_ref();
        faults.extend(default.and_then(|default| backoff_fault(&default.backoff, None)));
        let forgets = draft.idempotency.is_some_and(|it| it.ttl.is_zero());
        faults.extend(forgets.then_some(Fault::NoMemory));
    }
    faults
}

fn backoff_fault(backoff: &Backoff, rule: Option<usize>) -> Option<Fault> {
    match (&backoff.curve, backoff.jitter) {
        (&Curve::Exponential { coef, .. }, _) if !(coef.is_finite() && coef >= 1.0) => {
            Some(Fault::Coefficient { rule, coef })
        }
        (Curve::Schedule { delays, .. }, _) if delays.is_empty() => {
            Some(Fault::EmptySchedule { rule })
        }
        (_, Jitter::Proportional(share)) if !(0.0..=1.0).contains(&share) => {
            Some(Fault::Share { rule, share })
        }
        _ => None,
    }
}

fn range_fault(when: &Matcher, rule: Option<usize>) -> Option<Fault> {
    let range = when.attempts?;
    let is_empty = range.last.is_some_and(|last| last < range.first.max(1));
    is_empty.then(|| Fault::EmptyRange { rule, range: range.to_string() })
}

/// A draft as people write it: every field spelled out, so that a typo is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    name: String,
    #[serde(default)]
    rules: Vec<Rule>,
    default: Option<Behaviour>,
    max_attempts: Option<u32>,
    #[serde(default, with = "span::optional")]
    max_elapsed: Option<Duration>,
    #[serde(default, with = "span::optional")]
    max_execution: Option<Duration>,
    on_exhausted: Option<Ending>,
    idempotency: Option<Idempotency>,
}

impl From<Written> for Draft {
    fn from(written: Written) -> Self {
        let Written { max_attempts, max_elapsed, max_execution, .. } = written;
        Self {
            name: written.name,
            rules: written.rules,
            default: written.default,
            limits: Limits { max_attempts, max_elapsed, max_execution },
            on_exhausted: written.on_exhausted,
            idempotency: written.idempotency,
        }
    }
}
