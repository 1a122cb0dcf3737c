//! What of a run has failed and is not settled: a view of its rows, one error a subject.

use steadfast_retry::Timestamp;

use crate::{
    failure::{cause_of, type_of},
    parked::{Acknowledged, DeadLetter, Trouble},
    policy,
    span::kept,
    state::{Activity, State},
};

/// The subject of an error that is the run's own. An activity's is its scheduled event.
pub const RUN: i64 = 0;
/// The subject of an error of the run's workflow task.
pub const TASK: i64 = -1;

/// Something that has failed and is not settled.
#[derive(Clone, Debug, PartialEq)]
pub struct RunError {
    /// What has failed: [`RUN`], [`TASK`] or the scheduled event of an activity.
    pub subject: i64,
    /// What is to become of it.
    pub state: ErrorState,
    /// The activity's id; empty if it is none.
    pub activity_id: String,
    /// The activity's type.
    pub activity_type: String,
    /// The activity's kind.
    pub kind: String,
    /// Attempts that have ended.
    pub attempts: u32,
    /// The type of the last failure.
    pub error_type: String,
    /// What the last failure said.
    pub cause: String,
    /// When it failed for the first time.
    pub first_at: Timestamp,
    /// When it failed last.
    pub last_at: Timestamp,
    /// When it is tried next, or resumed.
    pub next_at: Option<Timestamp>,
    /// The name of the policy that resumes it, or else what was decided, in words.
    pub reason: String,
    /// Who has taken note of it.
    pub acknowledged: Option<Acknowledged>,
    /// How often it was resumed.
    pub resumes: u32,
}

/// What is to become of something that has failed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ErrorState {
    /// It waits for its next attempt, or is at it.
    Retrying,
    /// It waits for a resume.
    Parked,
    /// The run has closed with it.
    Failed,
    /// Only a dead letter is left.
    Dead,
}

impl ErrorState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retrying => "retrying",
            Self::Parked => "parked",
            Self::Failed => "failed",
            Self::Dead => "dead",
        }
    }
}

/// The error of an activity, if it has one.
pub(crate) fn of_activity(activity: &Activity) -> Option<RunError> {
    let row = &activity.row;
    let failure = row.last_failure.as_ref();
    if failure.is_none() && row.park.is_none() {
        return None;
    }
    // An attempt that is under way changes nothing yet: the row is written once a failure.
    let attempts = row.deliveries.saturating_sub(u32::from(activity.is_started()));
    let mut error = RunError {
        subject: row.scheduled_event_id,
        state: ErrorState::Retrying,
        activity_id: activity.scheduled.activity_id.clone(),
        activity_type: activity.type_name().to_owned(),
        kind: policy::kind_of_header(activity.scheduled.header.as_ref()),
        attempts,
        error_type: failure.map(type_of).unwrap_or_default(),
        cause: failure.map(cause_of).unwrap_or_default(),
        first_at: Timestamp(row.first_failed_at),
        last_at: Timestamp(row.last_ended_at),
        next_at: kept(row.scheduled_at).filter(|_| !activity.is_paused()),
        reason: row.words.clone(),
        acknowledged: row.acknowledged.clone(),
        resumes: row.resumes,
    };
    if let Some(park) = &row.park {
        error.state = ErrorState::Parked;
        error.next_at = kept(park.resume_at);
        let reason = if park.resume_at == 0 { &park.words } else { &park.resume_reason };
        error.reason.clone_from(reason);
        if failure.is_none() {
            error.first_at = Timestamp(park.at);
            error.last_at = Timestamp(park.at);
        }
    }
    Some(error)
}

/// What is left of an activity that was dead-lettered.
pub(crate) fn of_letter(subject: i64, letter: &DeadLetter) -> RunError {
    let trouble = letter.trouble.clone().unwrap_or_default();
    RunError {
        activity_id: letter.activity_id.clone(),
        activity_type: letter.activity_type.clone(),
        kind: letter.kind.clone(),
        resumes: letter.resumes,
        ..of_trouble(subject, ErrorState::Dead, trouble)
    }
}

/// The error of the run itself, if it has one.
pub(crate) fn of_run(state: &State) -> Option<RunError> {
    let trouble = state.trouble.clone().filter(|_| !state.is_open())?;
    let error = of_trouble(RUN, ErrorState::Failed, trouble);
    let (next_at, reason) = match &state.resume {
        Some(resume) => (kept(resume.at), resume.reason.clone()),
        None => (None, error.reason.clone()),
    };
    Some(RunError { next_at, reason, resumes: state.resumes, ..error })
}

/// The error of its workflow task, if it has one.
pub(crate) fn of_task(state: &State) -> Option<RunError> {
    let trouble = state.task_trouble.clone().filter(|_| state.is_open())?;
    if trouble.parked {
        return Some(of_trouble(TASK, ErrorState::Parked, trouble));
    }
    let held_until = state.task.as_ref().and_then(|task| kept(task.held_until));
    Some(RunError { next_at: held_until, ..of_trouble(TASK, ErrorState::Retrying, trouble) })
}

fn of_trouble(subject: i64, state: ErrorState, trouble: Trouble) -> RunError {
    RunError {
        subject,
        state,
        activity_id: String::new(),
        activity_type: String::new(),
        kind: String::new(),
        attempts: trouble.attempts,
        error_type: trouble.error_type,
        cause: trouble.cause,
        first_at: Timestamp(trouble.first_at),
        last_at: Timestamp(trouble.last_at),
        next_at: None,
        reason: trouble.words,
        acknowledged: trouble.acknowledged,
        resumes: 0,
    }
}
