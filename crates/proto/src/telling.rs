//! What an event tells, in parts that make a line.
//!
//! What is told is found by name: most events that are about something name it in one of a few
//! fields, and say in a few others why it happened. So events that a newer API adds are told, too.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    generated::temporal::api::{enums::v1::EventType, history::v1::HistoryEvent},
    json::{NotJson, Payloads, message},
    names::shown,
};

/// A teller of events. Later events name what they are about by the number of an earlier one.
#[derive(Debug, Default)]
pub struct Teller {
    subjects: BTreeMap<String, String>,
}

/// What an event tells. What it does not say is empty.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// Its type: `ActivityTaskFailed`.
    pub kind: String,
    /// What it is about: the type of an activity, the name of a signal, …
    pub subject: String,
    /// The attempt, if it is one.
    pub attempt: Option<i64>,
    /// Why it happened.
    pub reason: String,
    /// What was given, or came of it.
    pub outcome: String,
    /// All that it says.
    pub attributes: Value,
}

/// How an event is meant, for whoever paints it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mood {
    /// Something failed.
    Bad,
    /// Something went another way.
    Odd,
    /// Something was done.
    Good,
    /// The engine's own business.
    Faint,
    /// Nothing of these.
    Plain,
}

impl Teller {
    /// What an event tells. Events are told in their order.
    pub fn tell(&mut self, event: &HistoryEvent) -> Result<Told, NotJson> {
        let kind = EventType::try_from(event.event_type).unwrap_or_default();
        let kind = shown(kind.as_str_name(), "EVENT_TYPE_");
        let Value::Object(fields) = message(event, Payloads::Decoded)? else {
            return Ok(Told { kind, ..Told::default() });
        };
        let attributes = fields.into_iter().find(|(name, _)| name.ends_with("EventAttributes"));
        let attributes = attributes.map(|(_, attributes)| attributes).unwrap_or_default();
        Ok(Told {
            kind,
            subject: self.subject(event.event_id, &attributes),
            attempt: attributes["attempt"].as_i64(),
            reason: reason(&attributes).unwrap_or_default(),
            outcome: outcome(&attributes).unwrap_or_default(),
            attributes,
        })
    }

    /// What an event is about: named in it, or in the one that it refers to.
    fn subject(&mut self, event_id: i64, attributes: &Value) -> String {
        let earlier = REFERENCES.iter().find_map(|name| attributes[*name].as_str());
        let earlier = earlier.and_then(|number| self.subjects.get(number)).cloned();
        let named = SUBJECTS.iter().find_map(|path| text_at(attributes, path)).map(str::to_owned);
        let Some(subject) = earlier.or(named) else { return String::new() };
        self.subjects.insert(event_id.to_string(), subject.clone());
        subject
    }
}

impl Told {
    /// How it is meant.
    pub fn mood(&self) -> Mood {
        let has = |words: &[&str]| words.iter().any(|word| self.kind.ends_with(word));
        if has(&["Failed", "TimedOut", "Terminated", "Rejected"]) {
            Mood::Bad
        } else if has(&["Canceled", "CancelRequested", "ContinuedAsNew"]) {
            Mood::Odd
        } else if self.kind.starts_with("WorkflowTask") {
            Mood::Faint
        } else if has(&["Completed", "Fired"]) {
            Mood::Good
        } else {
            Mood::Plain
        }
    }
}

/// Why it happened.
fn reason(attributes: &Value) -> Option<String> {
    let mut failures = FAILURES.iter().map(|name| (*name, &attributes[*name]));
    if let Some((name, it)) = failures.find(|(_, it)| it.is_object()) {
        let text = failure_text(it);
        return Some(if name == "lastFailure" { format!("after: {text}") } else { text });
    }
    let reason = REASONS.iter().find_map(|name| attributes[*name].as_str());
    reason.filter(|it| !it.is_empty()).map(in_words)
}

/// What was given, or came of it.
fn outcome(attributes: &Value) -> Option<String> {
    if let Some(span) = attributes["startToFireTimeout"].as_str() {
        return Some(format!("in {span}"));
    }
    let found = [("input", "input"), ("result", "result"), ("details", "details")];
    let (label, value) = found
        .iter()
        .map(|(name, label)| (*label, &attributes[*name]))
        .find(|(_, value)| !value.is_null())?;
    let text = match value.as_array() {
        Some(list) => list.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
        None => value.to_string(),
    };
    Some(format!("{label} {text}"))
}

/// A failure that was made JSON, told like any other.
fn failure_text(failure: &Value) -> String {
    let kind = failure["applicationFailureInfo"]["type"].as_str().unwrap_or_default();
    let said = failure["message"].as_str().unwrap_or_default();
    let own = if kind.is_empty() { said.to_owned() } else { format!("{kind}: {said}") };
    let cause = &failure["cause"];
    if cause.is_object() { format!("{own}: {}", failure_text(cause)) } else { own }
}

/// A name of an enumeration is told in words.
fn in_words(text: &str) -> String {
    let prefix = CAUSES.iter().find(|prefix| text.starts_with(**prefix));
    prefix.map_or_else(|| text.to_owned(), |prefix| shown(text, prefix))
}

fn text_at<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    let found = path.split('.').fold(value, |value, name| &value[name]);
    found.as_str().filter(|text| !text.is_empty())
}

/// Where events name what they are about.
const SUBJECTS: &[&str] = &[
    "activityType.name",
    "timerId",
    "signalName",
    "markerName",
    "meta.updateId",
    "acceptedRequest.input.name",
    "request.input.name",
    "operation",
    "workflowType.name",
    "workflowExecution.workflowId",
];
/// Where events refer to earlier ones.
const REFERENCES: &[&str] =
    &["scheduledEventId", "initiatedEventId", "acceptedEventId", "startedEventId"];
const FAILURES: &[&str] = &["failure", "lastFailure", "continuedFailure"];
const REASONS: &[&str] = &["reason", "cause", "timeoutType"];
const CAUSES: &[&str] = &[
    "WORKFLOW_TASK_FAILED_CAUSE_",
    "START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_",
    "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_",
    "CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_CAUSE_",
    "TIMEOUT_TYPE_",
];
