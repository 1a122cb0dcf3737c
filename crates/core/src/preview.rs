//! What an input would do to the activities of a run, without doing it.

use steadfast_retry::Timestamp;

use crate::{input::Input, refused::Refused, run::Run, span::kept, state::Activity, tx::Context};

/// An activity that an input would change, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Its scheduled event.
    pub scheduled_event_id: i64,
    /// Its id.
    pub activity_id: String,
    /// When its next attempt is due now, if it waits for one.
    pub from: Option<Timestamp>,
    /// When it would be due.
    pub to: Option<Timestamp>,
    /// What it would be then.
    pub outcome: Outcome,
}

/// What an activity would be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It waits for the time of its next attempt.
    Waits,
    /// It waits for a worker, or is with one.
    Goes,
    /// It is parked.
    Parked,
    /// An operator has paused it.
    Paused,
    /// It has ended.
    Ended,
}

impl Run {
    /// What `input` would do to the activities; those that stay as they are, are left out.
    pub fn preview(&self, input: Input, context: Context<'_>) -> Result<Vec<Moved>, Refused> {
        let mut after = self.clone();
        after.apply(input, context)?;
        let moved = self.activities.iter().filter_map(|(id, before)| {
            let then = after.activities.get(id);
            let outcome = then.map_or(Outcome::Ended, outcome);
            let (from, to) = (next_at(before), then.and_then(next_at));
            let changes = from != to || outcome != self::outcome(before);
            changes.then(|| Moved {
                scheduled_event_id: *id,
                activity_id: before.scheduled.activity_id.clone(),
                from,
                to,
                outcome,
            })
        });
        Ok(moved.collect())
    }
}

fn outcome(activity: &Activity) -> Outcome {
    if activity.is_parked() {
        Outcome::Parked
    } else if activity.is_paused() {
        Outcome::Paused
    } else if activity.is_backing_off() {
        Outcome::Waits
    } else {
        Outcome::Goes
    }
}

fn next_at(activity: &Activity) -> Option<Timestamp> {
    match &activity.row.park {
        Some(park) => kept(park.resume_at),
        None => activity.is_backing_off().then_some(Timestamp(activity.row.scheduled_at)),
    }
}
