//! A history of the engine, as an orchestration's author sees it.
//!
//! What the engine notes for itself (workflow tasks, starts of attempts, cancellations of what lost
//! a race) is left out, and the rest is numbered from 1.

#![expect(clippy::wildcard_enum_match_arm, reason = "most events are not shown")]

use std::collections::BTreeMap;

use serde_json::Value;
use steadfast_proto::{
    common::Payloads,
    enums::ParentClosePolicy,
    failure::Failure as Wire,
    history::{HistoryEvent, history_event::Attributes as E},
    prost_types,
};

use super::{
    error::ErrorDetails,
    event::{Event, EventKind as K},
    text,
};
use crate::{error::Failure, payload, span};

/// Shows a history of the engine in duroxide's words.
pub fn view(history: &[HistoryEvent]) -> Vec<Event> {
    let mut view = View::default();
    for event in history {
        view.take(event);
    }
    view.events
}

#[derive(Default)]
struct View {
    events: Vec<Event>,
    /// The numbers that the engine's events have here, if others answer them.
    numbers: BTreeMap<i64, u64>,
    /// When timers fire, by the engine's number of their start.
    timers: BTreeMap<i64, u64>,
    cancel_reason: String,
}

impl View {
    fn take(&mut self, event: &HistoryEvent) {
        let Some(attributes) = &event.attributes else { return };
        let timestamp_ms = event.event_time.as_ref().map(millis).unwrap_or_default();
        let shown = match self.began(event.event_id, timestamp_ms, attributes) {
            Some(kind) => Some((None, kind)),
            None => self.answered(attributes),
        };
        let Some((source, kind)) = shown else { return };
        let event_id = u64::try_from(self.events.len()).unwrap_or_default() + 1;
        self.numbers.insert(event.event_id, event_id);
        self.events.push(Event { event_id, source_event_id: source, timestamp_ms, kind });
    }

    /// Events that answer no other.
    fn began(&mut self, id: i64, now_ms: u64, attributes: &E) -> Option<K> {
        Some(match attributes {
            E::WorkflowExecutionStartedEventAttributes(it) => K::OrchestrationStarted {
                name: it.workflow_type.as_ref().map(|it| it.name.clone()).unwrap_or_default(),
                input: read(it.input.as_ref()),
                parent_instance: it
                    .parent_workflow_execution
                    .as_ref()
                    .map(|it| it.workflow_id.clone()),
            },
            E::WorkflowExecutionSignaledEventAttributes(it) => {
                K::ExternalEvent { name: it.signal_name.clone(), data: read(it.input.as_ref()) }
            }
            E::WorkflowExecutionCancelRequestedEventAttributes(it) => {
                self.cancel_reason.clone_from(&it.cause);
                K::OrchestrationCancelRequested { reason: it.cause.clone() }
            }
            E::ActivityTaskScheduledEventAttributes(it) => K::ActivityScheduled {
                name: it.activity_type.as_ref().map(|it| it.name.clone()).unwrap_or_default(),
                input: read(it.input.as_ref()),
            },
            E::TimerStartedEventAttributes(it) => {
                let span = it.start_to_fire_timeout.as_ref().map(span::from_wire);
                let span = u64::try_from(span.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
                let fire_at_ms = now_ms.saturating_add(span);
                self.timers.insert(id, fire_at_ms);
                K::TimerCreated { fire_at_ms }
            }
            E::StartChildWorkflowExecutionInitiatedEventAttributes(it) => {
                let name = it.workflow_type.as_ref().map(|it| it.name.clone()).unwrap_or_default();
                let (instance, input) = (it.workflow_id.clone(), read(it.input.as_ref()));
                if it.parent_close_policy() == ParentClosePolicy::Abandon {
                    K::OrchestrationChained { name, instance, input }
                } else {
                    K::SubOrchestrationScheduled { name, instance, input }
                }
            }
            _ => return self.closed(attributes),
        })
    }

    /// The last event.
    fn closed(&self, attributes: &E) -> Option<K> {
        Some(match attributes {
            E::WorkflowExecutionCompletedEventAttributes(it) => {
                K::OrchestrationCompleted { output: read(it.result.as_ref()) }
            }
            E::WorkflowExecutionFailedEventAttributes(it) => {
                let failure = of_wire(it.failure.as_ref());
                K::OrchestrationFailed { details: ErrorDetails::of_orchestration(&failure) }
            }
            E::WorkflowExecutionCanceledEventAttributes(_) => {
                let details = ErrorDetails::cancelled(self.cancel_reason.clone());
                K::OrchestrationFailed { details }
            }
            E::WorkflowExecutionTerminatedEventAttributes(it) => {
                K::OrchestrationFailed { details: ErrorDetails::cancelled(it.reason.clone()) }
            }
            E::WorkflowExecutionTimedOutEventAttributes(_) => {
                let message = "the orchestration timed out".to_owned();
                K::OrchestrationFailed { details: ErrorDetails::Infrastructure { message } }
            }
            E::WorkflowExecutionContinuedAsNewEventAttributes(it) => {
                K::OrchestrationContinuedAsNew { input: read(it.input.as_ref()) }
            }
            _ => return None,
        })
    }

    /// Events that answer another.
    fn answered(&self, attributes: &E) -> Option<(Option<u64>, K)> {
        let (source, kind) = match attributes {
            E::ActivityTaskCompletedEventAttributes(it) => {
                let result = read(it.result.as_ref());
                (it.scheduled_event_id, K::ActivityCompleted { result })
            }
            E::ActivityTaskFailedEventAttributes(it) => {
                let details = ErrorDetails::of_activity(&of_wire(it.failure.as_ref()));
                (it.scheduled_event_id, K::ActivityFailed { details })
            }
            E::ActivityTaskTimedOutEventAttributes(it) => {
                let message = of_wire(it.failure.as_ref()).message().to_owned();
                let details = ErrorDetails::Infrastructure { message };
                (it.scheduled_event_id, K::ActivityFailed { details })
            }
            E::TimerFiredEventAttributes(it) => {
                let fire_at_ms = self.timers.get(&it.started_event_id).copied().unwrap_or_default();
                (it.started_event_id, K::TimerFired { fire_at_ms })
            }
            _ => self.child_closed(attributes)?,
        };
        Some((self.numbers.get(&source).copied(), kind))
    }

    /// The end of another orchestration. That of one which was left to itself is nobody's business.
    fn child_closed(&self, attributes: &E) -> Option<(i64, K)> {
        let failed = |details| K::SubOrchestrationFailed { details };
        let (source, kind) = match attributes {
            E::ChildWorkflowExecutionCompletedEventAttributes(it) => {
                let result = read(it.result.as_ref());
                (it.initiated_event_id, K::SubOrchestrationCompleted { result })
            }
            E::ChildWorkflowExecutionFailedEventAttributes(it) => {
                let failure = of_wire(it.failure.as_ref());
                (it.initiated_event_id, failed(ErrorDetails::of_orchestration(&failure)))
            }
            E::ChildWorkflowExecutionCanceledEventAttributes(it) => {
                (it.initiated_event_id, failed(ErrorDetails::cancelled(String::new())))
            }
            E::ChildWorkflowExecutionTimedOutEventAttributes(it) => {
                let message = "the orchestration timed out".to_owned();
                (it.initiated_event_id, failed(ErrorDetails::Infrastructure { message }))
            }
            E::ChildWorkflowExecutionTerminatedEventAttributes(it) => {
                let details = ErrorDetails::cancelled("terminated".to_owned());
                (it.initiated_event_id, failed(details))
            }
            E::StartChildWorkflowExecutionFailedEventAttributes(it) => {
                let message = format!("instance {} is there already", it.workflow_id);
                (it.initiated_event_id, failed(ErrorDetails::Configuration { message }))
            }
            _ => return None,
        };
        let number = usize::try_from(*self.numbers.get(&source)?).ok()?;
        let scheduled = self.events.get(number.checked_sub(1)?)?;
        let awaited = matches!(scheduled.kind, K::SubOrchestrationScheduled { .. });
        awaited.then_some((source, kind))
    }
}

fn read(payloads: Option<&Payloads>) -> String {
    payload::decode_one::<Value>(payloads).map(text::of_value).unwrap_or_default()
}

fn of_wire(wire: Option<&Wire>) -> Failure {
    Failure::from_wire(wire.cloned().unwrap_or_default())
}

fn millis(time: &prost_types::Timestamp) -> u64 {
    let seconds = u64::try_from(time.seconds).unwrap_or_default();
    let nanos = u64::try_from(time.nanos).unwrap_or_default();
    seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000)
}
