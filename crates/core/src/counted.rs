//! What the policy of an activity has counted, as it is kept between its attempts.
//!
//! The policies of the public protocol count attempts and nothing else, and their number is all that
//! is kept. A policy with rules counts each of them on its own, and deferrals and crashes apart.

use std::time::Duration;

use steadfast_retry::{RuleId, State, Timestamp};

use crate::span::nanos;

/// The counters of one activity.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Counted {
    /// Failures that count against the limits.
    #[prost(uint32, tag = "1")]
    pub failures: u32,
    /// Failures that do not.
    #[prost(uint32, tag = "2")]
    pub deferrals: u32,
    /// Attempts whose worker died.
    #[prost(uint32, tag = "3")]
    pub crashes: u32,
    /// Failures that no rule took.
    #[prost(uint32, tag = "4")]
    pub in_default: u32,
    /// Failures that rules took.
    #[prost(message, repeated, tag = "5")]
    pub in_rules: Vec<RuleCount>,
    /// The wait before the current attempt, in nanoseconds.
    #[prost(uint64, optional, tag = "6")]
    pub last_delay: Option<u64>,
    /// Nanoseconds spent inside attempts.
    #[prost(uint64, tag = "7")]
    pub executed: u64,
}

/// How often a rule has decided.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct RuleCount {
    /// Which rule.
    #[prost(fixed64, tag = "1")]
    pub rule: u64,
    /// How often.
    #[prost(uint32, tag = "2")]
    pub count: u32,
}

impl Counted {
    /// What is kept of `state`.
    pub(crate) fn of(state: &State) -> Self {
        let count = |(rule, count): &(RuleId, u32)| RuleCount { rule: rule.0, count: *count };
        Self {
            failures: state.failures,
            deferrals: state.deferrals,
            crashes: state.crashes,
            in_default: state.in_default,
            in_rules: state.in_rules.iter().map(count).collect(),
            last_delay: state.last_delay.map(nanos),
            executed: nanos(state.executed),
        }
    }

    /// The state while the attempt runs that is the `deliveries`th.
    pub(crate) fn state(&self, deliveries: u32, first_attempt_at: Timestamp) -> State {
        let count = |it: &RuleCount| (RuleId(it.rule), it.count);
        State {
            deliveries,
            failures: self.failures,
            deferrals: self.deferrals,
            crashes: self.crashes,
            in_default: self.in_default,
            in_rules: self.in_rules.iter().map(count).collect(),
            first_attempt_at,
            last_delay: self.last_delay.map(Duration::from_nanos),
            executed: Duration::from_nanos(self.executed),
        }
    }
}
