//! What a worker or a caller is shown of a run, beside its history.

use steadfast_proto::{
    activity::ActivityOptions, enums::QueryRejectCondition, enums::WorkflowExecutionStatus,
    history::HistoryEvent, protocol,
};

use crate::{
    limits::Limits,
    machine::{activity_options::effective, update, workflow_task},
    run::Run,
};

/// How a query reaches the workflow's code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QueryRoute {
    /// As a task of its own: nothing is under way that the answer would have to wait for.
    Direct,
    /// With the next workflow task, so that the answer sees what came before the query.
    WithTask,
    /// Not at all: the run is not in a state that the caller wants answers from.
    Rejected(WorkflowExecutionStatus),
    /// Not now: its workflow task fails over and over.
    TaskFailing,
    /// Not at all: it closed before its code ever ran.
    NeverRan,
}

impl Run {
    /// How a query is to be answered.
    pub fn query_route(&self, condition: QueryRejectCondition) -> QueryRoute {
        use WorkflowExecutionStatus as Status;
        let status = self.status();
        let rejected = match condition {
            QueryRejectCondition::NotOpen => status != Status::Running,
            QueryRejectCondition::NotCompletedCleanly => {
                !matches!(status, Status::Running | Status::Completed)
            }
            QueryRejectCondition::None | QueryRejectCondition::Unspecified => false,
        };
        let has_run = self.state.previous_started_event_id != 0;
        if rejected {
            QueryRoute::Rejected(status)
        } else if !self.is_open() && !has_run {
            QueryRoute::NeverRan
        } else if update::is_failing(self) {
            QueryRoute::TaskFailing
        } else if has_run && self.state.task.is_none() {
            QueryRoute::Direct
        } else {
            QueryRoute::WithTask
        }
    }

    /// The events of a repeated workflow task, which are not in the history but which a worker
    /// must see at its end.
    pub fn transient_events(&self, limits: &Limits) -> Vec<HistoryEvent> {
        workflow_task::transient_events(self, limits)
    }

    /// What the workflow task that is under way says to the worker about updates.
    pub fn task_messages(&self) -> Vec<protocol::Message> {
        update::messages(self)
    }

    /// The options of a pending activity as they hold now.
    pub fn activity_options(&self, scheduled_event_id: i64) -> Option<ActivityOptions> {
        self.activities.get(&scheduled_event_id).map(effective)
    }
}
