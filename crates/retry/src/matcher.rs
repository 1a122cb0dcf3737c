//! Which failures a rule is about. All given fields must agree; an empty matcher takes everything.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    code::{Class, CodePattern},
    failure::{Cause, Failure, TimeoutKind},
    pattern::{NamePattern, TextPattern},
    range::{Attempts, Elapsed},
};

/// The criteria of a rule.
///
/// ```
/// # use steadfast_retry::{Failure, Matcher, Occasion, pattern::NamePattern};
/// let http = Matcher { error_type: Some(NamePattern::new("Http*")?), ..Matcher::default() };
/// let occasion = Occasion::default();
/// assert!(http.matches(&Failure::of_type("HttpError", "boom"), &occasion));
/// assert!(!http.matches(&Failure::of_type("CardDeclined", "no"), &occasion));
/// # Ok::<(), steadfast_retry::pattern::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matcher {
    /// The author's name for the error.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub error_type: Option<NamePattern>,
    /// A piece of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<TextPattern>,
    /// `429`, `5xx`, `grpc:UNAVAILABLE`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodePattern>,
    /// The kind of trouble.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
    /// Which clock ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<TimeoutKind>,
    /// The activity type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<NamePattern>,
    /// The kind of activity: the tag given at its registration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity_kind: Option<NamePattern>,
    /// The task queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_queue: Option<NamePattern>,
    /// The workflow type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow_type: Option<NamePattern>,
    /// Which attempts, counted from 1: `1..3`, `4..`, `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<Attempts>,
    /// How long since the first attempt: `<10m`, `>=1h`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed: Option<Elapsed>,
    /// How far down the chain of causes type, message and code may be found.
    pub cause_depth: CauseDepth,
}

/// How far down the chain of causes to look.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseDepth {
    /// Any link will do, as long as one link has all three.
    #[default]
    Any,
    /// Only the failure itself.
    Outermost,
}

/// Where and when it happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Occasion<'a> {
    /// Where it happened.
    pub place: Place<'a>,
    /// The number of the attempt that failed, from 1.
    pub attempt: u32,
    /// Since the first attempt.
    pub elapsed: Duration,
}

/// The names of what failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place<'a> {
    /// The activity type.
    pub activity: &'a str,
    /// The kind of activity: the tag given at its registration.
    pub activity_kind: &'a str,
    /// The task queue.
    pub task_queue: &'a str,
    /// The workflow type.
    pub workflow_type: &'a str,
}

impl Matcher {
    /// Takes application errors of exactly this type, looking at the outermost failure only.
    #[must_use]
    pub fn exactly(error_type: &str) -> Self {
        Self {
            error_type: Some(NamePattern::Exact(error_type.to_owned())),
            cause_depth: CauseDepth::Outermost,
            ..Self::default()
        }
    }

    /// Takes failures of this class.
    #[must_use]
    pub fn of_class(class: Class) -> Self {
        Self { class: Some(class), ..Self::default() }
    }

    /// Takes this timeout.
    #[must_use]
    pub fn of_timeout(kind: TimeoutKind) -> Self {
        Self { timeout: Some(kind), ..Self::default() }
    }

    /// Whether the failure is one of these.
    #[must_use]
    pub fn matches(&self, failure: &Failure<'_>, occasion: &Occasion<'_>) -> bool {
        self.class.is_none_or(|class| class == failure.class())
            && self.timeout.is_none_or(|kind| failure.timeout == Some(kind))
            && self.matches_occasion(occasion)
            && self.matches_chain(failure)
    }

    /// Whether it takes every failure there is.
    #[must_use]
    pub fn is_catch_all(&self) -> bool {
        *self == Self { cause_depth: self.cause_depth, ..Self::default() }
    }

    /// Whether surely every failure that `other` takes is one of these.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let depth = self.cause_depth == CauseDepth::Any
            || other.cause_depth == CauseDepth::Outermost
            || !self.looks_at_links();
        depth
            && covers(self.error_type.as_ref(), other.error_type.as_ref(), NamePattern::covers)
            && covers(self.message.as_ref(), other.message.as_ref(), TextPattern::covers)
            && covers(self.code.as_ref(), other.code.as_ref(), CodePattern::covers)
            && covers(self.class.as_ref(), other.class.as_ref(), Class::eq)
            && covers(self.timeout.as_ref(), other.timeout.as_ref(), TimeoutKind::eq)
            && covers(self.activity.as_ref(), other.activity.as_ref(), NamePattern::covers)
            && covers(
                self.activity_kind.as_ref(),
                other.activity_kind.as_ref(),
                NamePattern::covers,
            )
            && covers(self.task_queue.as_ref(), other.task_queue.as_ref(), NamePattern::covers)
            && covers(
                self.workflow_type.as_ref(),
                other.workflow_type.as_ref(),
                NamePattern::covers,
            )
            && covers(self.attempts.as_ref(), other.attempts.as_ref(), Attempts::covers)
            && covers(self.elapsed.as_ref(), other.elapsed.as_ref(), Elapsed::covers)
    }

    fn matches_occasion(&self, occasion: &Occasion<'_>) -> bool {
        let Place { activity, activity_kind, task_queue, workflow_type } = occasion.place;
        let named = |pattern: &Option<NamePattern>, name: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.matches(name))
        };
        named(&self.activity, activity)
            && named(&self.activity_kind, activity_kind)
            && named(&self.task_queue, task_queue)
            && named(&self.workflow_type, workflow_type)
            && self.attempts.as_ref().is_none_or(|range| range.contains(occasion.attempt))
            && self.elapsed.is_none_or(|bound| bound.contains(occasion.elapsed))
    }

    fn matches_chain(&self, failure: &Failure<'_>) -> bool {
        if !self.looks_at_links() || self.matches_link(&failure.head()) {
            return true;
        }
        self.cause_depth == CauseDepth::Any
            && failure.causes.iter().any(|link| self.matches_link(link))
    }

    fn looks_at_links(&self) -> bool {
        self.error_type.is_some() || self.message.is_some() || self.code.is_some()
    }

    fn matches_link(&self, link: &Cause<'_>) -> bool {
        let error_type = self.error_type.as_ref();
        let code = self.code.as_ref();
        error_type.is_none_or(|pattern| link.error_type.is_some_and(|name| pattern.matches(name)))
            && self.message.as_ref().is_none_or(|pattern| pattern.matches(link.message))
            && code.is_none_or(|pattern| link.code.is_some_and(|code| pattern.matches(code)))
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = [
            said("type", self.error_type.as_ref()),
            said("message", self.message.as_ref()),
            said("code", self.code.as_ref()),
            said("class", self.class.as_ref()),
            said("timeout", self.timeout.as_ref()),
            said("activity", self.activity.as_ref()),
            said("activity_kind", self.activity_kind.as_ref()),
            said("task_queue", self.task_queue.as_ref()),
            said("workflow_type", self.workflow_type.as_ref()),
            said("attempts", self.attempts.as_ref()),
            said("elapsed", self.elapsed.as_ref()),
        ]
        .into_iter()
        .flatten()
        .collect();
        f.pad(if parts.is_empty() { "any".to_owned() } else { parts.join(" ") }.as_str())
    }
}

fn said(name: &str, value: Option<&impl fmt::Display>) -> Option<String> {
    value.map(|value| format!("{name}={value}"))
}

/// A criterion that is not set takes everything; one that is set needs the other to be narrower.
fn covers<T>(mine: Option<&T>, theirs: Option<&T>, takes: impl Fn(&T, &T) -> bool) -> bool {
    match (mine, theirs) {
        (None, _) => true,
        (Some(mine), Some(theirs)) => takes(mine, theirs),
        (Some(_), None) => false,
    }
}
