//! What became of the runs that a schedule started.

use steadfast_proto::{
    common, enums::WorkflowExecutionStatus as Status, schedule::ScheduleActionResult,
};
use steadfast_retry::Timestamp;

use super::{
    machine::{Closed, Schedule},
    state::Pending,
};
use crate::span;

impl Schedule {
    pub(super) fn take_starting(&mut self, request_id: &str) -> Option<Pending> {
        let place = self.state.starting.iter().position(|it| it.request_id == request_id)?;
        Some(self.state.starting.remove(place))
    }

    pub(super) fn started(&mut self, request_id: &str, run_id: String, now: Timestamp) {
        let Some(start) = self.take_starting(request_id) else { return };
        let execution = common::WorkflowExecution { workflow_id: start.workflow_id, run_id };
        let info = self.info();
        info.action_count += 1;
        if !start.beside {
            info.running_workflows.push(execution.clone());
        }
        if info.recent_actions.len() >= RECENT_MAX {
            info.recent_actions.remove(0);
        }
        let place = place_among(&info.recent_actions, start.due, start.begun);
        let action = ScheduleActionResult {
            schedule_time: Some(span::instant_to_wire(Timestamp(start.due))),
            actual_time: Some(span::instant_to_wire(now)),
            start_workflow_result: Some(execution),
            start_workflow_status: Status::Running.into(),
        };
        info.recent_actions.insert(place, action);
    }

    pub(super) fn closed(&mut self, closed: Closed, now: Timestamp) {
        // The news of its end may come before that of its start.
        self.started(&closed.request_id, closed.execution.run_id.clone(), now);
        let is_it = |it: &ScheduleActionResult| {
            it.start_workflow_result.as_ref() == Some(&closed.execution)
        };
        let info = self.info();
        if let Some(action) = info.recent_actions.iter_mut().find(|it| is_it(it)) {
            action.start_workflow_status = closed.status.into();
        }
        let was_waited_for = info.running_workflows.contains(&closed.execution);
        self.forget(&closed.execution);
        if self.policies().pause_on_failure {
            self.pause_if_failed(&closed);
        }
        if was_waited_for {
            self.hand_on(closed);
        }
    }

    /// What the next run is told about the last one.
    fn hand_on(&mut self, closed: Closed) {
        match closed.status {
            Status::Completed => {
                self.state.last_completion_result = closed.result;
                self.state.continued_failure = None;
            }
            Status::Failed | Status::TimedOut => self.state.continued_failure = closed.failure,
            Status::Unspecified
            | Status::Running
            | Status::Canceled
            | Status::Terminated
            | Status::ContinuedAsNew
            | Status::Paused => {}
        }
    }

    fn pause_if_failed(&mut self, closed: &Closed) {
        let id = &closed.execution.workflow_id;
        let notes = match closed.status {
            Status::Failed => {
                let message = closed.failure.as_ref().map_or("", |failure| &failure.message);
                format!("paused due to workflow failure: {id}: {message}")
            }
            Status::TimedOut => format!("paused due to workflow timeout: {id}"),
            Status::Unspecified
            | Status::Running
            | Status::Completed
            | Status::Canceled
            | Status::Terminated
            | Status::ContinuedAsNew
            | Status::Paused => return,
        };
        self.pause(true, notes);
        self.state.version += 1;
    }

    pub(super) fn heard(&mut self, request_id: &str, found: bool) {
        let known = self.state.closing.iter_mut().find(|it| it.request_id == request_id);
        let Some(closing) = known else { return };
        closing.heard = true;
        if !found && let Some(execution) = closing.execution.clone() {
            self.forget(&execution);
        }
    }

    fn forget(&mut self, execution: &common::WorkflowExecution) {
        self.info().running_workflows.retain(|it| it != execution);
        self.state.closing.retain(|it| it.execution.as_ref() != Some(execution));
    }
}

/// Where an action that was due at `due` belongs. The news of starts that were decided on together
/// come in any order, so it goes before those that were due later and came while it was under way.
fn place_among(actions: &[ScheduleActionResult], due: i64, begun: i64) -> usize {
    let at = |wire: &Option<_>| wire.as_ref().map_or(0, |it| span::instant_from_wire(it).nanos());
    let is_later =
        |it: &&ScheduleActionResult| at(&it.schedule_time) > due && at(&it.actual_time) >= begun;
    actions.len() - actions.iter().rev().take_while(is_later).count()
}

const RECENT_MAX: usize = 10;
