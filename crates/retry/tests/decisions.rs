//! The edges of a decision: deadlines, execution time, pauses, breakers and budgets.

use std::time::Duration;

use steadfast_retry::{
    Backoff, Behaviour, Decision, Draft, Ending, Failure, Held, HeldBy, Hint, Layer, Limits,
    Policy, Reason, RetryState, Rule, Seed, Signals, State, Timestamp, decide,
};

/// Waits ten seconds and parks when it is used up.
fn policy(limits: Limits) -> Policy {
    let draft = Draft {
        default: Some(Behaviour::retrying(Backoff::constant(Duration::from_secs(10)))),
        limits,
        on_exhausted: Some(Ending::Park),
        idempotency: None,
        ..Draft::default()
    };
    Policy::new(draft).expect("valid")
}

fn decided(limits: Limits, state: &State, signals: &Signals<'_>) -> Decision {
    let failure = Failure::of_type("Io", "disk");
    let now = Timestamp::from_secs(100);
    decide(Some(&policy(limits)), state, &failure, signals, now, Seed::new(&[]))
}

#[test]
fn an_attempt_may_start_exactly_at_the_deadline() {
    let before = |millis| {
        let deadline = Some(Timestamp::from_millis(millis));
        let signals = Signals { deadline, ..Signals::default() };
        decided(Limits::default(), &State::default(), &signals)
    };
    assert_eq!(before(110_000).retry_at(), Some(Timestamp::from_secs(110)));
    let late = before(109_999);
    assert_eq!(late.to_string(), "exhausted, park: the deadline (109.999) would be passed");
    assert_eq!(late.retry_state(), RetryState::Timeout);
}

#[test]
fn execution_time_counts_apart_from_the_time_between() {
    let limits = Limits { max_execution: Some(Duration::from_secs(60)), ..Limits::default() };
    let after = |secs| {
        let state = State { executed: Duration::from_secs(secs), ..State::default() };
        decided(limits, &state, &Signals::default())
    };
    assert!(after(59).retry_at().is_some());
    assert_eq!(after(60).to_string(), "exhausted, park: max execution time (1m) is used up");
    let waited = State::started(Timestamp::from_secs(-1_000_000));
    assert!(decided(limits, &waited, &Signals::default()).retry_at().is_some());
}

#[test]
fn a_held_downstream_parks_what_would_be_retried() {
    let until = Some(Timestamp::from_secs(500));
    let held = |by| Signals { held: Some(Held { by, until }), ..Signals::default() };
    let breaker = decided(Limits::default(), &State::default(), &held(HeldBy::Breaker));
    assert_eq!(breaker.to_string(), "park until 500: the breaker is open");
    let budget = decided(Limits::default(), &State::default(), &held(HeldBy::Budget));
    assert_eq!(budget.to_string(), "park until 500: the retry budget is spent");
    // What is over is over, breaker or not.
    let last = State::at_attempt(3, Timestamp::from_secs(100));
    let over = decided(Limits::attempts(3), &last, &held(HeldBy::Breaker));
    assert_eq!(over.why().reason, Reason::MaxAttempts { limit: 3 });
}

#[test]
fn a_pause_parks_even_the_last_attempt() {
    let paused = Signals { paused: true, ..Signals::default() };
    let last = State::at_attempt(3, Timestamp::from_secs(100));
    let decision = decided(Limits::attempts(3), &last, &paused);
    assert_eq!(decision.to_string(), "park: paused");
    assert_eq!(decision.retry_state(), RetryState::InProgress);
    let mut state = last;
    state.record(&decision);
    assert_eq!(state.attempt(), 4);
}

#[test]
fn a_hint_too_far_is_parked_only_if_there_is_time_for_it() {
    let retry_after = Some(Hint::After(Duration::from_secs(100_000)));
    let signals = Signals { retry_after, ..Signals::default() };
    let parked = decided(Limits::default(), &State::default(), &signals);
    assert_eq!(parked.to_string(), "park until 100100: the asked-for wait is too long");
    let deadline = Some(Timestamp::from_secs(100_099));
    let late = decided(Limits::default(), &State::default(), &Signals { deadline, ..signals });
    assert_eq!(late.retry_state(), RetryState::Timeout);
}

#[test]
fn the_highest_layer_that_speaks_sets_limits_default_and_ending() {
    let wait = |secs| Some(Behaviour::retrying(Backoff::constant(Duration::from_secs(secs))));
    let site = Draft { limits: Limits::attempts(7), ..Draft::default() };
    let namespace = Draft {
        default: wait(20),
        limits: Limits { max_elapsed: Some(Duration::from_secs(60)), ..Limits::attempts(9) },
        ..Draft::default()
    };
    let layers = [
        (Layer::Engine, Policy::engine_default()),
        (Layer::Namespace, namespace),
        (Layer::CallSite, site),
    ];
    let policy = Policy::merge(layers).expect("valid");
    assert_eq!(policy.limits().max_attempts, Some(7));
    assert_eq!(policy.limits().max_elapsed, Some(Duration::from_secs(60)));
    assert_eq!(policy.default_behaviour(), &wait(20).expect("a wait"));
    assert_eq!(policy.default_layer(), Layer::Namespace);
    assert_eq!(policy.on_exhausted(), Ending::Park);
    let engine = policy.rules().iter().filter(|placed| placed.layer == Layer::Engine);
    assert_eq!(engine.count(), policy.rules().len());
}

#[test]
fn the_behaviour_that_decided_can_be_looked_up() {
    let mut rule = Rule::retrying(
        steadfast_retry::Matcher::exactly("Io"),
        Backoff::constant(Duration::from_secs(1)),
    );
    rule.then.budget_cost = 3;
    let draft = Draft { rules: vec![rule], ..Draft::default() };
    let policy = Policy::new(draft).expect("valid");
    let cost = |error_type| {
        let failure = Failure::of_type(error_type, "");
        let (state, now) = (State::default(), Timestamp::default());
        let signals = Signals::default();
        let decision = decide(Some(&policy), &state, &failure, &signals, now, Seed::new(&[]));
        policy.behaviour(decision.why().rule.map(|rule| rule.id)).budget_cost
    };
    assert_eq!((cost("Io"), cost("Net")), (3, 1));
}
