//! The events of an orchestration's history, in duroxide's words.

use std::fmt;

use super::error::ErrorDetails;

/// An event.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[expect(clippy::struct_field_names, reason = "duroxide's names")]
pub struct Event {
    /// Its number, from 1.
    pub event_id: u64,
    /// The event that it answers.
    pub source_event_id: Option<u64>,
    /// When it happened, in milliseconds since 1970.
    pub timestamp_ms: u64,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields say what their names say")]
pub enum EventKind {
    /// The run began.
    OrchestrationStarted { name: String, input: String, parent_instance: Option<String> },
    /// It ended with a result.
    OrchestrationCompleted { output: String },
    /// It ended without one.
    OrchestrationFailed { details: ErrorDetails },
    /// It went on as a new run.
    OrchestrationContinuedAsNew { input: String },
    /// Somebody wants it cancelled.
    OrchestrationCancelRequested { reason: String },
    /// An activity was called.
    ActivityScheduled { name: String, input: String },
    /// It gave a result.
    ActivityCompleted { result: String },
    /// It failed.
    ActivityFailed { details: ErrorDetails },
    /// A timer was started.
    TimerCreated { fire_at_ms: u64 },
    /// It has fired.
    TimerFired { fire_at_ms: u64 },
    /// Something came from outside.
    ExternalEvent { name: String, data: String },
    /// Another orchestration was started and left to itself.
    OrchestrationChained { name: String, instance: String, input: String },
    /// Another orchestration was called.
    SubOrchestrationScheduled { name: String, instance: String, input: String },
    /// It gave a result.
    SubOrchestrationCompleted { result: String },
    /// It failed.
    SubOrchestrationFailed { details: ErrorDetails },
}

impl EventKind {
    /// Its name, without what it holds.
    pub fn name(&self) -> &'static str {
        match self {
            Self::OrchestrationStarted { .. } => "OrchestrationStarted",
            Self::OrchestrationCompleted { .. } => "OrchestrationCompleted",
            Self::OrchestrationFailed { .. } => "OrchestrationFailed",
            Self::OrchestrationContinuedAsNew { .. } => "OrchestrationContinuedAsNew",
            Self::OrchestrationCancelRequested { .. } => "OrchestrationCancelRequested",
            Self::ActivityScheduled { .. } => "ActivityScheduled",
            Self::ActivityCompleted { .. } => "ActivityCompleted",
            Self::ActivityFailed { .. } => "ActivityFailed",
            Self::TimerCreated { .. } => "TimerCreated",
            Self::TimerFired { .. } => "TimerFired",
            Self::ExternalEvent { .. } => "ExternalEvent",
            Self::OrchestrationChained { .. } => "OrchestrationChained",
            Self::SubOrchestrationScheduled { .. } => "SubOrchestrationScheduled",
            Self::SubOrchestrationCompleted { .. } => "SubOrchestrationCompleted",
            Self::SubOrchestrationFailed { .. } => "SubOrchestrationFailed",
        }
    }

    /// What it holds, in the order in which a listing shows it.
    fn fields(&self) -> Vec<(&'static str, String)> {
        let quoted = |text: &str| format!("{text:?}");
        match self {
            Self::OrchestrationStarted { name, input, .. }
            | Self::ActivityScheduled { name, input } => {
                vec![("name", quoted(name)), ("input", quoted(input))]
            }
            Self::OrchestrationCompleted { output } => vec![("output", quoted(output))],
            Self::OrchestrationContinuedAsNew { input } => vec![("input", quoted(input))],
            Self::OrchestrationCancelRequested { reason } => vec![("reason", quoted(reason))],
            Self::ActivityCompleted { result } | Self::SubOrchestrationCompleted { result } => {
                vec![("result", quoted(result))]
            }
            Self::OrchestrationFailed { details }
            | Self::ActivityFailed { details }
            | Self::SubOrchestrationFailed { details } => {
                vec![("error", quoted(&details.to_string()))]
            }
            Self::TimerCreated { fire_at_ms } | Self::TimerFired { fire_at_ms } => {
                vec![("fire_at_ms", fire_at_ms.to_string())]
            }
            Self::ExternalEvent { name, data } => {
                vec![("name", quoted(name)), ("data", quoted(data))]
            }
            Self::OrchestrationChained { name, instance, input }
            | Self::SubOrchestrationScheduled { name, instance, input } => {
                let instance = ("instance", quoted(instance));
                vec![("name", quoted(name)), instance, ("input", quoted(input))]
            }
        }
    }
}

impl fmt::Display for Event {
    /// A line of a listing: `[4] ActivityFailed { source_event_id: 3, error: "boom" }`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = self.source_event_id.map(|id| ("source_event_id", id.to_string()));
        let fields = source.into_iter().chain(self.kind.fields());
        let fields: Vec<_> = fields.map(|(name, value)| format!("{name}: {value}")).collect();
        write!(f, "[{}] {} {{ {} }}", self.event_id, self.kind.name(), fields.join(", "))
    }
}
