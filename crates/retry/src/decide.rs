//! The one place where a retry is decided.
//!
//! ```text
//! no policy ──────────────► fail        policy not set
//! cancel requested ───────► fail        cancel requested
//! cancelled, terminated ──► fail        non-retryable
//! an operator's rules, the policy's, an operator's again: the first match that is not used up;
//! else the default
//!   non-retryable ────────► fail        unless an operator's rule forces it
//!   schedule-to-* timeout ► fail        unless the rule ends it in its own way
//!   fail, park, … ────────► as the rule says
//!   paused ───────────────► park
//!   attempts used up ─────► exhausted   maximum attempts reached
//!   wait, hint followed
//!   too late ─────────────► exhausted   timeout
//!   breaker, budget ──────► park
//! otherwise ──────────────► retry at now + wait
//! ```
//!
//! No clock, no generator, no allocation: it runs the same in the engine, in the simulator, under
//! `explain`, and a million times in a test.

use std::time::Duration;

use crate::{
    code::Class,
    decision::{Counted, Decision, Reason, RuleRef, Why},
    failure::Failure,
    hint::{Followed, Hint},
    jitter::Draw,
    layer::Layer,
    matcher::{Occasion, Place},
    policy::Policy,
    rule::{Action, Behaviour, Ending, Limits, Overlay},
    seed::Seed,
    state::State,
    time::Timestamp,
};

/// What else bears on the decision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signals<'a> {
    /// Someone asked for the work to be cancelled.
    pub cancel_requested: bool,
    /// Someone paused the work.
    pub paused: bool,
    /// What the downstream said about coming back; the failure's own `next_delay` comes first.
    pub retry_after: Option<Hint>,
    /// No attempt may start after this: schedule-to-close, or the workflow's execution timeout.
    pub deadline: Option<Timestamp>,
    /// The downstream is not to be called for now.
    pub held: Option<Held>,
    /// Where it happened, for rules that ask.
    pub place: Place<'a>,
    /// What an operator says beside the policy.
    pub overlay: Overlay<'a>,
}

/// Why a downstream is not to be called for now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Held {
    /// Who holds it.
    pub by: HeldBy,
    /// Until when, if that is known.
    pub until: Option<Timestamp>,
}

/// Who holds a downstream back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HeldBy {
    /// Its circuit breaker.
    Breaker,
    /// Its retry budget.
    Budget,
}

/// Decides what happens after a failed attempt.
///
/// `state` is as it was while the attempt ran: the failure itself is not counted yet. Carry the
/// decision out, then hand it to [`State::record`].
///
/// ```
/// # use std::time::Duration;
/// # use steadfast_retry::{Failure, Seed, Signals, State, Timestamp, decide, preset::temporal};
/// let policy = temporal::RetryPolicy::default().for_activity();
/// let now = Timestamp::from_secs(100);
/// let state = State::at_attempt(3, Timestamp::from_secs(93));
/// let failure = Failure::of_type("ConnectionError", "connection refused");
/// let signals = Signals::default();
/// let decision = decide(Some(&policy), &state, &failure, &signals, now, Seed::new(&["order-7"]));
/// assert_eq!(decision.retry_at(), Some(now.after(Duration::from_secs(4))));
/// assert_eq!(decision.to_string(), "retry in 4s: backoff");
/// ```
#[must_use]
pub fn decide(
    policy: Option<&Policy>,
    state: &State,
    failure: &Failure<'_>,
    signals: &Signals<'_>,
    now: Timestamp,
    seed: Seed<'_>,
) -> Decision {
    let Some(policy) = policy else { return refuse(Reason::NoPolicy, Counted::Failure) };
    if signals.cancel_requested {
        return refuse(Reason::CancelRequested, Counted::Failure);
    }
    if failure.cancelled {
        return refuse(Reason::Cancelled, Counted::Nothing);
    }
    let case = Case { policy, state, failure, signals, now, seed };
    let plan = case.plan();
    match (case.refusal(&plan), plan.behaviour.action) {
        (Some(reason), _) => Decision::Fail { why: case.why(&plan, reason) },
        (None, Action::Retry) => case.retry(&plan),
        (None, Action::Fail) => Decision::Fail { why: case.why(&plan, Reason::RuleSaysSo) },
        (None, Action::Park) => {
            Decision::Park { until: None, why: case.why(&plan, Reason::RuleSaysSo) }
        }
        (None, Action::DeadLetter) => case.end(&plan, Ending::DeadLetter, Reason::RuleSaysSo),
        (None, Action::Compensate) => case.end(&plan, Ending::Compensate, Reason::RuleSaysSo),
    }
}

/// All that a decision looks at.
struct Case<'a> {
    policy: &'a Policy,
    state: &'a State,
    failure: &'a Failure<'a>,
    signals: &'a Signals<'a>,
    now: Timestamp,
    seed: Seed<'a>,
}

/// The rule that decides, and the wait it comes to; `Err` says why it has none left.
struct Plan<'a> {
    rule: Option<RuleRef>,
    behaviour: &'a Behaviour,
    forces: bool,
    /// The policy's limits, as far as an operator's rule has none of its own.
    limits: Limits,
    wait: Result<Wait, Reason>,
}

#[derive(Clone, Copy)]
enum Wait {
    For(Duration, Reason),
    ParkFor(Duration),
    Never,
}

impl<'a> Case<'a> {
    /// The first rule that matches and has something left to offer, else the default.
    fn plan(&self) -> Plan<'a> {
        let occasion = self.occasion();
        let rules = self.signals.overlay.around(self.policy.rules());
        for (index, placed) in rules.enumerate() {
            let behaviour = &placed.rule.then;
            if !placed.rule.when.matches(self.failure, &occasion) {
                continue;
            }
            let wait = self.wait(behaviour, self.state.handled_by(Some(placed.id)));
            if behaviour.action == Action::Retry && wait.is_err() {
                continue;
            }
            let is_operators = placed.layer == Layer::Operator;
            let forces = placed.rule.force && is_operators;
            let rule = Some(RuleRef { index, id: placed.id });
            let limits = self.policy.limits();
            let limits = if is_operators { limits.without(behaviour.limits) } else { limits };
            return Plan { rule, behaviour, forces, limits, wait };
        }
        let behaviour = self.policy.default_behaviour();
        let wait = self.wait(behaviour, self.state.handled_by(None));
        Plan { rule: None, behaviour, forces: false, limits: self.policy.limits(), wait }
    }

    /// What no policy may retry.
    fn refusal(&self, plan: &Plan<'_>) -> Option<Reason> {
        let retries = plan.behaviour.action == Action::Retry;
        let spans_attempts = self.failure.timeout.is_some_and(|kind| !kind.is_of_one_attempt());
        if retries && spans_attempts {
            return Some(Reason::TimeoutIsFinal);
        }
        (self.failure.non_retryable && !plan.forces).then_some(Reason::NonRetryable)
    }

    fn retry(&self, plan: &Plan<'_>) -> Decision {
        if self.signals.paused {
            return Decision::Park { until: None, why: self.why(plan, Reason::Paused) };
        }
        let spent = self.attempts_spent(plan);
        let wait = match (spent, plan.wait) {
            (Some(reason), _) | (None, Err(reason)) => return self.exhaust(plan, reason),
            (None, Ok(wait)) => wait,
        };
        let (delay, reason) = match wait {
            Wait::For(delay, reason) => (delay, reason),
            Wait::ParkFor(delay) => (delay, Reason::HintTooFar),
            Wait::Never => return Decision::Fail { why: self.why(plan, Reason::ToldNever) },
        };
        if let Some(reason) = self.too_late(plan.limits, delay) {
            return self.exhaust(plan, reason);
        }
        self.wait_or_park(plan, delay, reason)
    }

    fn wait_or_park(&self, plan: &Plan<'_>, delay: Duration, reason: Reason) -> Decision {
        let at = self.now.after(delay);
        if reason == Reason::HintTooFar {
            return Decision::Park { until: Some(at), why: self.why(plan, reason) };
        }
        match self.signals.held {
            Some(held) => {
                let reason = match held.by {
                    HeldBy::Breaker => Reason::BreakerOpen,
                    HeldBy::Budget => Reason::BudgetSpent,
                };
                Decision::Park { until: held.until, why: self.why(plan, reason) }
            }
            None => Decision::RetryAt { at, delay, why: self.why(plan, reason) },
        }
    }

    /// The wait after a behaviour's next failure, or why it is used up.
    fn wait(&self, behaviour: &Behaviour, handled: u32) -> Result<Wait, Reason> {
        let n = handled.saturating_add(1);
        if let Some(limit) = behaviour.limits.attempt_limit().filter(|limit| n >= *limit) {
            return Err(Reason::MaxAttempts { limit });
        }
        let draw = Draw {
            seed: self.seed,
            failure: self.state.sequence(),
            previous: self.state.last_delay,
        };
        let computed = behaviour.backoff.delay(n, &draw).ok_or(Reason::ScheduleSpent)?;
        let wait = self.follow_hint(behaviour, computed);
        match wait {
            Wait::For(delay, _) | Wait::ParkFor(delay) => {
                self.outlasts(behaviour.limits, delay).map_or(Ok(wait), Err)
            }
            Wait::Never => Ok(wait),
        }
    }

    fn follow_hint(&self, behaviour: &Behaviour, computed: Duration) -> Wait {
        let (hint, reason) = match (self.failure.next_delay, self.signals.retry_after) {
            (Some(hint), _) => (hint, Reason::NextDelay),
            (None, Some(hint)) => (hint, Reason::RetryAfter),
            (None, None) => return Wait::For(computed, Reason::Backoff),
        };
        let unit = || self.seed.unit(self.state.sequence(), HINT_STREAM);
        match behaviour.hints.follow(hint, computed, unit) {
            Followed::Wait(delay) => Wait::For(delay, reason),
            Followed::Computed(delay) => Wait::For(delay, Reason::Backoff),
            Followed::Park(delay) => Wait::ParkFor(delay),
            Followed::Never => Wait::Never,
        }
    }

    fn attempts_spent(&self, plan: &Plan<'_>) -> Option<Reason> {
        let limit = plan.limits.attempt_limit()?;
        let this_one = u32::from(self.counted(plan.behaviour) != Counted::Deferral);
        let begun = self.state.begun().saturating_add(this_one);
        (begun >= limit).then_some(Reason::MaxAttempts { limit })
    }

    fn too_late(&self, limits: Limits, delay: Duration) -> Option<Reason> {
        let deadline = self.signals.deadline.filter(|at| self.now.after(delay) > *at);
        self.outlasts(limits, delay).or_else(|| deadline.map(|at| Reason::Deadline { at }))
    }

    /// Checked before waiting: a wait whose attempt may not run is a wait for nothing.
    fn outlasts(&self, limits: Limits, delay: Duration) -> Option<Reason> {
        let end = |limit| self.state.first_attempt_at.after(limit);
        let elapsed = limits.max_elapsed.filter(|limit| self.now.after(delay) > end(*limit));
        let execution = limits.max_execution.filter(|limit| self.state.executed >= *limit);
        elapsed
            .map(|limit| Reason::MaxElapsed { limit })
            .or_else(|| execution.map(|limit| Reason::MaxExecution { limit }))
    }

    fn exhaust(&self, plan: &Plan<'_>, reason: Reason) -> Decision {
        self.end(plan, self.policy.on_exhausted(), reason)
    }

    fn end(&self, plan: &Plan<'_>, action: Ending, reason: Reason) -> Decision {
        Decision::Exhausted { action, why: self.why(plan, reason) }
    }

    fn why(&self, plan: &Plan<'_>, reason: Reason) -> Why {
        let was_told =
            matches!(reason, Reason::NextDelay | Reason::RetryAfter | Reason::HintTooFar);
        let grows = plan.behaviour.counts || !was_told;
        Why { reason, rule: plan.rule, counted: self.counted(plan.behaviour), grows }
    }

    fn counted(&self, behaviour: &Behaviour) -> Counted {
        match (self.failure.class(), behaviour.counts) {
            (Class::Crash, _) => Counted::Crash,
            (_, true) => Counted::Failure,
            (_, false) => Counted::Deferral,
        }
    }

    fn occasion(&self) -> Occasion<'a> {
        Occasion {
            place: self.signals.place,
            attempt: self.state.attempt(),
            elapsed: self.now.since(self.state.first_attempt_at),
        }
    }
}

fn refuse(reason: Reason, counted: Counted) -> Decision {
    Decision::Fail { why: Why { reason, rule: None, counted, grows: false } }
}

/// Apart from the numbers that the jitters draw.
const HINT_STREAM: u64 = 2;
