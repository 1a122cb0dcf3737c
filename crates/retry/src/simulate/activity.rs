//! One activity, attempt by attempt: when each starts and stops, and how it ends.

use std::fmt;
use std::time::Duration;

use crate::{
    decide::{Signals, decide},
    decision::{Decision, Reason, Why},
    failure::{Failure, TimeoutKind},
    policy::Policy,
    seed::Seed,
    span::Span,
    state::State,
    time::Timestamp,
};

/// What is to be played. The first attempt is scheduled at the epoch.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a> {
    /// The policy; `None` tries once.
    pub policy: Option<&'a Policy>,
    /// The activity's timeouts.
    pub timeouts: Timeouts,
    /// What each attempt does; the last one is repeated.
    pub attempts: &'a [Attempt<'a>],
    /// Who is retrying, for jitter.
    pub seed: Seed<'a>,
    /// The play stops after so many attempts.
    pub limit: u32,
}

/// The timeouts of an activity; `None` never runs out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timeouts {
    /// For one attempt.
    pub start_to_close: Option<Duration>,
    /// For all attempts together.
    pub schedule_to_close: Option<Duration>,
}

/// What one attempt does if it is let.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// How long it takes.
    pub takes: Duration,
    /// How it fails; `None` succeeds.
    pub failure: Option<Failure<'a>>,
}

/// What was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Play {
    /// Every attempt.
    pub attempts: Vec<Ran>,
    /// How it ended.
    pub end: End,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// One attempt that was played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// When it started.
    pub start: Timestamp,
    /// When it stopped.
    pub stop: Timestamp,
    /// How it stopped.
    pub result: Result<(), Option<TimeoutKind>>,
    /// What was decided about it; `None` when nothing had to be.
    pub decision: Option<Decision>,
}

/// How an activity ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// With a result.
    Completed,
    /// With its last failure.
    Failed(Why),
    /// With a timeout.
    TimedOut(TimeoutKind),
    /// Not at all: it is kept.
    Parked(Why),
    /// Not within the limit of the play.
    Unfinished,
}

impl<'a> Attempt<'a> {
    /// An attempt that takes a while and works.
    #[must_use]
    pub const fn succeeding(takes: Duration) -> Self {
        Self { takes, failure: None }
    }

    /// An attempt that takes a while and fails.
    #[must_use]
    pub const fn failing(takes: Duration, failure: Failure<'a>) -> Self {
        Self { takes, failure: Some(failure) }
    }
}

/// Plays the script.
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::{Failure, Seed, preset::temporal, simulate::activity::*};
/// let policy = temporal::RetryPolicy::default().for_activity();
/// let second = Duration::from_secs(1);
/// let fails = Attempt::failing(second, Failure::of_type("Flaky", "try again"));
/// let play = play(&Script {
///     policy: Some(&policy),
///     timeouts: Timeouts::default(),
///     attempts: &[fails, fails, Attempt::succeeding(second)],
///     seed: Seed::new(&[]),
///     limit: 10,
/// });
/// assert_eq!(play.starts(), [0.0, 2.0, 5.0]);
/// assert_eq!(play.end, End::Completed);
/// ```
#[must_use]
pub fn play(script: &Script<'_>) -> Play {
    let mut stage = Stage {
        script,
        state: State::started(Timestamp::default()),
        attempts: Vec::new(),
        deadline: script.timeouts.schedule_to_close.map(|limit| Timestamp::default().after(limit)),
    };
    let mut start = Timestamp::default();
    loop {
        match stage.attempt(start) {
            Next::Start(at) => start = at,
            Next::End(end, ended_at) => return Play { attempts: stage.attempts, end, ended_at },
        }
    }
}

impl Play {
    /// The start of every attempt, in seconds.
    #[must_use]
    pub fn starts(&self) -> Vec<f64> {
        let epoch = Timestamp::default();
        self.attempts.iter().map(|ran| ran.start.since(epoch).as_secs_f64()).collect()
    }

    /// The waits between the attempts.
    pub fn delays(&self) -> impl Iterator<Item = Duration> {
        self.attempts.iter().filter_map(|ran| match ran.decision {
            Some(Decision::RetryAt { delay, .. }) => Some(delay),
            _ => None,
        })
    }
}

struct Stage<'a> {
    script: &'a Script<'a>,
    state: State,
    attempts: Vec<Ran>,
    deadline: Option<Timestamp>,
}

enum Next {
    Start(Timestamp),
    End(End, Timestamp),
}

impl Stage<'_> {
    fn attempt(&mut self, start: Timestamp) -> Next {
        let number = self.attempts.len();
        let attempts = self.script.attempts;
        let Some(attempt) = attempts.get(number).or_else(|| attempts.last()) else {
            return Next::End(End::Unfinished, start);
        };
        if u32::try_from(number).is_ok_and(|number| number >= self.script.limit) {
            return Next::End(End::Unfinished, start);
        }
        let (stop, timeout) = self.stop(start, attempt.takes);
        self.state.deliver();
        self.state.executed = self.state.executed.saturating_add(stop.since(start));
        let failure = match timeout {
            Some(kind) => Some(Failure::timed_out(kind)),
            None => attempt.failure,
        };
        let decision = failure.map(|failure| self.decide(&failure, stop));
        let result = if failure.is_none() { Ok(()) } else { Err(timeout) };
        self.attempts.push(Ran { start, stop, result, decision });
        next(decision, timeout, stop)
    }

    /// Whichever comes first: the attempt's own end, its timeout, or everyone's.
    fn stop(&self, start: Timestamp, takes: Duration) -> (Timestamp, Option<TimeoutKind>) {
        let own = (start.after(takes), None);
        let timeouts = self.script.timeouts;
        let attempt = timeouts
            .start_to_close
            .map(|limit| (start.after(limit), Some(TimeoutKind::StartToClose)));
        let all = self.deadline.map(|at| (at, Some(TimeoutKind::ScheduleToClose)));
        // An attempt that ends on the very tick of a timeout has made it.
        [attempt, all]
            .into_iter()
            .flatten()
            .fold(own, |first, other| if other.0 < first.0 { other } else { first })
    }

    fn decide(&mut self, failure: &Failure<'_>, now: Timestamp) -> Decision {
        let signals = Signals { deadline: self.deadline, ..Signals::default() };
        let Script { policy, seed, .. } = *self.script;
        let decision = decide(policy, &self.state, failure, &signals, now, seed);
        self.state.record(&decision);
        decision
    }
}

fn next(decision: Option<Decision>, timeout: Option<TimeoutKind>, now: Timestamp) -> Next {
    let end = match (decision, timeout) {
        (None, _) => End::Completed,
        (Some(Decision::RetryAt { at, .. }), _) => return Next::Start(at),
        (Some(Decision::Park { why, .. }), _) => End::Parked(why),
        (Some(decision), Some(kind)) => End::TimedOut(blamed(&decision, kind)),
        (Some(Decision::Exhausted { why, .. } | Decision::Fail { why }), None) => End::Failed(why),
    };
    Next::End(end, now)
}

/// A timed-out attempt that there is no time left to repeat is everyone's timeout.
fn blamed(decision: &Decision, kind: TimeoutKind) -> TimeoutKind {
    let no_time = matches!(decision.why().reason, Reason::Deadline { .. });
    if no_time { TimeoutKind::ScheduleToClose } else { kind }
}

impl fmt::Display for Play {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = |at: Timestamp| Span(at.since(Timestamp::default()));
        writeln!(f, "attempt      start       stop  outcome")?;
        for (number, ran) in (1..).zip(&self.attempts) {
            write!(f, "{number:>7} {:>10} {:>10}  ", since(ran.start), since(ran.stop))?;
            match (ran.result, ran.decision) {
                (Ok(()), _) => writeln!(f, "ok")?,
                (Err(None), Some(decision)) => writeln!(f, "failed; {decision}")?,
                (Err(Some(kind)), Some(decision)) => writeln!(f, "{kind} timeout; {decision}")?,
                (Err(_), None) => writeln!(f, "failed")?,
            }
        }
        write!(f, "{} at {}", self.end, since(self.ended_at))
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::Failed(why) => write!(f, "failed ({why})"),
            Self::TimedOut(kind) => write!(f, "timed out ({kind})"),
            Self::Parked(why) => write!(f, "parked ({why})"),
            Self::Unfinished => f.write_str("still retrying"),
        }
    }
}
