//! On which task queues a run waits for a worker, as far as its description tells.

use std::collections::BTreeSet;

use crate::generated::temporal::api::{
    enums::v1::{PendingActivityState, PendingWorkflowTaskState, TaskQueueType},
    workflow::v1::{PendingActivityInfo, WorkflowExecutionInfo},
    workflowservice::v1::{DescribeTaskQueueResponse, DescribeWorkflowExecutionResponse},
};

/// One side of a task queue. Workers ask for each by itself.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Side {
    /// The queue's name.
    pub queue: String,
    /// What workers ask it for.
    pub kind: TaskQueueType,
}

impl Side {
    /// That nobody asks for what waits there.
    pub fn unattended(&self) -> String {
        let wanted = if self.kind == TaskQueueType::Activity { "activities" } else { "workflows" };
        format!("no worker polls task queue {:?} for {wanted}", self.queue)
    }
}

/// Where a run waits. What a worker has, and what waits for its time or for a person, is nowhere; nor is
/// what a run that has closed has left behind.
pub fn places(
    info: &WorkflowExecutionInfo,
    described: &DescribeWorkflowExecutionResponse,
) -> BTreeSet<Side> {
    if info.close_time.is_some() {
        return BTreeSet::new();
    }
    let task = described.pending_workflow_task.as_ref();
    let scheduled = i32::from(PendingWorkflowTaskState::Scheduled);
    let task = task.filter(|it| it.state == scheduled).map(|_| info.task_queue.clone());
    let tasks = task.map(|queue| Side { queue, kind: TaskQueueType::Workflow });
    let activities = described.pending_activities.iter().filter_map(queue_of);
    let activities = activities.map(|queue| Side { queue, kind: TaskQueueType::Activity });
    tasks.into_iter().chain(activities).collect()
}

/// Whether a worker was there lately, as a queue tells it in this second since 1970.
pub fn is_attended(queue: &DescribeTaskQueueResponse, now: i64) -> bool {
    let mut last_polls = queue.pollers.iter().filter_map(|it| it.last_access_time.as_ref());
    last_polls.any(|at| now.saturating_sub(at.seconds) <= POLL_SECONDS_MAX)
}

/// The queue that an activity waits on, if it does.
fn queue_of(activity: &PendingActivityInfo) -> Option<String> {
    let is_there = activity.state == i32::from(PendingActivityState::Scheduled)
        && activity.next_attempt_schedule_time.is_none();
    let options = activity.activity_options.as_ref().filter(|_| is_there)?;
    Some(options.task_queue.as_ref()?.name.clone())
}

/// Workers that have nothing to do ask again after this at the latest: a poll lasts for a minute.
const POLL_SECONDS_MAX: i64 = 75;

#[cfg(test)]
mod tests {
    use prost_types::Timestamp;

    use super::*;
    use crate::generated::temporal::api::{
        activity::v1::ActivityOptions,
        taskqueue::v1::{PollerInfo, TaskQueue},
        workflow::v1::PendingWorkflowTaskInfo,
    };

    fn activity(queue: &str, state: PendingActivityState) -> PendingActivityInfo {
        let task_queue = Some(TaskQueue { name: queue.to_owned(), ..TaskQueue::default() });
        PendingActivityInfo {
            state: state.into(),
            activity_options: Some(ActivityOptions { task_queue, ..ActivityOptions::default() }),
            ..PendingActivityInfo::default()
        }
    }

    fn task(state: PendingWorkflowTaskState) -> PendingWorkflowTaskInfo {
        PendingWorkflowTaskInfo { state: state.into(), ..PendingWorkflowTaskInfo::default() }
    }

    fn info() -> WorkflowExecutionInfo {
        WorkflowExecutionInfo { task_queue: "orders".to_owned(), ..Default::default() }
    }

    fn told(described: &DescribeWorkflowExecutionResponse) -> Vec<String> {
        places(&info(), described).iter().map(Side::unattended).collect()
    }

    #[test]
    fn what_is_offered_waits_and_what_a_worker_has_does_not() {
        let mut described = DescribeWorkflowExecutionResponse {
            pending_workflow_task: Some(task(PendingWorkflowTaskState::Scheduled)),
            pending_activities: vec![
                activity("gpu", PendingActivityState::Scheduled),
                activity("gpu", PendingActivityState::Scheduled),
                activity("taken", PendingActivityState::Started),
                activity("paused", PendingActivityState::Paused),
            ],
            ..DescribeWorkflowExecutionResponse::default()
        };
        let expected = [
            "no worker polls task queue \"gpu\" for activities",
            "no worker polls task queue \"orders\" for workflows",
        ];
        assert_eq!(told(&described), expected);
        described.pending_workflow_task = Some(task(PendingWorkflowTaskState::Started));
        assert_eq!(told(&described), expected[..1]);
    }

    #[test]
    fn what_a_closed_run_has_left_behind_waits_for_nobody() {
        let pending_activities = vec![activity("gpu", PendingActivityState::Scheduled)];
        let described =
            DescribeWorkflowExecutionResponse { pending_activities, ..Default::default() };
        let closed = WorkflowExecutionInfo { close_time: Some(Timestamp::default()), ..info() };
        assert_eq!(places(&info(), &described).len(), 1);
        assert!(places(&closed, &described).is_empty());
    }

    #[test]
    fn a_worker_that_has_not_asked_for_longer_than_a_poll_lasts_is_not_there() {
        let asked = |seconds| PollerInfo {
            last_access_time: Some(Timestamp { seconds, nanos: 0 }),
            ..PollerInfo::default()
        };
        for (polls, expected) in [
            (vec![], false),
            (vec![asked(1_000)], true),
            (vec![asked(925)], true),
            (vec![asked(924)], false),
            (vec![asked(800), asked(940)], true),
            (vec![asked(1_010)], true),
        ] {
            let queue = DescribeTaskQueueResponse { pollers: polls, ..Default::default() };
            assert_eq!(is_attended(&queue, 1_000), expected, "{queue:?}");
        }
    }

    #[test]
    fn what_is_tried_again_later_waits_for_its_time() {
        let mut later = activity("gpu", PendingActivityState::Scheduled);
        later.next_attempt_schedule_time = Some(Timestamp::default());
        let pending_activities = vec![later];
        let described =
            DescribeWorkflowExecutionResponse { pending_activities, ..Default::default() };
        assert_eq!(told(&described), [""; 0]);
    }
}
