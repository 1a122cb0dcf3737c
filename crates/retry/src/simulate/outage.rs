//! A downstream that goes away and comes back, and everyone who was waiting for it.
//!
//! ```text
//! new work ──►┐              ┌─ up:   a queue, so many answers a second
//!             ├─► call ──► downstream
//! retries ───►┘              └─ down: every call fails at once
//!     ▲                │
//!     └── decide() ◄───┘  failed, or no answer within the client's timeout
//! ```
//!
//! A call that its client has given up on is still worked on when its turn comes: that waste is what
//! keeps a downstream down after its outage is over. Time goes in ticks of one second; waits are
//! rounded up to the next. One key, steady arrivals, steady capacity: a guide, not a forecast.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::{
    decide::{Signals, decide},
    decision::Decision,
    failure::{Failure, TimeoutKind},
    policy::Policy,
    seed::Seed,
    state::State,
    time::Timestamp,
};

/// The downstream and its clients. All times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Outage {
    /// New activities a second.
    pub arrivals: u32,
    /// Answers a second, when it is up.
    pub capacity: u32,
    /// How long it is down, from the start.
    pub down_for: u32,
    /// How long a client waits for an answer.
    pub client_timeout: u32,
    /// The longest queue; a call beyond it is turned away at once. `None` queues everything.
    pub shed_above: Option<usize>,
    /// How long to look on after the outage.
    pub observe: u32,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// Calls made while it was down.
    pub attempts_in_outage: u64,
    /// The most calls in one second afterwards.
    pub peak_after: u32,
    /// Answers a second that somebody was still waiting for, in the first hour afterwards.
    pub goodput: f64,
    /// Seconds until no more than ten seconds of arrivals were waiting; `None` is never.
    pub drained_after: Option<u32>,
    /// Activities that gave up.
    pub failed: u64,
}

impl Default for Outage {
    /// 60 arrivals and 100 answers a second, down for half an hour, watched for three hours.
    fn default() -> Self {
        Self {
            arrivals: 60,
            capacity: 100,
            down_for: 1_800,
            client_timeout: 10,
            shed_above: None,
            observe: 3 * 3_600,
        }
    }
}

impl Outage {
    /// The same with fewer of everything that is counted, for a quicker look.
    #[must_use]
    pub fn scaled_down(self, by: u32) -> Self {
        let smaller = |n: usize| usize::try_from(by).map_or(n, |by| n / by);
        Self {
            arrivals: self.arrivals / by,
            capacity: self.capacity / by,
            shed_above: self.shed_above.map(smaller),
            ..self
        }
    }

    /// The shortest time in which the backlog can be worked off.
    #[must_use]
    pub fn best_drain(&self) -> Option<u32> {
        let spare = self.capacity.checked_sub(self.arrivals).filter(|spare| *spare > 0)?;
        Some(self.arrivals.saturating_mul(self.down_for) / spare)
    }

    /// Plays it with everyone under `policy`.
    #[must_use]
    pub fn run(&self, policy: &Policy) -> Report {
        self.run_watched(policy, |_| ())
    }

    /// How many seconds are played.
    #[must_use]
    pub fn seconds(&self) -> u32 {
        self.down_for.saturating_add(self.observe)
    }

    /// Plays it and tells after each second how many have been played.
    pub fn run_watched(&self, policy: &Policy, mut played: impl FnMut(u32)) -> Report {
        let mut world = World::new(self, policy);
        for now in 0..self.seconds() {
            world.tick(now);
            played(now + 1);
        }
        world.report()
    }
}

struct World<'a> {
    model: &'a Outage,
    policy: &'a Policy,
    /// The state of each activity, by number. Activities that are over keep their place.
    states: Vec<State>,
    /// Who is to be called in each second.
    due: Vec<Vec<usize>>,
    queue: VecDeque<Batch>,
    queued: usize,
    live: u32,
    attempts_in_outage: u64,
    peak_after: u32,
    useful_in_first_hour: u32,
    drained_after: Option<u32>,
    failed: u64,
}

/// The calls that arrived in one second. Given up on, only their number still matters.
struct Batch {
    arrived: u32,
    waiting: VecDeque<usize>,
    abandoned: usize,
}

impl<'a> World<'a> {
    fn new(model: &'a Outage, policy: &'a Policy) -> Self {
        let seconds = model.down_for.saturating_add(model.observe);
        Self {
            model,
            policy,
            states: Vec::new(),
            due: vec![Vec::new(); usize::try_from(seconds).unwrap_or_default()],
            queue: VecDeque::new(),
            queued: 0,
            live: 0,
            attempts_in_outage: 0,
            peak_after: 0,
            useful_in_first_hour: 0,
            drained_after: None,
            failed: 0,
        }
    }

    fn tick(&mut self, now: u32) {
        let calls = self.calls(now);
        if now < self.model.down_for {
            self.attempts_in_outage += u64::try_from(calls.len()).unwrap_or(u64::MAX);
            for activity in calls {
                self.fail(activity, &Failure::of_type("Unavailable", "connection refused"), now);
            }
            return;
        }
        self.peak_after = self.peak_after.max(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        self.give_up(now);
        self.enqueue(calls, now);
        self.serve(now);
        let after = now - self.model.down_for;
        if self.drained_after.is_none() && self.live <= self.model.arrivals.saturating_mul(10) {
            self.drained_after = Some(after);
        }
    }

    /// Everyone who calls in this second: those whose wait is over, and the newcomers.
    fn calls(&mut self, now: u32) -> Vec<usize> {
        let mut calls = self.due.get_mut(index(now)).map(std::mem::take).unwrap_or_default();
        let newcomers = self.states.len()..self.states.len() + index(self.model.arrivals);
        self.states.resize(newcomers.end, State::started(at(now)));
        self.live += self.model.arrivals;
        calls.extend(newcomers);
        calls
    }

    fn enqueue(&mut self, calls: Vec<usize>, now: u32) {
        let room = match self.model.shed_above {
            Some(longest) => longest.saturating_sub(self.queued).min(calls.len()),
            None => calls.len(),
        };
        let mut waiting = VecDeque::from(calls);
        let turned_away = waiting.split_off(room);
        self.queued += waiting.len();
        self.queue.push_back(Batch { arrived: now, waiting, abandoned: 0 });
        for activity in turned_away {
            self.fail(activity, &Failure::of_type("Overloaded", "queue full"), now);
        }
    }

    /// Answers calls in order, those too that nobody waits for any more.
    fn serve(&mut self, now: u32) {
        let mut left = index(self.model.capacity);
        while left > 0 {
            let Some(batch) = self.queue.front_mut() else { break };
            let wasted = batch.abandoned.min(left);
            batch.abandoned -= wasted;
            let useful = batch.waiting.len().min(left - wasted);
            batch.waiting.drain(..useful);
            left -= wasted + useful;
            self.queued -= wasted + useful;
            self.complete(useful, now);
            if self.queue.front().is_some_and(Batch::is_empty) {
                self.queue.pop_front();
            }
        }
    }

    fn complete(&mut self, useful: usize, now: u32) {
        let useful = u32::try_from(useful).unwrap_or(u32::MAX);
        self.live -= useful;
        if now < self.model.down_for.saturating_add(3_600) {
            self.useful_in_first_hour += useful;
        }
    }

    fn give_up(&mut self, now: u32) {
        let Some(arrived) = now.checked_sub(self.model.client_timeout) else { return };
        let found = self.queue.iter_mut().find(|batch| batch.arrived == arrived);
        let Some(batch) = found else { return };
        batch.abandoned += batch.waiting.len();
        let gone = std::mem::take(&mut batch.waiting);
        for activity in gone {
            self.fail(activity, &Failure::timed_out(TimeoutKind::StartToClose), now);
        }
    }

    fn fail(&mut self, activity: usize, failure: &Failure<'_>, now: u32) {
        let name = activity.to_string();
        let parts = [name.as_str()];
        let state = &mut self.states[activity];
        let signals = Signals::default();
        let decision =
            decide(Some(self.policy), state, failure, &signals, at(now), Seed::new(&parts));
        state.record(&decision);
        match decision {
            Decision::RetryAt { delay, .. } => {
                let ticks = u32::try_from(delay.as_nanos().div_ceil(NANOS)).unwrap_or(u32::MAX);
                if let Some(due) = self.due.get_mut(index(now.saturating_add(ticks.max(1)))) {
                    due.push(activity);
                }
            }
            Decision::Park { .. } => {}
            Decision::Exhausted { .. } | Decision::Fail { .. } => {
                self.failed += 1;
                self.live -= 1;
            }
        }
    }

    fn report(&self) -> Report {
        let watched = self.model.observe.min(3_600);
        Report {
            attempts_in_outage: self.attempts_in_outage,
            peak_after: self.peak_after,
            goodput: f64::from(self.useful_in_first_hour) / f64::from(watched.max(1)),
            drained_after: self.drained_after,
            failed: self.failed,
        }
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.abandoned == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drained = self.drained_after.map(|secs| Duration::from_secs(secs.into()));
        writeln!(f, "attempts in the outage  {}", self.attempts_in_outage)?;
        writeln!(f, "peak a second after it  {}", self.peak_after)?;
        writeln!(f, "goodput in hour one     {:.1}/s", self.goodput)?;
        match drained {
            Some(span) => writeln!(f, "drained after           {}", crate::span::Span(span))?,
            None => writeln!(f, "drained after           never")?,
        }
        write!(f, "gave up                 {}", self.failed)
    }
}

fn at(second: u32) -> Timestamp {
    Timestamp::from_secs(second.into())
}

fn index(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

const NANOS: u128 = 1_000_000_000;
