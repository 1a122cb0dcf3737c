//! A rule: which failures, and what happens to them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::{backoff::Backoff, hint::Hints, jitter::Jitter, layer::Layer, matcher::Matcher, span};

/// What a policy does with the failures that match.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(from = "Written")]
pub struct Rule {
    /// Which failures.
    #[serde(rename = "match")]
    pub when: Matcher,
    /// What happens to them.
    #[serde(flatten)]
    pub then: Behaviour,
    /// Retries even what its author called non-retryable. Heeded in the operator's layer only.
    pub force: bool,
}

/// What happens to a failure.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Written")]
pub struct Behaviour {
    /// Retry, or one of the ways to end.
    pub action: Action,
    /// How long to wait before the next attempt.
    pub backoff: Backoff,
    /// When this behaviour has used itself up and the next rule is asked.
    #[serde(flatten)]
    pub limits: Limits,
    /// Whether the failure counts against the policy's limits; if not, it is a deferral.
    pub counts: bool,
    /// How far a next delay or a Retry-After is followed.
    #[serde(rename = "retry_after")]
    pub hints: Hints,
    /// Whether the failure says something about the health of the downstream.
    pub breaker: bool,
    /// What a retry costs from the downstream's budget.
    pub budget_cost: u32,
    /// Why, in the author's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// When enough is enough. What is not set does not limit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names that people write in policies")]
pub struct Limits {
    /// Attempts, the first one included: 1 is no retry, 0 is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// Time since the first attempt. An attempt may start exactly at the limit, not after.
    #[serde(with = "span::optional", skip_serializing_if = "Option::is_none")]
    pub max_elapsed: Option<Duration>,
    /// Time spent inside attempts, waits left out.
    #[serde(with = "span::optional", skip_serializing_if = "Option::is_none")]
    pub max_execution: Option<Duration>,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Try again.
    #[default]
    Retry,
    /// Hand the failure to the workflow.
    Fail,
    /// Keep the work, waiting for a person or a resume policy.
    Park,
    /// Put it where it will be looked at.
    DeadLetter,
    /// Undo what was done before.
    Compensate,
}

/// How work ends that will not be tried again.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Hand the failure to the workflow.
    #[default]
    Fail,
    /// Keep the work, waiting for a person or a resume policy.
    Park,
    /// Put it where it will be looked at.
    DeadLetter,
    /// Undo what was done before.
    Compensate,
}

/// A rule in its place in a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedRule {
    /// The rule.
    pub rule: Rule,
    /// The layer it came from.
    pub layer: Layer,
    /// Its identity, under which its failures are counted.
    pub id: RuleId,
    /// The named policy that it was written in, like `stripe@3`; empty for the work's own.
    pub source: Arc<str>,
}

/// Rules that hold beside the policy of the work, without a merge: asked before its own rules, or
/// after them and before its default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overlay<'a> {
    /// Asked before the policy's own rules.
    pub before: &'a [PlacedRule],
    /// Asked after them.
    pub after: &'a [PlacedRule],
}

/// The identity of a rule: the same as long as its layer, criteria and action are, whatever is
/// changed around it. So counters survive an edit of the neighbours. Rules that share all three are
/// told apart by their order.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct RuleId(pub u64);

impl Rule {
    /// A rule that ends what matches.
    #[must_use]
    pub fn ending(when: Matcher, action: Action) -> Self {
        Self { when, then: Behaviour { action, ..Behaviour::default() }, force: false }
    }

    /// A rule that retries what matches.
    #[must_use]
    pub fn retrying(when: Matcher, backoff: Backoff) -> Self {
        Self { when, then: Behaviour::retrying(backoff), force: false }
    }
}

impl Behaviour {
    /// Retries without limits of its own.
    #[must_use]
    pub fn retrying(backoff: Backoff) -> Self {
        Self { backoff, ..Self::default() }
    }

    /// Whether it may use itself up and let the next rule have its turn.
    #[must_use]
    pub fn can_be_spent(&self) -> bool {
        use crate::backoff::{Curve, Then};
        let runs_out = matches!(self.backoff.curve, Curve::Schedule { then: Then::Exhaust, .. });
        self.action == Action::Retry && (runs_out || self.limits.is_limited())
    }
}

impl Default for Behaviour {
    /// 1 s, doubling to 5 min, equal jitter.
    fn default() -> Self {
        let backoff = Backoff::exponential(Duration::from_secs(1), 2.0);
        Self {
            action: Action::Retry,
            backoff: backoff.capped(Duration::from_secs(300)).jittered(Jitter::Equal),
            limits: Limits::default(),
            counts: true,
            hints: Hints::default(),
            breaker: true,
            budget_cost: 1,
            reason: None,
        }
    }
}

impl Limits {
    /// Limits the attempts, the first one included.
    #[must_use]
    pub const fn attempts(max_attempts: u32) -> Self {
        Self { max_attempts: Some(max_attempts), max_elapsed: None, max_execution: None }
    }

    /// The largest number of attempts, or `None` for no limit.
    #[must_use]
    pub fn attempt_limit(&self) -> Option<u32> {
        self.max_attempts.filter(|max| *max > 0)
    }

    /// Whether anything is limited at all.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.attempt_limit().is_some() || self.max_elapsed.is_some() || self.max_execution.is_some()
    }

    /// These limits, without those that `higher` sets itself.
    pub(crate) fn without(self, higher: Self) -> Self {
        Self {
            max_attempts: self.max_attempts.filter(|_| higher.max_attempts.is_none()),
            max_elapsed: self.max_elapsed.filter(|_| higher.max_elapsed.is_none()),
            max_execution: self.max_execution.filter(|_| higher.max_execution.is_none()),
        }
    }

    /// These limits, with the gaps filled from `lower`.
    #[must_use]
    pub fn or(self, lower: Self) -> Self {
        Self {
            max_attempts: self.max_attempts.or(lower.max_attempts),
            max_elapsed: self.max_elapsed.or(lower.max_elapsed),
            max_execution: self.max_execution.or(lower.max_execution),
        }
    }
}

impl PlacedRule {
    /// Puts a rule behind those that are there.
    pub fn place(all: &mut Vec<Self>, rule: Rule, layer: Layer, source: Arc<str>) {
        let is_twin = |placed: &&Self| {
            let twin = &placed.rule;
            (placed.layer, &twin.when, twin.then.action) == (layer, &rule.when, rule.then.action)
        };
        let twins = all.iter().filter(is_twin).count();
        all.push(Self::new(rule, layer, twins, source));
    }

    /// `twins` is how many rules before it are told by the same words: the steps of a ladder.
    fn new(rule: Rule, layer: Layer, twins: usize, source: Arc<str>) -> Self {
        let text = format!("{layer}|{}|{}|{twins}", rule.when, rule.then.action);
        Self { rule, layer, id: RuleId(xxh3_64(text.as_bytes())), source }
    }
}

impl<'a> Overlay<'a> {
    /// Whether it says nothing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// All rules in the order in which they are asked, where `own` are those of the policy.
    pub fn around(&self, own: &'a [PlacedRule]) -> impl Iterator<Item = &'a PlacedRule> {
        self.before.iter().chain(own).chain(self.after)
    }
}

impl Action {
    /// The name in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Fail => "fail",
            Self::Park => "park",
            Self::DeadLetter => "dead_letter",
            Self::Compensate => "compensate",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Action::from(*self).name())
    }
}

impl From<Ending> for Action {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Fail => Self::Fail,
            Ending::Park => Self::Park,
            Ending::DeadLetter => Self::DeadLetter,
            Ending::Compensate => Self::Compensate,
        }
    }
}

/// A rule or a default as people write it: every field spelled out, so that a typo is an error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "match")]
    when: Option<Matcher>,
    force: Option<bool>,
    action: Option<Action>,
    backoff: Option<Backoff>,
    max_attempts: Option<u32>,
    #[serde(default, with = "span::optional")]
    max_elapsed: Option<Duration>,
    #[serde(default, with = "span::optional")]
    max_execution: Option<Duration>,
    counts: Option<bool>,
    retry_after: Option<Hints>,
    breaker: Option<bool>,
    budget_cost: Option<u32>,
    reason: Option<String>,
}

/// The default takes what is left; it has nothing to match and nothing to force.
#[derive(Debug, thiserror::Error)]
#[error("the default takes neither `match` nor `force`")]
struct NotForTheDefault;

impl From<Written> for Rule {
    fn from(mut written: Written) -> Self {
        let when = written.when.take().unwrap_or_default();
        let force = written.force.take().unwrap_or_default();
        Self { when, then: written.behaviour(), force }
    }
}

impl TryFrom<Written> for Behaviour {
    type Error = NotForTheDefault;

    fn try_from(written: Written) -> Result<Self, NotForTheDefault> {
        match (&written.when, written.force) {
            (None, None) => Ok(written.behaviour()),
            _ => Err(NotForTheDefault),
        }
    }
}

impl Written {
    fn behaviour(self) -> Behaviour {
        let default = Behaviour::default();
        Behaviour {
            action: self.action.unwrap_or(default.action),
            backoff: self.backoff.unwrap_or(default.backoff),
            limits: Limits {
                max_attempts: self.max_attempts,
                max_elapsed: self.max_elapsed,
                max_execution: self.max_execution,
            },
            counts: self.counts.unwrap_or(default.counts),
            hints: self.retry_after.unwrap_or(default.hints),
            breaker: self.breaker.unwrap_or(default.breaker),
            budget_cost: self.budget_cost.unwrap_or(default.budget_cost),
            reason: self.reason,
        }
    }
}
