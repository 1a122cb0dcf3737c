//! A schedule as it is made: when it acts, what it starts, and what happens if that still runs.

use std::time::Duration;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    enums::{ScheduleOverlapPolicy, WorkflowIdConflictPolicy},
    schedule::{self as wire, schedule_action::Action},
    workflow::NewWorkflowExecutionInfo,
};

use super::{super::start::StartCall, spec::ScheduleSpec};
use crate::{fields::Fields, payload::CodecError, span};

/// A schedule: when it acts, and what it starts then.
///
/// ```no_run
/// # use steadfast::{Client, ClientError, Failure, WorkflowContext};
/// use steadfast::{Schedule, ScheduleOverlapPolicy, ScheduleSpec};
///
/// # async fn report(ctx: WorkflowContext, of: String) -> Result<(), Failure> { Ok(()) }
/// # async fn f(client: Client) -> Result<(), ClientError> {
/// let nightly = Schedule::new(ScheduleSpec::new().cron("0 3 * * *"), client.start(report, "sales"))
///     .overlap(ScheduleOverlapPolicy::BufferOne)
///     .note("asked for by Ada");
/// let nightly = client.create_schedule("nightly", nightly).await?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Schedule {
    pub(super) wire: wire::Schedule,
    /// Why what it starts cannot be written.
    pub(super) fault: Option<CodecError>,
    pub(super) is_triggered: bool,
    pub(super) memo: Fields,
    pub(super) search_attributes: Fields,
}

impl Schedule {
    /// Starts this at these times. An id that the start has is the beginning of the ids of the runs,
    /// to which the time is added; without one it is that of the schedule.
    pub fn new<T: DeserializeOwned>(spec: ScheduleSpec, start: StartCall<T>) -> Self {
        let wire = wire::Schedule { spec: Some(spec.0), ..wire::Schedule::default() };
        Self::of(wire).starting(start)
    }

    pub(super) fn of(wire: wire::Schedule) -> Self {
        let (memo, search_attributes) = Default::default();
        Self { wire, fault: None, is_triggered: false, memo, search_attributes }
    }

    /// At other times.
    #[must_use]
    pub fn at(mut self, spec: ScheduleSpec) -> Self {
        self.wire.spec = Some(spec.0);
        self
    }

    /// Starts something else.
    #[must_use]
    pub fn starting<T: DeserializeOwned>(mut self, start: StartCall<T>) -> Self {
        match action(start) {
            Ok(action) => {
                let action = Some(Action::StartWorkflow(action));
                self.wire.action = Some(wire::ScheduleAction { action });
            }
            Err(error) => self.fault = Some(error),
        }
        self
    }

    /// What happens when the run before is not done. It is skipped, unless this says otherwise.
    #[must_use]
    pub fn overlap(self, policy: ScheduleOverlapPolicy) -> Self {
        self.with_policies(|policies| policies.overlap_policy = policy.into())
    }

    /// What was missed while nobody was there is made up for if it is not longer ago than this; a year,
    /// if nothing is said.
    #[must_use]
    pub fn catchup_window(self, span: Duration) -> Self {
        self.with_policies(|policies| policies.catchup_window = Some(span::to_wire(span)))
    }

    /// Pauses when a run of it fails or times out.
    #[must_use]
    pub fn pause_on_failure(self, pause: bool) -> Self {
        self.with_policies(|policies| policies.pause_on_failure = pause)
    }

    /// Gives all runs the same id, to which no time is added.
    #[must_use]
    pub fn keep_workflow_id(self, keep: bool) -> Self {
        self.with_policies(|policies| policies.keep_original_workflow_id = keep)
    }

    /// A line for people.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        self.with_state(|state| state.notes = note.into())
    }

    /// Paused, or not.
    #[must_use]
    pub fn paused(self, paused: bool) -> Self {
        self.with_state(|state| state.paused = paused)
    }

    /// Acts so often, and no more.
    #[must_use]
    pub fn limited_to(self, actions: u32) -> Self {
        self.with_state(|state| {
            state.limited_actions = true;
            state.remaining_actions = actions.into();
        })
    }

    /// Acts once as soon as it is made.
    #[must_use]
    pub fn triggered(self) -> Self {
        Self { is_triggered: true, ..self }
    }

    /// Something to be kept beside the schedule, when it is made.
    pub fn memo(self, key: impl Into<String>, value: &impl Serialize) -> Result<Self, CodecError> {
        Ok(Self { memo: self.memo.with(key, value)?, ..self })
    }

    /// Something that lists of schedules can ask for, when it is made.
    pub fn search_attribute(
        self,
        name: impl Into<String>,
        value: &impl Serialize,
    ) -> Result<Self, CodecError> {
        Ok(Self { search_attributes: self.search_attributes.with(name, value)?, ..self })
    }

    /// The public message.
    pub fn as_wire(&self) -> &wire::Schedule {
        &self.wire
    }

    /// Whole, with the id of the schedule where none was given.
    pub(super) fn finish(&mut self, schedule_id: &str) -> Result<wire::Schedule, CodecError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mut wire = self.wire.clone();
        if let Some(Action::StartWorkflow(start)) =
            wire.action.as_mut().and_then(|action| action.action.as_mut())
            && start.workflow_id.is_empty()
        {
            schedule_id.clone_into(&mut start.workflow_id);
        }
        Ok(wire)
    }

    fn with_policies(mut self, change: impl FnOnce(&mut wire::SchedulePolicies)) -> Self {
        change(self.wire.policies.get_or_insert_default());
        self
    }

    fn with_state(mut self, change: impl FnOnce(&mut wire::ScheduleState)) -> Self {
        change(self.wire.state.get_or_insert_default());
        self
    }
}

fn action<T: DeserializeOwned>(
    start: StartCall<T>,
) -> Result<NewWorkflowExecutionInfo, CodecError> {
    let has_id = start.has_id();
    let start = start.request(WorkflowIdConflictPolicy::Unspecified)?;
    Ok(NewWorkflowExecutionInfo {
        workflow_id: if has_id { start.workflow_id } else { String::new() },
        workflow_type: start.workflow_type,
        task_queue: start.task_queue,
        input: start.input,
        workflow_execution_timeout: start.workflow_execution_timeout,
        workflow_run_timeout: start.workflow_run_timeout,
        workflow_task_timeout: start.workflow_task_timeout,
        workflow_id_reuse_policy: start.workflow_id_reuse_policy,
        retry_policy: start.retry_policy,
        memo: start.memo,
        search_attributes: start.search_attributes,
        user_metadata: start.user_metadata,
        priority: start.priority,
        ..NewWorkflowExecutionInfo::default()
    })
}
