//! What can be told of a pending activity, from what the workflow asked for and how far it is.

use std::time::Duration;

use steadfast_proto::common;
use steadfast_retry::Timestamp;

use crate::{span::from_wire, state::Activity};

impl Activity {
    /// Whether a worker has it.
    pub fn is_started(&self) -> bool {
        self.row.started_at != 0
    }

    /// Whether a worker has it that ends with the engine's process.
    pub fn is_held_within(&self) -> bool {
        self.is_started() && self.row.process != 0
    }

    /// Whether it waits for a worker.
    pub fn is_offered(&self) -> bool {
        self.row.queued && !self.is_started() && !self.is_held_back()
    }

    /// Whether it waits for the time of its next attempt.
    pub fn is_backing_off(&self) -> bool {
        !self.row.queued && !self.is_started() && !self.is_held_back()
    }

    /// Whether its cancellation was asked for.
    pub fn is_cancel_requested(&self) -> bool {
        self.row.cancel_requested_event_id != 0
    }

    /// Whether an operator has paused it.
    pub fn is_paused(&self) -> bool {
        self.row.pause.is_some()
    }

    /// Whether it waits for a resume.
    pub fn is_parked(&self) -> bool {
        self.row.park.is_some()
    }

    /// Whether it is not to be tried until somebody says so.
    pub fn is_held_back(&self) -> bool {
        self.is_paused() || self.is_parked()
    }

    /// Whether its next attempt is to be the only one that its worker has, where `after` lost workers
    /// are too many.
    pub fn is_for_alone(&self, after: u32) -> bool {
        self.row.suspicion.as_ref().is_some_and(|it| it.is_grave(after))
    }

    /// Its input as it is now.
    pub fn input(&self) -> Option<&common::Payloads> {
        self.row.input.as_ref().or(self.scheduled.input.as_ref())
    }

    /// The name of its type.
    pub fn type_name(&self) -> &str {
        self.scheduled.activity_type.as_ref().map_or("", |kind| &kind.name)
    }

    /// The queue that its attempts go to.
    pub fn task_queue(&self) -> &str {
        let changed = self.row.options.as_ref().and_then(|options| options.task_queue.as_ref());
        changed.or(self.scheduled.task_queue.as_ref()).map_or("", |queue| &queue.name)
    }

    /// The policy that its retries follow.
    pub fn retry_policy(&self) -> Option<&common::RetryPolicy> {
        let changed = self.row.options.as_ref().and_then(|options| options.retry_policy.as_ref());
        changed.or(self.scheduled.retry_policy.as_ref())
    }

    /// Whether an operator has changed the policy that the workflow asked for.
    pub(crate) fn has_other_policy(&self) -> bool {
        let changed = self.row.options.as_ref().and_then(|options| options.retry_policy.as_ref());
        changed.is_some_and(|policy| Some(policy) != self.scheduled.retry_policy.as_ref())
    }

    /// Its four time limits as they hold now.
    pub fn timeouts(&self) -> Timeouts {
        let event = &self.scheduled;
        match &self.row.options {
            None => Timeouts {
                schedule_to_close: from_wire(event.schedule_to_close_timeout.as_ref()),
                schedule_to_start: from_wire(event.schedule_to_start_timeout.as_ref()),
                start_to_close: from_wire(event.start_to_close_timeout.as_ref()),
                heartbeat: from_wire(event.heartbeat_timeout.as_ref()),
            },
            Some(options) => Timeouts {
                schedule_to_close: from_wire(options.schedule_to_close_timeout.as_ref()),
                schedule_to_start: from_wire(options.schedule_to_start_timeout.as_ref()),
                start_to_close: from_wire(options.start_to_close_timeout.as_ref()),
                heartbeat: from_wire(options.heartbeat_timeout.as_ref()),
            },
        }
    }

    /// Within which time the worker of its attempt must be heard of: as the workflow asked for, or else
    /// as the worker itself has promised. Zero if it need not be.
    pub fn heard_within(&self) -> Duration {
        let asked = self.timeouts().heartbeat;
        if asked.is_zero() { self.promised() } else { asked }
    }

    /// Whether its worker gives signs of life for it, which its code need not.
    pub fn is_spoken_for(&self) -> bool {
        !self.promised().is_zero() && self.timeouts().heartbeat.is_zero()
    }

    fn promised(&self) -> Duration {
        Duration::from_nanos(self.row.silence_max)
    }

    /// When it must have ended, whatever its attempts do.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let limit = self.timeouts().schedule_to_close;
        (!limit.is_zero()).then(|| Timestamp(self.row.first_scheduled_at).after(limit))
    }
}

/// The four time limits of an activity; zero is none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Timeouts {
    /// From the first schedule to the end of the last attempt.
    pub schedule_to_close: Duration,
    /// From an attempt's schedule to its start.
    pub schedule_to_start: Duration,
    /// From an attempt's start to its end.
    pub start_to_close: Duration,
    /// From one heartbeat to the next.
    pub heartbeat: Duration,
}
