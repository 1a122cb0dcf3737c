//! What a worker or a caller is shown of a run, beside its history.

use steadfast_proto::{
    activity::ActivityOptions, enums::QueryRejectCondition, enums::WorkflowExecutionStatus,
    history::HistoryEvent, protocol,
};

use steadfast_retry::Timestamp;

use crate::{
    limits::Limits,
    machine::{activity_options::effective, update, workflow_task},
    run::Run,
    span::kept,
    state::Activity,
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

/// How urgent something is that has failed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Urgency {
    /// When it must have ended at the latest.
    pub deadline: Option<Timestamp>,
    /// Its priority; a lower number goes first.
    pub priority: Option<i32>,
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

    /// How urgent what has failed of a subject is: when it must have ended at the latest, and its
    /// priority, if anybody has said so.
    pub fn urgency(&self, subject: i64) -> Urgency {
        let activity = self.activities.get(&subject);
        let park = activity.and_then(|it| it.row.park.as_ref());
        let ends = [
            activity.and_then(Activity::expires_at),
            park.and_then(|park| kept(park.expires_at)),
            kept(self.state.run_expires_at).filter(|_| self.is_open()),
            kept(self.state.chain_expires_at).filter(|_| self.is_open()),
        ];
        let own = activity.and_then(|it| it.scheduled.priority.as_ref());
        let keys = [own, self.started.priority.as_ref()];
        let keys = keys.into_iter().flatten().map(|it| it.priority_key);
        Urgency {
            deadline: ends.into_iter().flatten().min(),
            priority: keys.into_iter().find(|key| *key > 0),
        }
    }

    /// The events of a workflow task that are not in the history yet, but that a worker must see at
    /// its end.
    pub fn unwritten_events(&self, limits: &Limits) -> Vec<HistoryEvent> {
        workflow_task::unwritten_events(self, limits)
    }

    /// What the workflow task that is under way says to the worker about updates.
    pub fn task_messages(&self) -> Vec<protocol::Message> {
        update::messages(self)
    }

    /// The options of a pending activity as they hold now.
    pub fn activity_options(&self, scheduled_event_id: i64) -> Option<ActivityOptions> {
        self.activities().get(&scheduled_event_id).map(effective)
    }
}
