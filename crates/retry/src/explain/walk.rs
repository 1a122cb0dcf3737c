//! The same failure again and again, each attempt over in no time: the bare bones of a policy.

use std::time::Duration;

use super::Setting;
use crate::{
    decide::{Signals, decide},
    decision::Decision,
    policy::Policy,
    seed::Seed,
    state::State,
    time::Timestamp,
};

/// One attempt in the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Row {
    /// The attempt's number, from 1.
    pub attempt: u32,
    /// The wait before it, without jitter.
    pub wait: Duration,
    /// The shortest and the longest wait that jitter makes of it.
    pub range: (Duration, Duration),
    /// Since the first attempt, without jitter.
    pub since_start: Duration,
    /// The rule that set the wait, from 1; `None` is the default.
    pub rule: Option<usize>,
}

pub(super) struct Walk {
    steps: Vec<Step>,
    ended: bool,
}

struct Step {
    at: Timestamp,
    delay: Duration,
    rule: Option<usize>,
    /// Failures that the rule had handled before this one.
    handled: u32,
}

/// Walks until the policy gives up, or until it is plain that it will not.
pub(super) fn walk(policy: &Policy, setting: &Setting<'_>, limit: u32, number: u64) -> Walk {
    let start = Timestamp::default();
    let signals = Signals {
        deadline: setting.schedule_to_close.map(|limit| start.after(limit)),
        place: setting.place,
        ..Signals::default()
    };
    let name = number.to_string();
    let parts = [policy.name(), name.as_str()];
    let mut state = State::started(start);
    let mut now = start;
    let mut steps = Vec::new();
    for _ in 0..limit {
        state.deliver();
        let seed = Seed::new(&parts);
        let decision = decide(Some(policy), &state, &setting.failure, &signals, now, seed);
        let Decision::RetryAt { at, delay, why } = decision else {
            return Walk { steps, ended: true };
        };
        let handled = state.handled_by(why.rule.map(|rule| rule.id));
        steps.push(Step { at, delay, rule: why.rule.map(|rule| rule.index), handled });
        state.record(&decision);
        now = at;
    }
    Walk { steps, ended: false }
}

impl Walk {
    /// Calls until it gives up; `None` is without end.
    pub(super) fn calls(&self) -> Option<u32> {
        self.ended.then(|| u32::try_from(self.steps.len()).unwrap_or(u32::MAX).saturating_add(1))
    }

    /// When the last attempt starts; `None` is without end.
    pub(super) fn last_start(&self) -> Option<Duration> {
        let last = self.steps.last().map(|step| step.at).unwrap_or_default();
        self.ended.then(|| last.since(Timestamp::default()))
    }

    /// The first attempts, with the waits that the jitter of `policy` makes of these.
    pub(super) fn rows(&self, policy: &Policy) -> Vec<Row> {
        let steps = self.steps.iter().take(ROWS);
        (2..).zip(steps).map(|(attempt, step)| step.row(policy, attempt)).collect()
    }
}

impl Step {
    fn row(&self, policy: &Policy, attempt: u32) -> Row {
        let behaviour = match self.rule {
            Some(index) => &policy.rules()[index].rule.then,
            None => policy.default_behaviour(),
        };
        let range = behaviour.backoff.range(self.handled.saturating_add(1));
        Row {
            attempt,
            wait: self.delay,
            range: range.unwrap_or((self.delay, self.delay)),
            since_start: self.at.since(Timestamp::default()),
            rule: self.rule.map(|index| index + 1),
        }
    }
}

/// A policy that still retries after so many attempts is taken to retry for ever.
pub(super) const LIMIT: u32 = 10_000;
/// Attempts in a table; more is not read.
const ROWS: usize = 12;
