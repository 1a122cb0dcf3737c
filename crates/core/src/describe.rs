//! A run as a description shows it.

use steadfast_proto::{
    common, enums,
    workflow::{
        CallbackInfo, PendingActivityInfo, PendingChildExecutionInfo, PendingWorkflowTaskInfo,
        RequestIdInfo, WorkflowExecutionConfig, WorkflowExecutionExtendedInfo,
        WorkflowExecutionInfo,
        callback_info::{self, trigger::Variant::WorkflowClosed as WhenClosed},
        pending_activity_info::{PauseInfo, pause_info},
    },
};
use steadfast_retry::Timestamp;

use crate::{
    machine::activity_options::effective,
    parked::Park,
    run::Run,
    span::{instant_to_wire, kept, to_wire},
    state::{Activity, Child, Pause, Request, UNVERSIONED},
};

impl Run {
    /// What a description says of the run itself.
    pub fn info(&self) -> WorkflowExecutionInfo {
        let state = &self.state;
        let started = &self.started;
        let execution_at = Timestamp(state.execution_at);
        let closed_at = kept(state.closed_at);
        let root = started.root_workflow_execution.clone();
        WorkflowExecutionInfo {
            execution: Some(self.execution()),
            r#type: started.workflow_type.clone(),
            start_time: Some(instant_to_wire(self.started_at())),
            close_time: closed_at.map(instant_to_wire),
            status: state.status,
            history_length: self.last_event_id(),
            parent_namespace_id: started.parent_workflow_namespace_id.clone(),
            parent_execution: self.parent(),
            execution_time: Some(instant_to_wire(execution_at)),
            memo: Some(self.memo().cloned().unwrap_or_default()),
            search_attributes: Some(self.shown_attributes()),
            task_queue: self.task_queue().to_owned(),
            state_transition_count: state.transitions,
            history_size_bytes: state.history_bytes,
            execution_duration: closed_at.and_then(|at| to_wire(at.since(execution_at))),
            root_execution: Some(root.unwrap_or_else(|| self.execution())),
            first_run_id: self.first_run_id().to_owned(),
            priority: started.priority.clone(),
            ..WorkflowExecutionInfo::default()
        }
    }

    /// Its search attributes, and the builds of its workers. These are not searched by: a run would
    /// have to be listed anew for its first task, which most runs have soon after their start.
    fn shown_attributes(&self) -> common::SearchAttributes {
        let mut shown = self.search_attributes().cloned().unwrap_or_default();
        let builds = &self.state.builds;
        if !builds.is_empty() {
            let unversioned = builds.iter().any(|it| it.starts_with(UNVERSIONED));
            let first = unversioned.then_some(UNVERSIONED).into_iter();
            let all: serde_json::Value = first.chain(builds.iter().map(String::as_str)).collect();
            shown
                .indexed_fields
                .insert("BuildIds".to_owned(), common::Payload::json(all.to_string()));
        }
        shown
    }

    /// How it was started.
    pub fn config(&self) -> WorkflowExecutionConfig {
        let started = &self.started;
        WorkflowExecutionConfig {
            task_queue: started.task_queue.clone(),
            workflow_execution_timeout: started.workflow_execution_timeout,
            workflow_run_timeout: started.workflow_run_timeout,
            default_workflow_task_timeout: started.workflow_task_timeout,
            user_metadata: self.user_metadata().cloned(),
        }
    }

    /// What else there is to say.
    pub fn extended_info(&self) -> WorkflowExecutionExtendedInfo {
        WorkflowExecutionExtendedInfo {
            execution_expiration_time: wire(self.state.chain_expires_at),
            run_expiration_time: wire(self.state.run_expires_at),
            cancel_requested: self.state.cancel_requested,
            original_start_time: Some(instant_to_wire(self.started_at())),
            reset_run_id: self.state.reset_run_id.clone(),
            request_id_infos: self.request_infos().collect(),
            ..WorkflowExecutionExtendedInfo::default()
        }
    }

    /// The starts that made it or found it open, by their requests.
    fn request_infos(&self) -> impl Iterator<Item = (String, RequestIdInfo)> {
        let info = |event_type: enums::EventType, event_id| RequestIdInfo {
            event_type: event_type.into(),
            event_id,
            buffered: event_id == 0,
        };
        let created = &self.state.create_request_id;
        let created = (created.clone(), info(enums::EventType::WorkflowExecutionStarted, 1));
        let attached = self.attached().map(move |(id, request)| {
            let kind = enums::EventType::WorkflowExecutionOptionsUpdated;
            (id.clone(), info(kind, request.event_id))
        });
        attached.chain([created]).filter(|(id, _)| !id.is_empty())
    }

    /// Those who want to hear of its end.
    pub fn callbacks(&self) -> Vec<CallbackInfo> {
        let info = |callback: &common::Callback, at: i64, request_id: &str| CallbackInfo {
            callback: Some(callback.clone()),
            trigger: Some(callback_info::Trigger {
                variant: Some(WhenClosed(callback_info::WorkflowClosed {})),
            }),
            registration_time: wire(at),
            state: enums::CallbackState::Standby.into(),
            request_id: request_id.to_owned(),
            ..CallbackInfo::default()
        };
        let (at, created) = (self.state.started_at, &self.state.create_request_id);
        let first = self.started.completion_callbacks.iter().map(|it| info(it, at, created));
        let later = self.attached().flat_map(|(id, request)| {
            request.callbacks.iter().map(move |it| info(it, request.attached_at, id))
        });
        first.chain(later).collect()
    }

    fn attached(&self) -> impl Iterator<Item = (&String, &Request)> {
        self.requests.iter().filter(|(_, request)| request.attached_at != 0)
    }

    /// Its workflow task.
    pub fn pending_task(&self) -> Option<PendingWorkflowTaskInfo> {
        let task = self.state.task.as_ref()?;
        let state = if task.is_started() {
            enums::PendingWorkflowTaskState::Started
        } else {
            enums::PendingWorkflowTaskState::Scheduled
        };
        Some(PendingWorkflowTaskInfo {
            state: state.into(),
            scheduled_time: wire(task.scheduled_at),
            original_scheduled_time: wire(task.original_scheduled_at),
            started_time: wire(task.started_at),
            attempt: i32::try_from(task.attempt).unwrap_or(i32::MAX),
        })
    }

    /// Its activities: which attempt, why the last one failed, when the next one is due. If it has
    /// closed, those that it left behind.
    pub fn pending_activities(&self) -> Vec<PendingActivityInfo> {
        self.activities.iter().map(|(_, activity)| pending(activity)).collect()
    }

    /// Its children; if it has closed, those that it left behind.
    pub fn pending_children(&self) -> Vec<PendingChildExecutionInfo> {
        self.children.iter().map(|(id, it)| child(*id, it)).collect()
    }
}

fn child(initiated_id: i64, Child { initiated, row, .. }: &Child) -> PendingChildExecutionInfo {
    PendingChildExecutionInfo {
        workflow_id: initiated.workflow_id.clone(),
        run_id: row.run_id.clone(),
        workflow_type_name: type_name(initiated.workflow_type.as_ref()),
        initiated_id,
        parent_close_policy: initiated.parent_close_policy,
    }
}

fn pending(activity: &Activity) -> PendingActivityInfo {
    let row = &activity.row;
    let next = match &row.park {
        Some(park) => park.resume_at,
        None if activity.is_backing_off() => row.scheduled_at,
        None => 0,
    };
    let ended = kept(row.last_ended_at);
    let interval = kept(next).zip(ended).and_then(|(next, ended)| to_wire(next.since(ended)));
    let last_started_at = if activity.is_started() { row.started_at } else { row.last_started_at };
    PendingActivityInfo {
        activity_id: activity.scheduled.activity_id.clone(),
        activity_type: activity.scheduled.activity_type.clone(),
        state: state(activity).into(),
        heartbeat_details: row.heartbeat_details.clone(),
        last_heartbeat_time: wire(row.last_heartbeat_at),
        last_started_time: wire(last_started_at),
        attempt: i32::try_from(row.attempt).unwrap_or(i32::MAX),
        maximum_attempts: activity.retry_policy().map_or(0, |policy| policy.maximum_attempts),
        scheduled_time: wire(row.scheduled_at),
        expiration_time: activity.expires_at().map(instant_to_wire),
        last_failure: row.last_failure.clone(),
        last_worker_identity: row.identity.clone(),
        current_retry_interval: interval,
        last_attempt_complete_time: wire(row.last_ended_at),
        next_attempt_schedule_time: wire(next),
        paused: activity.is_held_back(),
        priority: activity.scheduled.priority.clone(),
        pause_info: pause_info(activity),
        activity_options: Some(effective(activity)),
        ..PendingActivityInfo::default()
    }
}

fn state(activity: &Activity) -> enums::PendingActivityState {
    use enums::PendingActivityState as State;
    match (activity.is_started(), activity.is_held_back(), activity.is_cancel_requested()) {
        (_, _, true) => State::CancelRequested,
        (true, true, false) => State::PauseRequested,
        (false, true, false) => State::Paused,
        (true, false, false) => State::Started,
        (false, false, false) => State::Scheduled,
    }
}

/// Who holds it back. To the public protocol a parked activity is one that a rule has paused.
fn pause_info(activity: &Activity) -> Option<PauseInfo> {
    let row = &activity.row;
    let by_hand = |pause: &Pause| PauseInfo {
        pause_time: wire(pause.at),
        paused_by: Some(pause_info::PausedBy::Manual(pause_info::Manual {
            identity: pause.identity.clone(),
            reason: pause.reason.clone(),
        })),
    };
    let parked = |park: &Park| PauseInfo {
        pause_time: wire(park.at),
        paused_by: Some(pause_info::PausedBy::Rule(pause_info::Rule {
            rule_id: "parked".to_owned(),
            reason: park.words.clone(),
            ..pause_info::Rule::default()
        })),
    };
    row.pause.as_ref().map(by_hand).or_else(|| row.park.as_ref().map(parked))
}

fn type_name(kind: Option<&common::WorkflowType>) -> String {
    kind.map(|kind| kind.name.clone()).unwrap_or_default()
}

fn wire(nanos: i64) -> Option<steadfast_proto::prost_types::Timestamp> {
    kept(nanos).map(instant_to_wire)
}
