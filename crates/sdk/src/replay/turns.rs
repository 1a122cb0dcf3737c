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
///
/// It is cut from its end, so that every event is moved once at the most, and not at all where there
/// is one turn, as in every step of a workflow that is at hand.
pub(crate) fn turns(mut events: Vec<HistoryEvent>) -> VecDeque<Turn> {
    let mut turns = VecDeque::new();
    let mut end = end_of(&events);
    while let Some((asks, answered)) = end {
        let before = events.len().saturating_sub(1);
        let cut = (0..before).rev().find(|at| is_answered(&events, *at));
        let rest = cut.map(|at| events.split_off(at + 1));
        let turn = rest.unwrap_or_else(|| std::mem::take(&mut events));
        turns.push_front(Turn { events: turn, asks, answered });
        end = cut.map(|_| (true, true));
    }
    turns
}

/// Whether the code is asked at the end of a history, and history knows the answer; `None` if there is
/// no history.
fn end_of(events: &[HistoryEvent]) -> Option<(bool, bool)> {
    events.last().map(|event| (event.event_type() == EventType::WorkflowTaskStarted, false))
}

/// Whether the event at this place starts a workflow task that the next one answers.
fn is_answered(events: &[HistoryEvent], at: usize) -> bool {
    let kind = |at: usize| events.get(at).map(HistoryEvent::event_type);
    kind(at) == Some(EventType::WorkflowTaskStarted)
        && kind(at + 1) == Some(EventType::WorkflowTaskCompleted)
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
