//! One activity under a policy on a virtual clock: the rows of the promises say what comes out.

use std::time::Duration;

use steadfast_retry::{Decision, Failure, Policy, Seed, Signals, State, Timestamp, decide};

/// An activity that fails its first `fails` attempts and then succeeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) fails: u32,
    pub(crate) failure: Failure<'a>,
    pub(crate) takes: Duration,
    pub(crate) signals: Signals<'a>,
    pub(crate) cancel_at: Option<Timestamp>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The start of each attempt, in seconds.
    pub(crate) starts: Vec<f64>,
    /// The decision that ended it; `None` is success.
    pub(crate) end: Option<Decision>,
    /// When it ended, in seconds.
    pub(crate) ended_at: f64,
}

/// Never succeeds.
pub(crate) const ALWAYS: u32 = u32::MAX;

impl<'a> Trial<'a> {
    /// Attempts that take no time and fail with an application error.
    pub(crate) fn new(policy: &'a Policy, fails: u32) -> Self {
        Self {
            policy,
            fails,
            failure: Failure::of_type("Flaky", "try again"),
            takes: Duration::ZERO,
            signals: Signals::default(),
            cancel_at: None,
        }
    }

    /// Runs it to its end. Every decision is `decide`'s.
    pub(crate) fn run(self) -> Outcome {
        let mut state = State::started(Timestamp::default());
        let mut starts = Vec::new();
        let mut start = Timestamp::default();
        loop {
            starts.push(seconds(start));
            state.deliver();
            let now = start.after(self.takes);
            if state.attempt() > self.fails {
                return Outcome { starts, end: None, ended_at: seconds(now) };
            }
            let decision = self.decide(&state, now);
            let Some(at) = decision.retry_at() else {
                return Outcome { starts, end: Some(decision), ended_at: seconds(now) };
            };
            if let Some(cancelled) = self.cancel_at.filter(|cancelled| *cancelled < at) {
                let decision = self.decide(&state, cancelled);
                return Outcome { starts, end: Some(decision), ended_at: seconds(cancelled) };
            }
            state.record(&decision);
            start = at;
        }
    }

    fn decide(&self, state: &State, now: Timestamp) -> Decision {
        let cancel_requested = self.cancel_at.is_some_and(|at| at <= now);
        let signals = Signals { cancel_requested, ..self.signals };
        decide(Some(self.policy), state, &self.failure, &signals, now, Seed::new(&["trial"]))
    }
}

fn seconds(at: Timestamp) -> f64 {
    at.since(Timestamp::default()).as_secs_f64()
}
