//! Turns: a history cut where the code was asked.
//!
//! A turn ends with the start of a workflow task that was answered, or with the one that is to be
//! answered now. Tasks that failed or timed out were never answered: they are part of the turn.

use std::collections::VecDeque;

use steadfast_proto::{
    enums::EventType,
    history::{HistoryEvent, history_event::Attributes},
};

/// Events up to a question to the code.
#[derive(Debug)]
pub(crate) struct Turn {
    /// In order; the last one is the start of the workflow task, unless history ends otherwise.
    pub(crate) events: Vec<HistoryEvent>,
    /// Whether the code is asked at its end.
    pub(crate) asks: bool,
    /// Whether history knows the answer already.
    pub(crate) answered: bool,
}

/// Cuts a history into turns. A workflow task that history ends with is to be answered now.
pub(crate) fn turns(events: Vec<HistoryEvent>) -> VecDeque<Turn> {
    let mut turns = VecDeque::new();
    let mut current = Vec::new();
    let mut events = events.into_iter().peekable();
    while let Some(event) = events.next() {
        let starts = event.event_type() == EventType::WorkflowTaskStarted;
        let next = events.peek().map(HistoryEvent::event_type);
        let answered = next == Some(EventType::WorkflowTaskCompleted);
        current.push(event);
        if starts && (answered || next.is_none()) {
            turns.push_back(Turn { events: std::mem::take(&mut current), asks: true, answered });
        }
    }
    if !current.is_empty() {
        turns.push_back(Turn { events: current, asks: false, answered: false });
    }
    turns
}

/// Whether an event is the trace of a command that the code issued.
pub(crate) fn is_command(event: &HistoryEvent) -> bool {
    use EventType as E;
    matches!(
        event.event_type(),
        E::ActivityTaskScheduled
            | E::ActivityTaskCancelRequested
            | E::TimerStarted
            | E::TimerCanceled
            | E::MarkerRecorded
            | E::StartChildWorkflowExecutionInitiated
            | E::SignalExternalWorkflowExecutionInitiated
            | E::RequestCancelExternalWorkflowExecutionInitiated
            | E::UpsertWorkflowSearchAttributes
            | E::WorkflowPropertiesModified
            | E::WorkflowExecutionUpdateAccepted
            | E::WorkflowExecutionUpdateCompleted
            | E::WorkflowExecutionCompleted
            | E::WorkflowExecutionFailed
            | E::WorkflowExecutionCanceled
            | E::WorkflowExecutionContinuedAsNew
    )
}

/// The commands at the beginning of a turn: what the code answered to the turn before, and the events
/// that say so.
pub(crate) fn answers(turn: Option<&Turn>) -> impl Iterator<Item = (i64, &Attributes)> {
    let events = turn.map(|turn| turn.events.as_slice()).unwrap_or_default();
    let commands = events.iter().filter(|event| is_command(event));
    commands.filter_map(|event| Some((event.event_id, event.attributes.as_ref()?)))
}
