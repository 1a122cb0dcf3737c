//! A schedule as it is taken on: checked, and with nothing left open.

use steadfast_core::{schedule::canonical, span};
use steadfast_proto::{
    enums::{ScheduleOverlapPolicy as Policy, WorkflowIdReusePolicy as Reuse},
    schedule::{Schedule, SchedulePatch, schedule_action::Action},
    workflow::NewWorkflowExecutionInfo,
};

use crate::error::Error;

/// The schedule with its spec in canonical form and its policies spelled out. `check` looks at the
/// workflow that it starts as at any other start.
pub(crate) fn checked(
    given: Option<Schedule>,
    check: impl FnOnce(&NewWorkflowExecutionInfo) -> Result<(), Error>,
) -> Result<Schedule, Error> {
    let mut schedule = given.ok_or_else(|| Error::invalid("Schedule is not set on request."))?;
    let spec = canonical(&schedule.spec.take().unwrap_or_default());
    schedule.spec = Some(spec.map_err(|fault| Error::invalid(format!("schedule.spec.{fault}")))?);
    let action = schedule.action.as_ref().and_then(|action| action.action.as_ref());
    let Some(Action::StartWorkflow(action)) = action else {
        return Err(Error::invalid("schedule.action.start_workflow is not set on request."));
    };
    check_action(action)?;
    check(action)?;
    let policies = schedule.policies.get_or_insert_default();
    if Policy::try_from(policies.overlap_policy).is_err() {
        return Err(Error::invalid("schedule.policies.overlap_policy is not a known policy"));
    }
    if policies.overlap_policy() == Policy::Unspecified {
        policies.overlap_policy = Policy::Skip.into();
    }
    let window = span::checked(policies.catchup_window.as_ref())
        .map_err(|fault| Error::invalid(format!("schedule.policies.catchup_window: {fault}")))?;
    policies.catchup_window = span::to_wire(steadfast_core::schedule::catchup_window(window));
    schedule.state.get_or_insert_default();
    Ok(schedule)
}

/// What somebody wants done with a schedule.
pub(crate) fn checked_patch(patch: &SchedulePatch) -> Result<(), Error> {
    let known = |field: &str, policy: i32| {
        let unknown = || Error::invalid(format!("{field}.overlap_policy is not a known policy"));
        Policy::try_from(policy).map(drop).map_err(|_| unknown())
    };
    if let Some(trigger) = &patch.trigger_immediately {
        known("patch.trigger_immediately", trigger.overlap_policy)?;
    }
    for backfill in &patch.backfill_request {
        known("patch.backfill_request", backfill.overlap_policy)?;
        if backfill.start_time.is_none() || backfill.end_time.is_none() {
            return Err(Error::invalid(
                "patch.backfill_request needs a start_time and an end_time",
            ));
        }
    }
    if patch.backfill_request.len() > BACKFILLS_MAX {
        return Err(Error::invalid(format!(
            "patch.backfill_request: {BACKFILLS_MAX} at once is the most"
        )));
    }
    Ok(())
}

#[expect(deprecated, reason = "all policies are named")]
fn check_action(action: &NewWorkflowExecutionInfo) -> Result<(), Error> {
    match action.workflow_id_reuse_policy() {
        Reuse::Unspecified | Reuse::AllowDuplicate => {}
        Reuse::AllowDuplicateFailedOnly | Reuse::RejectDuplicate | Reuse::TerminateIfRunning => {
            return Err(Error::invalid(
                "schedule.action.start_workflow.workflow_id_reuse_policy: the schedule's overlap \
                 policy decides; leave it out",
            ));
        }
    }
    if !action.cron_schedule.is_empty() {
        return Err(Error::invalid(
            "schedule.action.start_workflow.cron_schedule: the schedule says when; leave it out",
        ));
    }
    Ok(())
}

const BACKFILLS_MAX: usize = 100;
