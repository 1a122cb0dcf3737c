//! A run that failed and is to go on by itself.
//!
//! ```text
//!  failed ──▶ a resume policy takes it ──▶ due ──▶ held until the next search, if there are such
//!               │ acknowledged, called off  │         │
//!               ▼                           ▼         ▼
//!             stays failed              handed over to be reset ──▶ resumed: nothing is left
//!                                           └── after a crash, handed over again
//! ```
//!
//! The run that goes on is made by a reset, in the same transaction in which this one hears that it was
//! resumed: so it goes on once, however often it was handed over.

use steadfast_proto::failure::Failure;
use steadfast_retry::{Seed, Timestamp};

use crate::{
    failure::{cause_of, type_of},
    input::{ClearResume, ResumedBy, ScheduleResume, Selector},
    machine::activity_fate::shortened,
    parked::RunResume,
    refused::Refused,
    resumable::Resumable,
    transition::Effect,
    trouble::RUN,
    tx::Tx,
};

/// When a policy of the namespace has the run go on that fails now. A child does not: its parent has
/// heard that it failed, and has done something about it.
pub(crate) fn of_failure(tx: &Tx<'_>, failure: &Failure) -> Option<RunResume> {
    tx.rules.resume.in_order().next()?;
    if tx.run.parent().is_some() || tx.run.state.cancel_requested {
        return None;
    }
    let attempts = tx.run.state.resumes.saturating_add(1);
    let error = Resumable {
        workflow_type: tx.run.workflow_type(),
        activity_type: "",
        kind: "",
        error_type: &type_of(failure),
        cause: &shortened(cause_of(failure)),
        attempts,
        stopped_at: tx.now,
    };
    let identity = &tx.run.identity;
    let parts = [identity.namespace_id.as_str(), &identity.workflow_id, &identity.run_id];
    let unit = Seed::new(&parts).unit(u64::from(attempts), STREAM);
    let found = error.ask(|error| tx.rules.resume.resume(error, unit))?;
    Some(RunResume { at: found.at.0, reason: found.reason.to_owned(), ..RunResume::default() })
}

/// Its time has come.
pub(crate) fn due(tx: &mut Tx<'_>) {
    let (now, sweep) = (tx.now, tx.rules.sweep);
    let Some(resume) = &mut tx.run.state.resume else { return };
    if resume.handed_over || resume.at.max(resume.held_until) > now.0 {
        return;
    }
    if let Some(until) = sweep.and_then(|it| it.holds(Timestamp(resume.at), now)) {
        resume.held_until = until.0;
        return;
    }
    resume.handed_over = true;
    tx.effect(Effect::StartOver);
}

/// It goes on as another run.
pub(crate) fn resumed(tx: &mut Tx<'_>, by: ResumedBy) {
    tx.run.state.trouble = None;
    tx.run.state.resume = None;
    tx.out.resumed_by_policy += u32::from(by == ResumedBy::Policy);
}

/// Has it go on by a policy that did not take it when it failed.
pub(crate) fn schedule(tx: &mut Tx<'_>, input: &ScheduleResume) -> Result<(), Refused> {
    let trouble = tx.run.state.trouble.as_ref().filter(|_| is_meant(&input.selector));
    let trouble = trouble.ok_or(Refused::Closed)?;
    if trouble.acknowledged.is_some() {
        return Err(Refused::Acknowledged(tx.run.identity.workflow_id.clone()));
    }
    let reason = input.reason.clone();
    tx.run.state.resume = Some(RunResume { at: input.at.0, reason, ..RunResume::default() });
    Ok(())
}

/// Calls off what a policy has scheduled.
pub(crate) fn clear(tx: &mut Tx<'_>, input: &ClearResume) -> Result<(), Refused> {
    let trouble = tx.run.state.trouble.as_mut().filter(|_| is_meant(&input.selector));
    let trouble = trouble.ok_or(Refused::Closed)?;
    if tx.run.state.resume.take().is_some() {
        trouble.words = format!("resume called off by {}: {}", input.identity, input.reason);
    }
    Ok(())
}

/// If it is held until the next search, it has its turn as soon as that is now.
pub(crate) fn look_again(tx: &mut Tx<'_>) {
    if let Some(resume) = &mut tx.run.state.resume {
        resume.held_until = 0;
    }
}

/// Whether the run itself is meant, and not an activity that it no longer has.
fn is_meant(selector: &Selector) -> bool {
    matches!(selector, Selector::Event(RUN))
}

/// Keeps its chance apart from that of the retries of the same run.
const STREAM: u64 = 4;
