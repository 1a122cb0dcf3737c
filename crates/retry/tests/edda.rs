//! Edda's promises, as far as they are about when and whether to retry.

mod common;

use std::time::Duration;

use common::{ALWAYS, Outcome, Trial};
use steadfast_retry::{
    Cause, Draft, Failure, Policy, Reason,
    preset::edda::{AGGRESSIVE, CONSERVATIVE, DEFAULT, INFINITE, Invalid, Kinds, RetryPolicy},
};

fn run(policy: &RetryPolicy, fails: u32) -> Outcome {
    Trial::new(&policy.compile().expect("a valid policy"), fails).run()
}

fn run_type(policy: &RetryPolicy, error_type: &str) -> usize {
    let policy = policy.compile().expect("a valid policy");
    let failure = Failure::of_type(error_type, "no");
    Trial { failure, ..Trial::new(&policy, 1) }.run().starts.len()
}

/// The delays after attempts 1 to `last`, in microseconds.
fn delays(policy: &RetryPolicy, last: u32) -> Vec<u128> {
    let delay = |attempt| policy.delay(attempt).expect("a valid policy").as_micros();
    (1..=last).map(delay).collect()
}

fn fields(policy: &RetryPolicy) -> (Option<i64>, f64, f64, f64, Option<f64>) {
    (
        policy.max_attempts,
        policy.initial_interval,
        policy.backoff_coefficient,
        policy.max_interval,
        policy.max_duration,
    )
}

fn types(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn e_13_five_attempts_by_default() {
    assert_eq!(run(&DEFAULT, ALWAYS).starts.len(), 5);
}

#[test]
fn e_14_the_default_schedule() {
    assert_eq!(run(&DEFAULT, ALWAYS).starts, [0.0, 1.0, 3.0, 7.0, 15.0]);
}

#[test]
fn e_15_the_default_parameters() {
    assert_eq!(fields(&RetryPolicy::default()), (Some(5), 1.0, 2.0, 60.0, Some(300.0)));
}

#[test]
fn e_16_the_delay_follows_the_attempt_that_failed() {
    assert_eq!(delays(&DEFAULT, 4), [1_000_000, 2_000_000, 4_000_000, 8_000_000]);
}

#[test]
fn e_17_the_delay_is_capped() {
    assert_eq!(DEFAULT.delay(6), Ok(Duration::from_secs(32)));
    assert_eq!(DEFAULT.delay(7), Ok(Duration::from_secs(60)));
    assert_eq!(DEFAULT.delay(20), Ok(Duration::from_secs(60)));
}

#[test]
fn e_18_the_payment_example() {
    let policy = payment();
    assert_eq!(delays(&policy, 4), [500_000, 750_000, 1_125_000, 1_687_500]);
    assert_eq!(policy.delay(12), Ok(Duration::from_secs(30)));
}

#[test]
fn e_19_ten_attempts_or_two_minutes() {
    let policy = payment().compile().expect("valid");
    let trial = Trial { takes: Duration::from_secs(20), ..Trial::new(&policy, ALWAYS) };
    let outcome = trial.run();
    assert!(outcome.starts.len() < 10, "{:?}", outcome.starts);
    assert!(outcome.starts.iter().all(|start| *start <= 120.0), "{:?}", outcome.starts);
    assert!(outcome.ended_at >= 120.0 && outcome.ended_at < 140.0, "{}", outcome.ended_at);
}

#[test]
fn e_25_no_attempt_limit_is_infinite() {
    let policy =
        RetryPolicy { max_attempts: None, initial_interval: 0.0, max_duration: None, ..DEFAULT };
    let outcome = run(&policy, 200);
    assert_eq!((outcome.starts, outcome.end), (vec![0.0; 201], None));
}

#[test]
fn e_26_the_initial_interval_is_in_float_seconds() {
    let policy = RetryPolicy { initial_interval: 0.5, ..DEFAULT };
    assert_eq!(run(&policy, 1).starts, [0.0, 0.5]);
}

#[test]
fn e_27_the_coefficient_multiplies() {
    let policy = RetryPolicy { backoff_coefficient: 1.5, ..DEFAULT };
    assert_eq!(delays(&policy, 3), [1_000_000, 1_500_000, 2_250_000]);
}

#[test]
fn e_28_the_maximum_interval_bounds_the_delay() {
    let policy = RetryPolicy { max_interval: 5.0, ..DEFAULT };
    assert_eq!(delays(&policy, 5), [1_000_000, 2_000_000, 4_000_000, 5_000_000, 5_000_000]);
}

#[test]
fn e_29_the_maximum_duration_ends_it_and_says_so() {
    let policy = RetryPolicy {
        max_attempts: None,
        initial_interval: 10.0,
        backoff_coefficient: 1.0,
        ..DEFAULT
    };
    let outcome = run(&policy, ALWAYS);
    let expected: Vec<f64> = (0..=30).map(|n| f64::from(n) * 10.0).collect();
    assert_eq!(outcome.starts, expected);
    let why = *outcome.end.expect("exhausted").why();
    assert_eq!(why.reason, Reason::MaxElapsed { limit: Duration::from_secs(300) });
    assert_eq!(why.to_string(), "max duration (5m) would be passed");
}

#[test]
fn e_30_no_maximum_duration_is_infinite() {
    let policy = RetryPolicy { max_attempts: None, max_duration: None, ..DEFAULT };
    let outcome = run(&policy, 50);
    assert_eq!(outcome.end, None);
    assert!(outcome.ended_at > 300.0, "{}", outcome.ended_at);
}

#[test]
fn e_31_only_retryable_types_and_their_subclasses_are_retried() {
    let policy = RetryPolicy { retryable_error_types: types(&["ConnectionError"]), ..DEFAULT };
    assert_eq!(run_type(&policy, "ValueError"), 1);
    assert_eq!(run_type(&policy, "ConnectionError"), 2);
    assert_eq!(run_type(&policy, "ConnectionResetError"), 2);
    assert_eq!(run_type(&policy, "OSError"), 1);
    // Only the error itself is looked at, not what caused it.
    let causes = [Cause { error_type: Some("ConnectionError"), ..Cause::default() }];
    let failure = Failure { causes: &causes, ..Failure::of_type("ValueError", "no") };
    let compiled = policy.compile().expect("valid");
    assert_eq!(Trial { failure, ..Trial::new(&compiled, 1) }.run().starts, [0.0]);
    let kinds = Kinds::python().derive("StripeUnreachable", "ConnectionError");
    let own = policy.compile_with(&kinds).expect("valid");
    let failure = Failure::of_type("StripeUnreachable", "no");
    let trial = Trial { failure, ..Trial::new(&own, ALWAYS) };
    assert_eq!(trial.run().starts, [0.0, 1.0, 3.0, 7.0, 15.0]);
}

#[test]
fn e_32_non_retryable_types_win() {
    let policy = RetryPolicy { non_retryable_error_types: types(&["ValueError"]), ..DEFAULT };
    assert_eq!(run_type(&policy, "ValueError"), 1);
    assert_eq!(run_type(&policy, "UnicodeError"), 1);
    assert_eq!(run_type(&policy, "KeyError"), 2);
    let both = RetryPolicy { retryable_error_types: types(&["Exception"]), ..policy };
    assert_eq!(run_type(&both, "ValueError"), 1);
    assert_eq!(run_type(&both, "KeyError"), 2);
}

#[test]
fn e_33_the_fast_example() {
    let policy = RetryPolicy {
        max_attempts: Some(10),
        initial_interval: 0.1,
        backoff_coefficient: 1.5,
        max_interval: 10.0,
        max_duration: Some(60.0),
        ..DEFAULT
    };
    assert_eq!(delays(&policy, 5), [100_000, 150_000, 225_000, 337_500, 506_250]);
}

#[test]
fn e_34_the_slow_example() {
    let policy = RetryPolicy {
        max_attempts: Some(3),
        initial_interval: 5.0,
        max_interval: 300.0,
        max_duration: Some(900.0),
        ..DEFAULT
    };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 5.0, 15.0]);
}

#[test]
fn e_35_the_constant_example() {
    let policy = RetryPolicy {
        initial_interval: 2.0,
        backoff_coefficient: 1.0,
        max_interval: 2.0,
        ..DEFAULT
    };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn e_61_the_default_preset() {
    assert_eq!(fields(&DEFAULT), (Some(5), 1.0, 2.0, 60.0, Some(300.0)));
}

#[test]
fn e_62_the_aggressive_preset() {
    assert_eq!(fields(&AGGRESSIVE), (Some(10), 0.1, 1.5, 10.0, Some(60.0)));
}

#[test]
fn e_63_the_conservative_preset() {
    assert_eq!(fields(&CONSERVATIVE), (Some(3), 5.0, 2.0, 300.0, Some(900.0)));
}

#[test]
fn e_64_the_infinite_preset_never_overflows() {
    assert_eq!(fields(&INFINITE), (None, 1.0, 2.0, 60.0, None));
    for attempt in [1_024, 1_025, 2_000, u32::MAX] {
        assert_eq!(INFINITE.delay(attempt), Ok(Duration::from_secs(60)), "attempt {attempt}");
    }
    let outcome = run(&INFINITE, 2_000);
    let (last, before) = (outcome.starts[2_000], outcome.starts[1_999]);
    assert_eq!(Duration::from_secs_f64(last - before), Duration::from_secs(60));
}

#[test]
fn e_65_presets_stand_where_a_policy_is_taken() {
    let starts = run(&AGGRESSIVE, 4).starts;
    assert_eq!(starts, [0.0, 0.1, 0.25, 0.475, 0.8125]);
}

#[test]
fn e_105_the_maximum_duration_is_checked_before_waiting() {
    let policy = RetryPolicy { initial_interval: 0.5, max_duration: Some(0.05), ..DEFAULT };
    let outcome = run(&policy, ALWAYS);
    assert_eq!((outcome.starts.as_slice(), outcome.ended_at), (&[0.0][..], 0.0));
}

#[test]
fn e_107_invalid_policies_are_rejected() {
    let refused = |policy: RetryPolicy| policy.compile().expect_err("invalid").to_string();
    for attempts in [-3, 0] {
        let policy = RetryPolicy { max_attempts: Some(attempts), ..DEFAULT };
        assert_eq!(policy.compile().unwrap_err(), Invalid::MaxAttempts { attempts });
    }
    let interval = RetryPolicy { initial_interval: -1.0, ..DEFAULT };
    assert_eq!(refused(interval), "initial_interval must be 0 seconds or more, not -1");
    let coefficient = RetryPolicy { backoff_coefficient: 0.0, ..DEFAULT };
    assert_eq!(refused(coefficient), "backoff_coefficient must be at least 1, not 0");
    let nothing = RetryPolicy { max_duration: Some(f64::NAN), ..DEFAULT };
    assert_eq!(refused(nothing), "max_duration must be 0 seconds or more, not NaN");
}

/// "Critical payment processing with aggressive retry."
fn payment() -> RetryPolicy {
    RetryPolicy {
        max_attempts: Some(10),
        initial_interval: 0.5,
        backoff_coefficient: 1.5,
        max_interval: 30.0,
        max_duration: Some(120.0),
        ..DEFAULT
    }
}

#[test]
fn e_65_a_policy_that_is_sent_as_json_decides_as_it_did() {
    let lists = RetryPolicy {
        retryable_error_types: vec!["OSError".to_owned()],
        non_retryable_error_types: vec!["FileNotFoundError".to_owned()],
        ..AGGRESSIVE
    };
    for policy in [DEFAULT, CONSERVATIVE, INFINITE, lists] {
        let draft = policy.draft().expect("valid");
        let sent = serde_json::to_string(&draft).expect("text");
        let received: Draft = serde_json::from_str(&sent).expect("a draft");
        let compiled = policy.compile().expect("valid");
        assert_eq!(Policy::new(received).expect("valid"), compiled, "{sent}");
    }
}
