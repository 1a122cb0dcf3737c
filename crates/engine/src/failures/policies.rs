//! An operator's retry policies: named, in versions, each for a part of the work.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use steadfast_core::{KeyRule, Timestamp};
use steadfast_retry::{
    Draft, Layer, Matcher, PlacedRule, Policy, Rule, explain::unreachable_rules,
    pattern::NamePattern,
};

use super::book::Who;

/// A policy of the operators.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorPolicy {
    /// What people call it.
    pub name: String,
    /// Its versions, the oldest first. The last one holds.
    pub versions: Vec<PolicyVersion>,
}

/// A policy as it was from one change to the next.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyVersion {
    /// From 1.
    pub version: u32,
    /// When it was put, in nanoseconds since the epoch.
    pub at: i64,
    /// By whom and why.
    #[serde(flatten)]
    pub who: Who,
    /// When it is asked.
    pub position: Position,
    /// Which work it is for.
    pub scope: Scope,
    /// What it says.
    pub policy: Draft,
}

/// When a policy is asked.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Position {
    /// Before what the author of the workflow says.
    #[default]
    Before,
    /// After the author's rules, before the author's default.
    After,
    /// Not by itself: it is given to work that is already retrying.
    Named,
}

/// Which work a policy is for. What is not given does not restrict.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Scope {
    /// The workflow types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<NamePattern>,
    /// The activity types.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<NamePattern>,
    /// The kinds of activity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_kind: Option<NamePattern>,
    /// The task queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_queue: Option<NamePattern>,
}

/// A policy as somebody puts it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewPolicy {
    /// What it is to be called.
    pub name: String,
    /// When it is asked.
    pub position: Position,
    /// Which work it is for.
    pub scope: Scope,
    /// What it says.
    pub policy: Draft,
    /// The version that whoever puts it has seen; `None` if there is to be none yet.
    pub expected: Option<u32>,
    /// Whether it is meant to take every failure of the namespace.
    pub all: bool,
}

impl OperatorPolicy {
    /// The version that holds.
    pub fn current(&self) -> Option<&PolicyVersion> {
        self.versions.last()
    }

    /// The number of the version that holds.
    pub fn version(&self) -> u32 {
        self.current().map_or(0, |it| it.version)
    }

    /// How long keys are remembered, if it says so of work in its scope.
    pub(super) fn key_rule(&self) -> Option<KeyRule> {
        let current = self.current().filter(|it| it.position != Position::Named)?;
        let ttl = current.policy.idempotency?.ttl;
        let Scope { workflow_type, activity, activity_kind, task_queue } = current.scope.clone();
        let over_author = current.position == Position::Before;
        Some(KeyRule { workflow_type, activity, activity_kind, task_queue, ttl, over_author })
    }

    /// Puts its rules behind those that are asked at that position, if its are.
    pub(super) fn place(&self, position: Position, all: &mut Vec<PlacedRule>) {
        let Some(current) = self.current().filter(|it| it.position == position) else { return };
        let layer = match position {
            Position::Before => Layer::Operator,
            Position::After | Position::Named => Layer::Namespace,
        };
        let source: Arc<str> = format!("{}@{}", self.name, current.version).into();
        for rule in current.scoped_rules() {
            PlacedRule::place(all, rule, layer, Arc::clone(&source));
        }
    }
}

impl PolicyVersion {
    /// A policy as it is put.
    pub(super) fn new(put: NewPolicy, version: u32, at: Timestamp, who: Who) -> Self {
        let NewPolicy { position, scope, policy, .. } = put;
        Self { version, at: at.nanos(), who, position, scope, policy }
    }

    /// Its rules for the work that it is for; its default is the last of them.
    fn scoped_rules(&self) -> Vec<Rule> {
        let default = self.policy.default.clone().map(|mut then| {
            then.limits = then.limits.or(self.policy.limits);
            Rule { when: Matcher::default(), then, force: false }
        });
        let rules = self.policy.rules.iter().cloned().chain(default);
        rules.map(|rule| Rule { when: self.scope.narrow(rule.when), ..rule }).collect()
    }
}

impl NewPolicy {
    /// Everything that is wrong with it.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.name.is_empty() || self.name.len() > NAME_BYTES_MAX {
            faults.push(format!("name must have 1 to {NAME_BYTES_MAX} bytes"));
        }
        if let Err(invalid) = Policy::new(self.policy.clone()) {
            faults.extend(invalid.faults.iter().map(ToString::to_string));
        }
        let says_nothing = self.policy.default.is_none() && self.policy.idempotency.is_none();
        if self.policy.rules.is_empty() && says_nothing {
            faults.push("policy says nothing: give it rules or a default".to_owned());
        }
        let takes_all = self.position != Position::Named && self.scope == Scope::default() && {
            let has_catch_all = self.policy.rules.iter().any(|rule| rule.when.is_catch_all());
            has_catch_all || self.policy.default.is_some()
        };
        if takes_all && !self.all {
            faults.push(
                "policy takes every failure of the namespace: narrow its scope or its rules, or say \
                 so with all"
                    .to_owned(),
            );
        }
        faults
    }

    /// What looks wrong with it, though it can be used.
    pub(super) fn warnings(&self) -> Vec<String> {
        let Ok(policy) = Policy::new(self.policy.clone()) else { return Vec::new() };
        let hidden = unreachable_rules(&policy);
        hidden
            .into_iter()
            .map(|rule| {
                format!("rule {rule} can never match: one before it takes all of its failures")
            })
            .collect()
    }
}

impl Scope {
    /// The matcher for what is both within the scope and taken by `when`.
    fn narrow(&self, when: Matcher) -> Matcher {
        Matcher {
            workflow_type: when.workflow_type.or_else(|| self.workflow_type.clone()),
            activity: when.activity.or_else(|| self.activity.clone()),
            activity_kind: when.activity_kind.or_else(|| self.activity_kind.clone()),
            task_queue: when.task_queue.or_else(|| self.task_queue.clone()),
            ..when
        }
    }
}

const NAME_BYTES_MAX: usize = 255;
