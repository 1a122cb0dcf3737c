//! What an activity may have come to, given what it was asked to do.

use std::collections::BTreeMap;

use steadfast_proto::{enums::RetryState, history::history_event::Attributes};

use super::Run;
use crate::{
    program::{Ended, Task},
    wire,
};

/// What operators may have done to the activities of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meddled {
    /// They were held back and let go, so that they were tried more often.
    pub(super) held: bool,
    /// They were parked, and given up from there.
    pub(super) given_up: bool,
}

/// Checks the activities of a run.
pub(super) fn check(run: &Run, meddled: Meddled, broken: &mut impl FnMut(&Run, String)) {
    let mut all: BTreeMap<i64, Seen> = BTreeMap::new();
    for (id, attributes) in run.attributes() {
        take(run, id, attributes, &mut all, broken);
    }
    for seen in all.values() {
        if let Err(what) = seen.judge(run.is_open(), meddled) {
            broken(run, format!("activity {}: {what}", seen.id));
        }
    }
}

/// What a history says of an activity.
struct Seen {
    id: String,
    task: Task,
    /// Whether all attempts together have a limit, its own or the run's.
    limited: bool,
    attempt: u32,
    cancel_requested: bool,
    ended: Option<(Ended, RetryState)>,
}

fn take(
    run: &Run,
    id: i64,
    attributes: &Attributes,
    all: &mut BTreeMap<i64, Seen>,
    broken: &mut impl FnMut(&Run, String),
) {
    let (scheduled, ended, state) = match attributes {
        Attributes::ActivityTaskScheduledEventAttributes(it) => {
            let Ok(task) = wire::text(it.input.as_ref()).parse() else { return };
            let activity_id = it.activity_id.clone();
            let limited = !wire::span(it.schedule_to_close_timeout.as_ref()).is_zero();
            let seen = Seen {
                id: activity_id,
                task,
                limited,
                attempt: 0,
                cancel_requested: false,
                ended: None,
            };
            all.insert(id, seen);
            return;
        }
        Attributes::ActivityTaskStartedEventAttributes(it) => {
            match all.get_mut(&it.scheduled_event_id) {
                Some(seen) if seen.attempt == 0 => {
                    seen.attempt = u32::try_from(it.attempt).unwrap_or(u32::MAX);
                }
                _ => broken(run, format!("event {id} starts an activity a second time")),
            }
            return;
        }
        Attributes::ActivityTaskCancelRequestedEventAttributes(it) => {
            if let Some(seen) = all.get_mut(&it.scheduled_event_id) {
                seen.cancel_requested = true;
            }
            return;
        }
        Attributes::ActivityTaskCompletedEventAttributes(it) => {
            (it.scheduled_event_id, Ended::Well, RetryState::Unspecified)
        }
        Attributes::ActivityTaskFailedEventAttributes(it) => {
            (it.scheduled_event_id, Ended::Failed, it.retry_state())
        }
        Attributes::ActivityTaskTimedOutEventAttributes(it) => {
            (it.scheduled_event_id, Ended::TimedOut, it.retry_state())
        }
        Attributes::ActivityTaskCanceledEventAttributes(it) => {
            (it.scheduled_event_id, Ended::Cancelled, RetryState::Unspecified)
        }
        _ => return,
    };
    match all.get_mut(&scheduled) {
        Some(seen) if seen.ended.is_none() => seen.ended = Some((ended, state)),
        _ => broken(run, format!("event {id} ends an activity that does not run")),
    }
}

impl Seen {
    /// Whether it may have ended like this.
    fn judge(&self, open: bool, meddled: Meddled) -> Result<(), String> {
        let task = &self.task;
        let Meddled { held, given_up } = meddled;
        if task.attempts_max > 0 && self.attempt > task.attempts_max && !held {
            return Err(format!("attempt {} of {}", self.attempt, task.attempts_max));
        }
        let Some((ended, state)) = self.ended else {
            // A run may close before its activities have ended; but all runs have closed by now.
            return if open { Err("it never ended".to_owned()) } else { Ok(()) };
        };
        let last = task.attempts_max > 0
            && (self.attempt == task.attempts_max || held && self.attempt > task.attempts_max);
        let may = match ended {
            Ended::Well => self.attempt > task.fails && !task.fatal,
            Ended::Cancelled => self.cancel_requested,
            Ended::Failed | Ended::TimedOut => match state {
                RetryState::MaximumAttemptsReached => last,
                // What waited for a resume may be given up at any attempt, even before the first.
                RetryState::NonRetryableFailure if given_up => true,
                RetryState::NonRetryableFailure => {
                    ended == Ended::Failed && task.fatal && self.attempt > task.fails
                }
                RetryState::Timeout => self.limited,
                RetryState::CancelRequested => self.cancel_requested,
                RetryState::Unspecified
                | RetryState::InProgress
                | RetryState::RetryPolicyNotSet
                | RetryState::InternalServerError => false,
            },
            Ended::Terminated | Ended::NotStarted => false,
        };
        if may {
            return Ok(());
        }
        Err(format!("{} at attempt {} ({state:?}) of {task:?}", ended.word(), self.attempt))
    }
}
