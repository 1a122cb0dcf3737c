//! A schedule's times come, and starts are decided on.

use std::time::Duration;

use steadfast_proto::enums::ScheduleOverlapPolicy as Policy;
use steadfast_retry::Timestamp;

use super::{
    machine::Schedule,
    overlap,
    state::{Closing, Pending},
    times::Turn,
};
use crate::span;

impl Schedule {
    /// Does all that can be done now, and says when to look again.
    pub(super) fn go_on(&mut self, now: Timestamp) {
        let more = self.consider(now) || self.fill_in();
        self.settle_buffer(now);
        let more = more || (!self.state.backfills.is_empty() && self.has_room());
        self.state.delete_at = self.end_of_life(now).map_or(0, Timestamp::nanos);
        let next = if more { Some(now) } else { self.next_turn().map(|turn| turn.due) };
        self.state.wake_at =
            next.or_else(|| span::kept(self.state.delete_at)).map_or(0, Timestamp::nanos);
    }

    /// Takes in the times that have come. `true` if there are more of them.
    pub(super) fn consider(&mut self, now: Timestamp) -> bool {
        let given = span::from_wire(self.policies().catchup_window.as_ref());
        let catchup = catchup_window(given);
        for _ in 0..TURNS_AT_ONCE {
            let Some(turn) = self.next_turn() else {
                self.state.considered = self.state.considered.max(now.nanos());
                return false;
            };
            if turn.due > now {
                return false;
            }
            self.state.considered = turn.nominal.nanos();
            if now.since(turn.due) > catchup {
                self.info().missed_catchup_window += 1;
            } else {
                self.buffer(turn, Policy::Unspecified, false);
            }
        }
        true
    }

    /// The next time at which something is to be done, if anything is.
    fn next_turn(&self) -> Option<Turn> {
        let state = self.schedule().and_then(|it| it.state.clone()).unwrap_or_default();
        if state.paused || (state.limited_actions && state.remaining_actions <= 0) {
            return None;
        }
        self.times.next(Timestamp(self.state.considered))
    }

    /// Takes in times of the past that somebody asked for. `true` if there are more of them.
    fn fill_in(&mut self) -> bool {
        for _ in 0..TURNS_AT_ONCE {
            if !self.has_room() {
                return false;
            }
            let Some(backfill) = self.state.backfills.first_mut() else { return false };
            let turn = self.times.next(Timestamp(backfill.considered));
            let Some(turn) = turn.filter(|turn| turn.nominal.nanos() <= backfill.end) else {
                self.state.backfills.remove(0);
                continue;
            };
            backfill.considered = turn.nominal.nanos();
            let policy = backfill.overlap_policy();
            self.buffer(turn, policy, true);
        }
        !self.state.backfills.is_empty()
    }

    /// Whether a backfill may go on: times that come of themselves find room too.
    fn has_room(&self) -> bool {
        self.state.buffer.len() < BUFFER_MAX / 2
    }

    pub(super) fn buffer(&mut self, turn: Turn, policy: Policy, manual: bool) {
        if self.state.buffer.len() >= BUFFER_MAX {
            self.info().buffer_dropped += 1;
            return;
        }
        let number = self.state.next_number;
        self.state.next_number += 1;
        let request_id =
            format!("{}-{}-{number}", self.state.incarnation, turn.nominal.nanos() / 1_000_000_000);
        self.state.buffer.push(Pending {
            nominal: turn.nominal.nanos(),
            due: turn.due.nanos(),
            overlap_policy: policy.into(),
            manual,
            request_id,
            workflow_id: String::new(),
            beside: false,
            begun: 0,
        });
    }

    /// Decides about the starts that wait.
    fn settle_buffer(&mut self, now: Timestamp) {
        let running = !self.info().running_workflows.is_empty();
        let is_taken = running || self.state.starting.iter().any(|it| !it.beside);
        let buffer = std::mem::take(&mut self.state.buffer);
        let verdict = overlap::judge(buffer, self.policies().overlap_policy(), is_taken);
        self.state.buffer = verdict.kept;
        self.info().overlap_skipped += verdict.skipped;
        for start in verdict.beside {
            self.begin(start, true, now);
        }
        if let Some(start) = verdict.alone {
            self.begin(start, false, now);
        }
        if verdict.terminate {
            self.make_room(true, now);
        } else if verdict.cancel {
            self.make_room(false, now);
        }
        let size = self.state.buffer.len();
        self.info().buffer_size = i64::try_from(size).unwrap_or(i64::MAX);
    }

    /// Decides on a start, unless the schedule has done all it may.
    fn begin(&mut self, mut start: Pending, beside: bool, now: Timestamp) {
        let asked = self.asked();
        if !start.manual && asked.limited_actions {
            if asked.remaining_actions <= 0 {
                return;
            }
            asked.remaining_actions -= 1;
        }
        let name = self.action().map_or("", |action| &action.workflow_id);
        start.workflow_id = if self.policies().keep_original_workflow_id {
            name.to_owned()
        } else {
            format!("{name}-{}", text(Timestamp(start.nominal)))
        };
        start.beside = beside;
        start.begun = now.nanos();
        self.state.starting.push(start);
    }

    /// Asks what runs to end, once.
    fn make_room(&mut self, terminate: bool, now: Timestamp) {
        let running = self.info().running_workflows.clone();
        for execution in running {
            let asked = |it: &Closing| {
                it.execution.as_ref() == Some(&execution) && (it.terminate || !terminate)
            };
            if self.state.closing.iter().any(asked) {
                continue;
            }
            let request_id = format!(
                "{}-close-{}-{}",
                self.state.incarnation,
                now.nanos(),
                self.state.next_number
            );
            self.state.next_number += 1;
            let execution = Some(execution);
            self.state.closing.push(Closing { execution, terminate, request_id, heard: false });
        }
    }

    /// When it is deleted, if it has nothing more to do. The time is kept that was said first.
    fn end_of_life(&mut self, now: Timestamp) -> Option<Timestamp> {
        let paused = self.asked().paused;
        let is_busy = self.has_work()
            || !self.state.buffer.is_empty()
            || !self.state.backfills.is_empty()
            || !self.info().running_workflows.is_empty();
        if paused || is_busy || self.next_turn().is_some() {
            return None;
        }
        Some(span::kept(self.state.delete_at).unwrap_or_else(|| now.after(KEPT)))
    }
}

/// For how long what was missed is made up for; nothing is the default.
pub fn catchup_window(given: Duration) -> Duration {
    match given {
        Duration::ZERO => CATCHUP,
        given => given.max(CATCHUP_MIN),
    }
}

/// An instant as it stands in a workflow id.
fn text(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_second(at.nanos().div_euclid(1_000_000_000));
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// Starts that wait at the most.
const BUFFER_MAX: usize = 1_000;
/// Times that are taken in at once, so that nobody has to wait for long.
const TURNS_AT_ONCE: usize = 1_000;
const CATCHUP: Duration = Duration::from_secs(365 * 86_400);
const CATCHUP_MIN: Duration = Duration::from_secs(10);
/// How long a schedule is kept that has nothing more to do.
const KEPT: Duration = Duration::from_secs(7 * 86_400);
