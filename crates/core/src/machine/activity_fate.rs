//! What becomes of an activity whose attempt has ended badly.
//!
//! ```text
//!  poison ─────────────────────────────────────────────▶ parked
//!  its policy says again ──────────────────────────────▶ again
//!  no more ──▶ a resume policy takes it ───────────────▶ parked, until then
//!                 └ none ──▶ its own ending, or the namespace's ──▶ fails, parked, dead-lettered
//! ```

use steadfast_proto::failure::Failure;
use steadfast_retry::{Counted, Decision, Ending, Reason, RetryState, Timestamp, Why};

use crate::{
    failure::{cause_of, retry_state, type_of},
    machine::activity_policy,
    parked::{DeadLetter, Park, ParkedFor, Then, Trouble},
    policy,
    resumable::Resumable,
    state::Activity,
    tx::Tx,
};

/// What becomes of it.
pub(crate) enum Fate {
    /// It is tried again, then.
    Again(Timestamp),
    /// It is kept for a resume.
    Parks(Park),
    /// It fails, and a dead letter stays.
    Dies,
    /// It fails.
    Fails,
}

/// The decision about a clock that ran out and spans all attempts: no policy is asked.
pub(crate) const OUT_OF_TIME: Decision = Decision::Fail {
    why: Why {
        reason: Reason::TimeoutIsFinal,
        rule: None,
        counted: Counted::Failure,
        grows: false,
    },
};

/// What becomes of an activity about which its policy has decided.
pub(crate) fn of(tx: &Tx<'_>, activity: &Activity, decision: &Decision, failure: &Failure) -> Fate {
    let why = decision.why();
    if activity.is_cancel_requested() || why.reason == Reason::Cancelled {
        return Fate::Fails;
    }
    if let Some(park) = &activity.row.park {
        return Fate::Parks(park.clone());
    }
    let suspicion = activity.row.suspicion.as_ref();
    if let Some(poison) = suspicion.filter(|it| it.is_poison(tx.rules.poison_after)) {
        let words = format!("{} attempts in a row ended with their worker", poison.lost);
        // Its policy would try it again; whoever gives it up says that it is not.
        let retry_state = retry_state(RetryState::NonRetryableFailure);
        let park = parked(tx, ParkedFor::Poison, decision);
        return Fate::Parks(Park { words, retry_state, ..park });
    }
    match *decision {
        Decision::RetryAt { at, .. } => Fate::Again(at),
        Decision::Park { .. } if why.reason == Reason::Paused => Fate::Again(tx.now),
        Decision::Park { until: Some(at), .. } => {
            let resume_reason = why.to_string();
            let park = parked(tx, ParkedFor::Rule, decision);
            Fate::Parks(Park { resume_at: at.0, resume_reason, ..park })
        }
        Decision::Park { until: None, .. } => end(tx, activity, Ending::Park, decision, failure),
        Decision::Exhausted { action, .. } => end(tx, activity, action, decision, failure),
        Decision::Fail { .. } => end(tx, activity, Ending::Fail, decision, failure),
    }
}

impl Fate {
    /// What becomes of it, in words.
    pub(crate) fn words(&self, decision: &Decision) -> String {
        let why = decision.why();
        match self {
            Self::Again(_) => decision.to_string(),
            Self::Parks(park) if park.resume_at != 0 => {
                let at = Timestamp(park.resume_at);
                format!("park until {at}: {}: {}", park.resume_reason, park.words)
            }
            Self::Parks(park) => format!("park: {}", park.words),
            Self::Dies => format!("dead_letter: {why}"),
            Self::Fails => match decision {
                Decision::Park { .. } => format!("fail: {why}"),
                Decision::RetryAt { .. } | Decision::Exhausted { .. } | Decision::Fail { .. } => {
                    decision.to_string()
                }
            },
        }
    }

    /// When it is tried next, if that is known.
    pub(crate) fn next_at(&self) -> Option<Timestamp> {
        match self {
            Self::Again(at) => Some(*at),
            Self::Parks(park) => crate::span::kept(park.resume_at),
            Self::Dies | Self::Fails => None,
        }
    }
}

/// Leaves a letter about an activity that is about to fail.
pub(crate) fn bury(tx: &mut Tx<'_>, id: i64, failure: &Failure, words: String) {
    let Some(activity) = tx.run.activities.get(&id) else { return };
    let row = &activity.row;
    let first_at = if row.first_failed_at == 0 { tx.now.0 } else { row.first_failed_at };
    let letter = DeadLetter {
        activity_id: activity.scheduled.activity_id.clone(),
        activity_type: activity.type_name().to_owned(),
        kind: policy::kind_of_header(activity.scheduled.header.as_ref()),
        trouble: Some(Trouble {
            error_type: type_of(failure),
            cause: shortened(cause_of(failure)),
            first_at,
            last_at: tx.now.0,
            attempts: row.deliveries,
            words,
            ..Trouble::default()
        }),
        resumes: row.resumes,
    };
    tx.run.letters.insert(id, letter);
}

/// What a failure says, as long as a row may hold of it.
pub(crate) fn shortened(mut cause: String) -> String {
    crate::failure::truncate(&mut cause, CAUSE_BYTES_MAX);
    cause
}

fn end(
    tx: &Tx<'_>,
    activity: &Activity,
    own: Ending,
    decision: &Decision,
    failure: &Failure,
) -> Fate {
    let why = match (own, decision.why().reason) {
        (Ending::Park, Reason::RuleSaysSo) => ParkedFor::Rule,
        (_, Reason::RuleSaysSo | Reason::NonRetryable | Reason::ToldNever | Reason::NoPolicy) => {
            ParkedFor::NonRetryable
        }
        _ => ParkedFor::Exhausted,
    };
    let park = parked(tx, why, decision);
    if let Some((resume_at, resume_reason)) = resume(tx, activity, failure) {
        return Fate::Parks(Park { resume_at, resume_reason, ..park });
    }
    let rule = tx.rules.ending(tx.run.workflow_type(), activity.type_name());
    let ending = match (own, rule) {
        (Ending::Fail | Ending::Compensate, Some(rule)) => rule.ending,
        (own, _) => own,
    };
    match ending {
        Ending::Fail | Ending::Compensate => Fate::Fails,
        Ending::DeadLetter if tx.run.letters.len() < tx.limits.dead_letters_max => Fate::Dies,
        // There is no room for another letter, and none is thrown away.
        Ending::DeadLetter => Fate::Parks(park),
        Ending::Park => {
            let rule = rule.filter(|rule| rule.ending == Ending::Park);
            let expires_at = rule.and_then(|rule| rule.ttl).map_or(0, |ttl| tx.now.after(ttl).0);
            let dies = rule.is_some_and(|rule| rule.then == Ending::DeadLetter);
            let then = if dies { Then::DeadLetter } else { Then::Fail };
            Fate::Parks(Park { expires_at, then: then.into(), ..park })
        }
    }
}

fn parked(tx: &Tx<'_>, why: ParkedFor, decision: &Decision) -> Park {
    Park {
        at: tx.now.0,
        why: why.into(),
        words: decision.why().to_string(),
        retry_state: retry_state(decision.why().retry_state()),
        ..Park::default()
    }
}

/// When a policy of the namespace resumes it, and which.
fn resume(tx: &Tx<'_>, activity: &Activity, failure: &Failure) -> Option<(i64, String)> {
    tx.rules.resume.in_order().next()?;
    let error = Resumable {
        workflow_type: tx.run.workflow_type(),
        activity_type: activity.type_name(),
        kind: &policy::kind_of_header(activity.scheduled.header.as_ref()),
        error_type: &type_of(failure),
        cause: &cause_of(failure),
        attempts: activity.row.deliveries,
        stopped_at: tx.now,
    };
    let unit = activity_policy::unit(tx, activity);
    let found = error.ask(|error| tx.rules.resume.resume(error, unit))?;
    Some((found.at.0, found.reason.to_owned()))
}

/// What is kept of a message in a row that stays.
const CAUSE_BYTES_MAX: usize = 2_048;
