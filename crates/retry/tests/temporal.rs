//! Temporal's promises, as far as they are about when and whether to retry.

mod common;

use std::time::Duration;

use common::{ALWAYS, Outcome, Trial};
use steadfast_retry::{
    Cause, Decision, Failure, Hint, Policy, Reason, RetryState, Seed, Signals, State, TimeoutKind,
    Timestamp, decide,
    preset::temporal::{
        Invalid, RetryPolicy, initial_interval, interval, maximum_interval, wire_duration,
    },
    simulate::activity::{Attempt, End, Script, Timeouts, play},
};

const SECOND: Duration = Duration::from_secs(1);

fn run(policy: &RetryPolicy, fails: u32) -> Outcome {
    Trial::new(&policy.for_activity(), fails).run()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn gaps(outcome: &Outcome) -> Vec<f64> {
    outcome.starts.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn state_after(
    policy: &Policy,
    attempt: u32,
    failure: &Failure<'_>,
    signals: Signals<'_>,
) -> RetryState {
    let state = State::at_attempt(attempt, Timestamp::default());
    let now = Timestamp::default();
    decide(Some(policy), &state, failure, &signals, now, Seed::new(&[])).retry_state()
}

#[test]
fn t_08_the_first_retry_comes_after_a_second() {
    assert_eq!(run(&RetryPolicy::default(), 1).starts, [0.0, 1.0]);
}

#[test]
fn t_09_the_coefficient_is_two() {
    assert_eq!(run(&RetryPolicy::default(), 3).starts, [0.0, 1.0, 3.0, 7.0]);
}

#[test]
fn t_10_the_interval_stops_at_a_hundred_times_the_initial() {
    let gaps = gaps(&run(&RetryPolicy::default(), 9));
    assert_eq!(gaps, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0, 100.0]);
}

#[test]
fn t_11_attempts_are_unlimited() {
    let outcome = run(&RetryPolicy::default(), 1_000);
    assert_eq!((outcome.starts.len(), outcome.end), (1_001, None));
}

#[test]
fn t_12_no_type_is_non_retryable() {
    let policy = RetryPolicy::default().for_activity();
    for error_type in ["InvalidInput", "", "TemporalTimeout:StartToClose"] {
        let failure = Failure::of_type(error_type, "no");
        let outcome = Trial { failure, ..Trial::new(&policy, 1) }.run();
        assert_eq!(outcome.starts, [0.0, 1.0], "{error_type:?}");
    }
}

#[test]
fn t_13_the_first_retry_is_never_earlier_than_the_initial_interval() {
    for millis in [1, 250, 1_000, 90_000] {
        let initial = Duration::from_millis(millis);
        let policy = RetryPolicy { initial_interval: initial, ..RetryPolicy::unset() };
        let first = run(&policy, 1).starts[1];
        assert!(first >= initial.as_secs_f64(), "{first} for {millis} ms");
    }
}

#[test]
fn t_14_the_initial_interval_is_the_base() {
    let policy = RetryPolicy { initial_interval: secs(3), ..RetryPolicy::unset() };
    assert_eq!(gaps(&run(&policy, 3)), [3.0, 6.0, 12.0]);
}

#[test]
fn t_15_coefficient_one_keeps_the_interval() {
    let policy =
        RetryPolicy { initial_interval: secs(5), backoff_coefficient: 1.0, ..RetryPolicy::unset() };
    assert_eq!(gaps(&run(&policy, 3)), [5.0, 5.0, 5.0]);
}

#[test]
fn t_16_intervals_grow_until_the_cap() {
    let policy = RetryPolicy { backoff_coefficient: 1.1, ..RetryPolicy::default() };
    let gaps = gaps(&run(&policy, 60));
    let (growing, capped): (Vec<f64>, Vec<f64>) = gaps.iter().partition(|gap| **gap < 100.0);
    assert!(growing.windows(2).all(|pair| pair[0] < pair[1]), "{growing:?}");
    assert!(growing.len() > 40 && capped.len() > 5, "{} then {}", growing.len(), capped.len());
}

#[test]
fn t_17_the_maximum_bounds_every_interval() {
    let policy = RetryPolicy { maximum_interval: secs(10), ..RetryPolicy::default() };
    let gaps = gaps(&run(&policy, 50));
    assert!(gaps.iter().all(|gap| *gap <= 10.0), "{gaps:?}");
    assert!(gaps.contains(&10.0));
}

#[test]
fn t_18_the_default_maximum_follows_the_initial_interval() {
    let policy = RetryPolicy { initial_interval: secs(2), ..RetryPolicy::unset() };
    assert_eq!(policy.clone().normalised().maximum_interval, secs(200));
    assert_eq!(gaps(&run(&policy, 9)).last(), Some(&200.0));
}

#[test]
fn t_19_the_attempt_limit_ends_it() {
    let policy = RetryPolicy { maximum_attempts: 3, ..RetryPolicy::default() };
    let outcome = run(&policy, ALWAYS);
    assert_eq!(outcome.starts.len(), 3);
    let state = outcome.end.map(|decision| decision.retry_state());
    assert_eq!(state, Some(RetryState::MaximumAttemptsReached));
}

#[test]
fn t_20_zero_attempts_are_unlimited() {
    let policy = RetryPolicy { maximum_attempts: 0, ..RetryPolicy::default() };
    assert_eq!(run(&policy, 1_000).starts.len(), 1_001);
}

#[test]
fn t_21_one_attempt_is_no_retry() {
    let policy = RetryPolicy { maximum_attempts: 1, ..RetryPolicy::default() };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0]);
}

#[test]
fn t_22_negative_attempts_are_an_error() {
    let policy = RetryPolicy { maximum_attempts: -1, ..RetryPolicy::default() };
    let error = policy.validate().expect_err("negative");
    assert_eq!(error.to_string(), "MaximumAttempts cannot be negative on retry policy.");
}

#[test]
fn t_25_non_retryable_types_match_the_type_only() {
    let policy = RetryPolicy {
        non_retryable_error_types: vec!["InvalidInput".to_owned()],
        ..RetryPolicy::default()
    }
    .for_activity();
    let attempts = |failure| Trial { failure, ..Trial::new(&policy, 1) }.run().starts.len();
    assert_eq!(attempts(Failure::of_type("InvalidInput", "no")), 1);
    assert_eq!(attempts(Failure::of_type("Other", "InvalidInput")), 2);
    assert_eq!(attempts(Failure::of_type("invalidinput", "case matters")), 2);
    let causes = [Cause { error_type: Some("InvalidInput"), ..Cause::default() }];
    assert_eq!(attempts(Failure { causes: &causes, ..Failure::of_type("Other", "") }), 2);
}

#[test]
fn t_26_a_match_is_reported_as_non_retryable() {
    let policy = RetryPolicy {
        non_retryable_error_types: vec!["InvalidInput".to_owned()],
        ..RetryPolicy::default()
    }
    .for_activity();
    let failure = Failure::of_type("InvalidInput", "no");
    let state = state_after(&policy, 1, &failure, Signals::default());
    assert_eq!(state, RetryState::NonRetryableFailure);
}

#[test]
fn t_27_the_interval_formula() {
    let policy = RetryPolicy { maximum_interval: secs(10), ..RetryPolicy::default() };
    assert_eq!(gaps(&run(&policy, 6)), [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]);
    let table: Vec<u64> = (1..=6).map(|attempt| interval(&policy, attempt).as_secs()).collect();
    assert_eq!(table, [1, 2, 4, 8, 10, 10]);
    assert_eq!(interval(&policy, u32::MAX), secs(10));
}

#[test]
fn t_37_the_simulator_says_when_each_attempt_starts_and_stops() {
    let policy = RetryPolicy { maximum_attempts: 4, ..RetryPolicy::default() }.for_activity();
    let failure = Failure::of_type("Flaky", "try again");
    let script = Script {
        policy: Some(&policy),
        timeouts: Timeouts { start_to_close: Some(secs(5)), schedule_to_close: Some(secs(60)) },
        attempts: &[
            Attempt::failing(SECOND, failure),
            Attempt::succeeding(secs(8)),
            Attempt::succeeding(secs(2)),
        ],
        seed: Seed::new(&[]),
        limit: 100,
    };
    insta::assert_snapshot!(play(&script), @r"
    attempt      start       stop  outcome
          1         0s         1s  failed; retry in 1s: backoff
          2         2s         7s  start_to_close timeout; retry in 2s: backoff
          3         9s        11s  ok
    completed at 11s
    ");
    let just_in_time = [Attempt::succeeding(secs(5))];
    let made_it = play(&Script { attempts: &just_in_time, ..script });
    assert_eq!((made_it.end, made_it.ended_at), (End::Completed, Timestamp::from_secs(5)));
    let hopeless = [Attempt::failing(secs(20), failure)];
    let deadline = Timeouts { start_to_close: None, schedule_to_close: Some(secs(30)) };
    let late = play(&Script { timeouts: deadline, attempts: &hopeless, ..script });
    assert_eq!(late.starts(), [0.0, 21.0]);
    assert_eq!(late.end, End::TimedOut(TimeoutKind::ScheduleToClose));
    assert_eq!(late.ended_at, Timestamp::from_secs(30));
}

#[test]
fn t_37_the_simulator_agrees_with_the_decisions_taken_one_by_one() {
    for (fails, takes, deadline) in [(0, 0, 9), (3, 2, 60), (ALWAYS, 1, 30), (ALWAYS, 0, 4)] {
        let policy = RetryPolicy { maximum_attempts: 6, ..RetryPolicy::default() }.for_activity();
        let failure = Failure::of_type("Flaky", "try again");
        let failing = usize::try_from(fails.min(10)).expect("small");
        let mut attempts = vec![Attempt::failing(secs(takes), failure); failing];
        if fails != ALWAYS {
            attempts.push(Attempt::succeeding(secs(takes)));
        }
        let simulated = play(&Script {
            policy: Some(&policy),
            timeouts: Timeouts { schedule_to_close: Some(secs(deadline)), start_to_close: None },
            attempts: &attempts,
            seed: Seed::new(&["trial"]),
            limit: 100,
        });
        let signals = Signals {
            deadline: Some(Timestamp::default().after(secs(deadline))),
            ..Signals::default()
        };
        let trial = Trial { takes: secs(takes), signals, ..Trial::new(&policy, fails) };
        assert_eq!(simulated.starts(), trial.run().starts, "{fails} failures of {takes} s");
    }
}

#[test]
fn texts_of_the_errors_are_temporals() {
    let with = |change: fn(&mut RetryPolicy)| {
        let mut policy = RetryPolicy::default();
        change(&mut policy);
        policy.validate().map_err(|error| error.to_string())
    };
    let coefficient = "BackoffCoefficient cannot be less than 1 on retry policy.";
    assert_eq!(with(|policy| policy.backoff_coefficient = 0.5), Err(coefficient.to_owned()));
    let maximum = "MaximumInterval cannot be less than InitialInterval on retry policy.";
    assert_eq!(with(|policy| policy.initial_interval = secs(200)), Err(maximum.to_owned()));
    let timeout = "Invalid timeout type value: Bogus.";
    assert_eq!(
        with(|policy| policy.non_retryable_error_types = vec!["TemporalTimeout:Bogus".to_owned()]),
        Err(timeout.to_owned())
    );
    assert_eq!(with(|policy| policy.backoff_coefficient = 0.0), Ok(()));
    let initial = initial_interval(-1, 0).map_err(|error| error.to_string());
    let text = "invalid InitialInterval set on retry policy: negative duration: -1s 0ns";
    assert_eq!(initial, Err(text.to_owned()));
    assert!(matches!(maximum_interval(1, -1), Err(Invalid::MaximumInterval { .. })));
    assert_eq!(wire_duration(i64::MAX, 0), Ok(secs(100 * 365 * 86_400)));
}

#[test]
fn one_attempt_needs_no_checks() {
    let nonsense = RetryPolicy {
        maximum_attempts: 1,
        backoff_coefficient: 0.1,
        maximum_interval: Duration::from_nanos(1),
        ..RetryPolicy::default()
    };
    assert_eq!(nonsense.validate(), Ok(()));
}

#[test]
fn the_order_of_the_decision_is_temporals() {
    let policy = RetryPolicy {
        maximum_attempts: 2,
        non_retryable_error_types: [
            "Bad",
            "TemporalTimeout:Heartbeat",
            "TemporalTimeout:ScheduleToStart",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..RetryPolicy::default()
    }
    .for_activity();
    let cancel = Signals { cancel_requested: true, ..Signals::default() };
    let late = Signals { deadline: Some(Timestamp::from_millis(500)), ..Signals::default() };
    let paused = Signals { paused: true, ..Signals::default() };
    let plain = Signals::default();
    let bad = Failure::of_type("Bad", "");
    let flaky = Failure::of_type("Flaky", "");
    let terminal = Failure { non_retryable: true, ..flaky };
    let gone = Failure { cancelled: true, ..Failure::default() };
    let check = |attempt, failure, signals| state_after(&policy, attempt, failure, signals);
    assert_eq!(check(2, &bad, cancel), RetryState::CancelRequested);
    assert_eq!(check(2, &bad, late), RetryState::NonRetryableFailure);
    assert_eq!(check(2, &bad, paused), RetryState::NonRetryableFailure);
    assert_eq!(check(1, &terminal, plain), RetryState::NonRetryableFailure);
    assert_eq!(check(1, &gone, plain), RetryState::NonRetryableFailure);
    assert_eq!(check(2, &flaky, paused), RetryState::InProgress);
    assert_eq!(check(2, &flaky, late), RetryState::MaximumAttemptsReached);
    assert_eq!(check(1, &flaky, late), RetryState::Timeout);
    assert_eq!(check(1, &flaky, plain), RetryState::InProgress);
    let timed_out = |kind| state_after(&policy, 1, &Failure::timed_out(kind), plain);
    assert_eq!(timed_out(TimeoutKind::StartToClose), RetryState::InProgress);
    assert_eq!(timed_out(TimeoutKind::Heartbeat), RetryState::NonRetryableFailure);
    assert_eq!(timed_out(TimeoutKind::ScheduleToStart), RetryState::Timeout);
    assert_eq!(timed_out(TimeoutKind::ScheduleToClose), RetryState::Timeout);
    let now = Timestamp::default();
    let state = State::at_attempt(1, now);
    let none = decide(None, &state, &flaky, &plain, now, Seed::new(&[]));
    assert_eq!(none.retry_state(), RetryState::RetryPolicyNotSet);
}

#[test]
fn a_next_delay_passes_the_maximum_for_activities_only() {
    let policy = RetryPolicy { maximum_interval: secs(10), ..RetryPolicy::default() };
    let delay = |policy: &Policy, hint: Option<u64>| {
        let next_delay = hint.map(|seconds| Hint::After(secs(seconds)));
        let failure = Failure { next_delay, ..Failure::of_type("Busy", "") };
        let (state, now) = (State::at_attempt(3, Timestamp::default()), Timestamp::from_secs(9));
        let signals = Signals::default();
        let decision = decide(Some(policy), &state, &failure, &signals, now, Seed::new(&[]));
        let Decision::RetryAt { delay, why, .. } = decision else { panic!("{decision}") };
        (delay.as_secs(), why.reason)
    };
    let (activity, workflow) = (policy.for_activity(), policy.for_workflow());
    assert_eq!(delay(&activity, Some(3_600)), (3_600, Reason::NextDelay));
    assert_eq!(delay(&workflow, Some(3_600)), (10, Reason::NextDelay));
    assert_eq!(delay(&activity, Some(0)), (0, Reason::NextDelay));
    assert_eq!(delay(&workflow, Some(2)), (2, Reason::NextDelay));
    assert_eq!(delay(&activity, None), (4, Reason::Backoff));
}
