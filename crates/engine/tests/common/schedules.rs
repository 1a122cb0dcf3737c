//! Schedules, and what tests say and see of them.

use std::time::Duration;

use steadfast_core::span;
use steadfast_engine::{Clock as _, Error, Timestamp};
use steadfast_proto::{
    common,
    enums::ScheduleOverlapPolicy as Policy,
    schedule::{
        BackfillRequest, IntervalSpec, Schedule, ScheduleAction, SchedulePatch, SchedulePolicies,
        ScheduleSpec, ScheduleState, TriggerImmediatelyRequest, schedule_action::Action,
    },
    workflow::NewWorkflowExecutionInfo,
    workflowservice as ws,
};

use super::{NAMESPACE, QUEUE, Rig, queue};

/// Every hundred seconds, from 13:48:20 on: a hundred seconds after the beginning.
pub(crate) fn schedule(policy: Policy) -> Schedule {
    let interval = span::to_wire(Duration::from_secs(100));
    let action = NewWorkflowExecutionInfo {
        workflow_id: "w".to_owned(),
        workflow_type: Some(common::WorkflowType { name: "Order".to_owned() }),
        task_queue: Some(queue(QUEUE)),
        ..NewWorkflowExecutionInfo::default()
    };
    Schedule {
        spec: Some(ScheduleSpec {
            interval: vec![IntervalSpec { interval, phase: None }],
            ..ScheduleSpec::default()
        }),
        action: Some(ScheduleAction { action: Some(Action::StartWorkflow(action)) }),
        policies: Some(SchedulePolicies {
            overlap_policy: policy.into(),
            ..SchedulePolicies::default()
        }),
        state: None,
    }
}

/// The workflow that a schedule starts.
pub(crate) fn action(schedule: &mut Schedule) -> &mut NewWorkflowExecutionInfo {
    match schedule.action.as_mut().and_then(|it| it.action.as_mut()) {
        Some(Action::StartWorkflow(action)) => action,
        None => panic!("a schedule starts something"),
    }
}

pub(crate) fn trigger(policy: Policy) -> SchedulePatch {
    let trigger = TriggerImmediatelyRequest { overlap_policy: policy.into(), scheduled_time: None };
    SchedulePatch { trigger_immediately: Some(trigger), ..SchedulePatch::default() }
}

pub(crate) fn backfill(start: Timestamp, end: Timestamp, policy: Policy) -> SchedulePatch {
    let backfill = BackfillRequest {
        start_time: Some(span::instant_to_wire(start)),
        end_time: Some(span::instant_to_wire(end)),
        overlap_policy: policy.into(),
    };
    SchedulePatch { backfill_request: vec![backfill], ..SchedulePatch::default() }
}

impl Rig {
    /// Until so many seconds after the beginning.
    pub(crate) async fn at(&self, second: u64) {
        self.point().await;
        let now = u64::try_from(self.millis()).expect("not that long");
        let rest = Duration::from_millis((second * 1_000).saturating_sub(now));
        self.clock.sleep(rest).await;
    }

    pub(crate) async fn create_schedule(&self, id: &str, schedule: Schedule) {
        self.create_schedule_with(id, schedule, |_| {}).await.expect("a good schedule");
    }

    pub(crate) async fn create_schedule_with(
        &self,
        id: &str,
        schedule: Schedule,
        change: impl FnOnce(&mut ws::CreateScheduleRequest),
    ) -> Result<ws::CreateScheduleResponse, Error> {
        self.point().await;
        let mut request = ws::CreateScheduleRequest {
            namespace: NAMESPACE.to_owned(),
            schedule_id: id.to_owned(),
            schedule: Some(schedule),
            request_id: format!("create-{id}"),
            ..ws::CreateScheduleRequest::default()
        };
        change(&mut request);
        self.engine().create_schedule(request).await
    }

    pub(crate) async fn update_schedule(
        &self,
        id: &str,
        schedule: Schedule,
        conflict_token: Vec<u8>,
    ) -> Result<(), Error> {
        self.point().await;
        let request = ws::UpdateScheduleRequest {
            namespace: NAMESPACE.to_owned(),
            schedule_id: id.to_owned(),
            schedule: Some(schedule),
            conflict_token,
            ..ws::UpdateScheduleRequest::default()
        };
        self.engine().update_schedule(request).await.map(drop)
    }

    pub(crate) async fn patch_schedule(&self, id: &str, patch: SchedulePatch) -> Result<(), Error> {
        self.point().await;
        let request = ws::PatchScheduleRequest {
            namespace: NAMESPACE.to_owned(),
            schedule_id: id.to_owned(),
            patch: Some(patch),
            ..ws::PatchScheduleRequest::default()
        };
        self.engine().patch_schedule(request).await.map(drop)
    }

    pub(crate) async fn delete_schedule(&self, id: &str) -> Result<(), Error> {
        self.point().await;
        let request = ws::DeleteScheduleRequest {
            namespace: NAMESPACE.to_owned(),
            schedule_id: id.to_owned(),
            ..ws::DeleteScheduleRequest::default()
        };
        self.engine().delete_schedule(request).await.map(drop)
    }

    pub(crate) async fn describe_schedule(
        &self,
        id: &str,
    ) -> Result<ws::DescribeScheduleResponse, Error> {
        self.point().await;
        let namespace = NAMESPACE.to_owned();
        let request = ws::DescribeScheduleRequest { namespace, schedule_id: id.to_owned() };
        self.engine().describe_schedule(request).await
    }

    pub(crate) async fn list_schedules(&self, query: &str) -> Result<Vec<String>, Error> {
        let request = ws::ListSchedulesRequest {
            namespace: NAMESPACE.to_owned(),
            query: query.to_owned(),
            ..ws::ListSchedulesRequest::default()
        };
        let found = self.engine().list_schedules(request).await?;
        Ok(found.schedules.into_iter().map(|it| it.schedule_id).collect())
    }

    /// A line about a schedule: what it counts, what runs, and what it did last.
    pub(crate) async fn schedule(&self, id: &str) -> String {
        let seen = self.describe_schedule(id).await.expect("a schedule");
        let info = seen.info.expect("an info");
        let state: ScheduleState = seen.schedule.and_then(|it| it.state).unwrap_or_default();
        let short = |it: &common::WorkflowExecution| {
            it.workflow_id.rsplit('T').next().unwrap_or_default().trim_end_matches('Z').to_owned()
        };
        let running: Vec<String> = info.running_workflows.iter().map(short).collect();
        let recent = info.recent_actions.iter().map(|it| {
            let execution = it.start_workflow_result.clone().unwrap_or_default();
            format!("{} {:?}", short(&execution), it.start_workflow_status())
        });
        let recent: Vec<String> = recent.collect();
        let counts = [
            ("skipped", info.overlap_skipped),
            ("missed", info.missed_catchup_window),
            ("dropped", info.buffer_dropped),
            ("buffer", info.buffer_size),
        ];
        let counts = counts.into_iter().filter(|(_, count)| *count != 0);
        let counts: Vec<String> = counts.map(|(name, count)| format!(" {name} {count}")).collect();
        let counts = counts.concat();
        let (running, recent) = (running.join(", "), recent.join(", "));
        let paused =
            if state.paused { format!(" paused {:?}", state.notes) } else { String::new() };
        format!(
            "{:>4}  done {}{counts} running [{running}] recent [{recent}]{paused}\n",
            self.elapsed(),
            info.action_count
        )
    }
}
