//! What has been counted so far, each kind of count on its own.
//!
//! ```text
//! deliveries >= failures + deferrals + crashes
//! ```
//!
//! A throttled call, an open breaker or a snooze is a deferral: it neither uses up attempts nor makes
//! the waits grow. A crash counts as an attempt, because the attempt was begun.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    decision::{Counted, Decision},
    rule::RuleId,
    time::Timestamp,
};

/// The counters of one piece of work. Per activity, never shared.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct State {
    /// Times it was handed to a worker; counted before the worker has it.
    pub deliveries: u32,
    /// Failures that count against the limits.
    pub failures: u32,
    /// Failures and refusals that do not.
    pub deferrals: u32,
    /// Deliveries whose worker died.
    pub crashes: u32,
    /// Failures handled by the default behaviour.
    pub in_default: u32,
    /// Failures handled by each rule.
    pub in_rules: Vec<(RuleId, u32)>,
    /// When the first attempt was scheduled; the start of `max_elapsed`.
    pub first_attempt_at: Timestamp,
    /// The wait before the current attempt.
    pub last_delay: Option<Duration>,
    /// Time spent inside attempts so far.
    pub executed: Duration,
}

impl State {
    /// Nothing has happened yet.
    #[must_use]
    pub fn started(first_attempt_at: Timestamp) -> Self {
        Self { first_attempt_at, ..Self::default() }
    }

    /// The state while attempt number `attempt` (from 1) runs, when all failures before it counted
    /// and were handled by the default behaviour: all that the Temporal world keeps.
    #[must_use]
    pub fn at_attempt(attempt: u32, first_attempt_at: Timestamp) -> Self {
        let before = attempt.saturating_sub(1);
        Self {
            deliveries: attempt,
            failures: before,
            in_default: before,
            first_attempt_at,
            ..Self::default()
        }
    }

    /// The number of the attempt that is running or has just failed, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.begun().saturating_add(1)
    }

    /// Counts a delivery. Call it before the worker gets the task.
    pub fn deliver(&mut self) {
        self.deliveries = self.deliveries.saturating_add(1);
    }

    /// Counts a wait that was nobody's failure: a snooze, no worker that knows the activity.
    pub fn defer(&mut self) {
        self.deferrals = self.deferrals.saturating_add(1);
    }

    /// Counts what `decision` was about. Call it once for every decision that is carried out.
    pub fn record(&mut self, decision: &Decision) {
        let why = decision.why();
        let counter = match why.counted {
            Counted::Failure => Some(&mut self.failures),
            Counted::Deferral => Some(&mut self.deferrals),
            Counted::Crash => Some(&mut self.crashes),
            Counted::Nothing => None,
        };
        if let Some(counter) = counter {
            *counter = counter.saturating_add(1);
        }
        if why.grows {
            let own = self.own_counter(why.rule.map(|rule| rule.id));
            *own = own.saturating_add(1);
        }
        if let Decision::RetryAt { delay, .. } = decision {
            self.last_delay = Some(*delay);
        }
    }

    /// Failures that a rule, or the default behaviour, has handled.
    #[must_use]
    pub fn handled_by(&self, rule: Option<RuleId>) -> u32 {
        match rule {
            None => self.in_default,
            Some(id) => {
                let found = self.in_rules.iter().find(|(rule, _)| *rule == id);
                found.map_or(0, |(_, count)| *count)
            }
        }
    }

    /// Attempts that are over and count.
    pub(crate) fn begun(&self) -> u32 {
        self.failures.saturating_add(self.crashes)
    }

    /// A number that no two failures of the same work share.
    pub(crate) fn sequence(&self) -> u64 {
        u64::from(self.failures) + u64::from(self.deferrals) + u64::from(self.crashes)
    }

    fn own_counter(&mut self, rule: Option<RuleId>) -> &mut u32 {
        let Some(id) = rule else { return &mut self.in_default };
        let index = self.in_rules.iter().position(|(rule, _)| *rule == id);
        let index = index.unwrap_or_else(|| {
            self.in_rules.push((id, 0));
            self.in_rules.len() - 1
        });
        &mut self.in_rules[index].1
    }
}
