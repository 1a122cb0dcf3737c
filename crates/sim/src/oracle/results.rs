//! What a program came to is what its history says it must have come to.

use steadfast_proto::history::{HistoryEvent, history_event::Attributes};

use super::Run;
use crate::{
    program::{View, decide},
    wire,
};

/// Checks how a run ended.
pub(super) fn check(run: &Run, broken: &mut impl FnMut(&Run, String)) {
    let told = match run.events.last().and_then(|event| event.attributes.as_ref()) {
        Some(Attributes::WorkflowExecutionCompletedEventAttributes(it)) => {
            wire::text(it.result.as_ref())
        }
        Some(Attributes::WorkflowExecutionFailedEventAttributes(it)) => {
            it.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default()
        }
        _ => return,
    };
    let decision = decide(&run.workflow_id, &View::of(before_last_task(&run.events)));
    if !decision.ends || decision.result != told {
        let wanted = decision.result;
        broken(run, format!("it came to {told:?}, and its history to {wanted:?}"));
    }
}

/// The history that the last workflow task was about.
fn before_last_task(events: &[HistoryEvent]) -> &[HistoryEvent] {
    let is_start = |event: &HistoryEvent| {
        matches!(event.attributes, Some(Attributes::WorkflowTaskStartedEventAttributes(_)))
    };
    let last = events.iter().rposition(is_start).map_or(0, |place| place + 1);
    &events[..last]
}
