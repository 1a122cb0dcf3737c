//! One line about one event.
//!
//! What is told is found by name: most events that are about something name it in one of a few
//! fields, and say in a few others why it happened. So events that a newer API adds are told, too.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;
use steadfast_proto::{enums::EventType, history::HistoryEvent};

use crate::{
    names,
    output::{Paint, Payloads, cut, message},
    time,
};

/// A teller of events. Later events name what they are about by the number of an earlier one.
#[derive(Debug)]
pub(super) struct Teller {
    paint: Paint,
    subjects: BTreeMap<String, String>,
    widest: usize,
}

impl Teller {
    pub(super) fn new(paint: Paint) -> Self {
        Self { paint, subjects: BTreeMap::new(), widest: 32 }
    }

    /// The line about an event.
    pub(super) fn line(&mut self, event: &HistoryEvent) -> Result<String> {
        let kind = EventType::try_from(event.event_type).unwrap_or_default();
        let kind = names::shown(kind.as_str_name(), "EVENT_TYPE_");
        let whole = message(event, Payloads::Decoded)?;
        let none = Value::Null;
        let attributes = whole
            .as_object()
            .and_then(|fields| fields.iter().find(|(name, _)| name.ends_with("EventAttributes")))
            .map_or(&none, |(_, attributes)| attributes);
        let subject = self.subject(event.event_id, attributes);
        let attempt = attributes["attempt"].as_i64().map(|number| format!("attempt {number}"));
        let told = [Some(subject), attempt, reason(attributes), outcome(attributes)];
        let told: Vec<String> =
            told.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        self.widest = self.widest.max(kind.len());
        let padding = " ".repeat(self.widest - kind.len());
        let line = format!(
            "{:>5}  {}  {}{padding}  {}",
            event.event_id,
            self.paint.faint(&time::at(event.event_time.as_ref())),
            self.coloured(&kind),
            told.join("  "),
        );
        Ok(line.trim_end().to_owned())
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

    fn coloured(&self, kind: &str) -> String {
        let has = |words: &[&str]| words.iter().any(|word| kind.ends_with(word));
        if has(&["Failed", "TimedOut", "Terminated", "Rejected"]) {
            self.paint.bad(kind)
        } else if has(&["Canceled", "CancelRequested", "ContinuedAsNew"]) {
            self.paint.odd(kind)
        } else if kind.starts_with("WorkflowTask") {
            self.paint.faint(kind)
        } else if has(&["Completed", "Fired"]) {
            self.paint.good(kind)
        } else {
            kind.to_owned()
        }
    }
}

/// Why it happened.
fn reason(attributes: &Value) -> Option<String> {
    let failure = FAILURES.iter().map(|name| (*name, &attributes[*name]));
    let failure = failure.into_iter().find(|(_, it)| it.is_object());
    if let Some((name, it)) = failure {
        let text = failure_text(it);
        let told = if name == "lastFailure" { format!("after: {text}") } else { text };
        return Some(cut(&told, WIDTH));
    }
    let reason = REASONS.iter().find_map(|name| attributes[*name].as_str());
    reason.filter(|it| !it.is_empty()).map(|it| cut(&in_words(it), WIDTH))
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
    Some(format!("{label} {}", cut(&text, WIDTH)))
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
    prefix.map_or_else(|| text.to_owned(), |prefix| names::shown(text, prefix))
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
/// How much of a value is told on the line.
const WIDTH: usize = 100;
