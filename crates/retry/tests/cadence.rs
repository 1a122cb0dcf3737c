//! Cadence's promises, as far as they are about when and whether to retry.

mod common;

use common::{ALWAYS, Outcome, Trial};
use steadfast_retry::{
    Failure, Reason, RetryState, State, TimeoutKind, Timestamp,
    explain::{Lint, Setting, explain},
    preset::cadence::{GENERIC, Invalid, PANIC, RetryPolicy, timeout_reason, with_reason},
};

fn policy() -> RetryPolicy {
    RetryPolicy { initial_interval: 1, maximum_attempts: 100, ..RetryPolicy::default() }
}

fn run(policy: &RetryPolicy, fails: u32) -> Outcome {
    let policy = policy.compile().expect("a valid policy");
    Trial::new(&policy, fails).run()
}

fn run_failure(policy: &RetryPolicy, failure: Failure<'_>) -> Outcome {
    let policy = policy.compile().expect("a valid policy");
    Trial { failure, ..Trial::new(&policy, 1) }.run()
}

fn state(outcome: &Outcome) -> Option<RetryState> {
    outcome.end.map(|decision| decision.retry_state())
}

#[test]
fn c_05_initial_interval_is_the_first_backoff() {
    let outcome = run(&RetryPolicy { initial_interval: 7, ..policy() }, 1);
    assert_eq!(outcome.starts, [0.0, 7.0]);
    assert_eq!(outcome.end, None);
}

#[test]
fn c_06_coefficient_one_keeps_the_interval() {
    let policy = RetryPolicy {
        initial_interval: 3,
        backoff_coefficient: 1.0,
        maximum_attempts: 4,
        ..policy()
    };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 3.0, 6.0, 9.0]);
}

#[test]
fn c_07_initial_interval_is_required() {
    for seconds in [0, -1, i32::MIN] {
        let refused = RetryPolicy { initial_interval: seconds, ..policy() }.compile();
        let error = refused.expect_err("no initial interval");
        assert_eq!(error, Invalid::InitialInterval { seconds });
        assert!(error.to_string().contains("InitialInterval"), "{error}");
    }
}

#[test]
fn c_08_next_interval_is_the_previous_times_the_coefficient() {
    let policy = RetryPolicy { backoff_coefficient: 3.0, maximum_attempts: 4, ..policy() };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 1.0, 4.0, 13.0]);
}

#[test]
fn c_09_coefficient_is_at_least_one() {
    let with = |backoff_coefficient| RetryPolicy { backoff_coefficient, ..policy() }.compile();
    let error = with(0.99).expect_err("a shrinking wait");
    assert_eq!(error, Invalid::BackoffCoefficient { coefficient: 0.99 });
    assert!(error.to_string().contains("BackoffCoefficient"), "{error}");
    assert!(with(f64::NAN).is_err());
    assert!(with(1.0).is_ok());
}

#[test]
fn c_10_coefficient_defaults_to_two() {
    let policy = RetryPolicy { maximum_attempts: 4, ..policy() };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 1.0, 3.0, 7.0]);
}

#[test]
fn c_11_maximum_interval_caps() {
    let policy = RetryPolicy {
        backoff_coefficient: 10.0,
        maximum_interval: 5,
        maximum_attempts: 4,
        ..policy()
    };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 1.0, 6.0, 11.0]);
}

#[test]
fn c_12_maximum_interval_defaults_to_a_hundred_times_the_initial() {
    let policy = RetryPolicy { backoff_coefficient: 10.0, maximum_attempts: 6, ..policy() };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 1.0, 11.0, 111.0, 211.0, 311.0]);
}

#[test]
fn c_13_an_end_is_required() {
    let endless = RetryPolicy { maximum_attempts: 0, ..policy() };
    let error = endless.compile().expect_err("no end");
    assert_eq!(error, Invalid::NoEnd);
    let text = error.to_string();
    assert!(text.contains("MaximumAttempts") && text.contains("ExpirationInterval"), "{text}");
}

#[test]
fn c_14_expiration_stops_retries_with_attempts_left() {
    let policy = RetryPolicy { backoff_coefficient: 1.0, expiration_interval: 3, ..policy() };
    let outcome = run(&policy, ALWAYS);
    assert_eq!(outcome.starts, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!((state(&outcome), outcome.ended_at), (Some(RetryState::Timeout), 3.0));
}

#[test]
fn c_15_maximum_attempts_stop_retries_before_the_expiration() {
    let policy = RetryPolicy {
        backoff_coefficient: 1.0,
        expiration_interval: 3_600,
        maximum_attempts: 3,
        ..policy()
    };
    let outcome = run(&policy, ALWAYS);
    assert_eq!(outcome.starts.len(), 3);
    assert_eq!(state(&outcome), Some(RetryState::MaximumAttemptsReached));
}

#[test]
fn c_16_zero_attempts_are_unlimited_until_the_expiration() {
    let policy = RetryPolicy {
        backoff_coefficient: 1.0,
        expiration_interval: 60,
        maximum_attempts: 0,
        ..policy()
    };
    let outcome = run(&policy, 50);
    assert_eq!((outcome.starts.len(), outcome.end), (51, None));
    assert_eq!(run(&policy, ALWAYS).starts.len(), 61);
}

#[test]
fn c_17_without_reasons_everything_is_retried() {
    let failures = [
        Failure::of_type("E42", "custom"),
        Failure::of_type(PANIC, "index out of bounds"),
        with_reason(&Failure { message: "plain", ..Failure::default() }),
        Failure::timed_out(TimeoutKind::StartToClose),
        Failure::timed_out(TimeoutKind::Heartbeat),
    ];
    for failure in failures {
        assert_eq!(run_failure(&policy(), failure).starts, [0.0, 1.0], "{failure:?}");
    }
}

#[test]
fn c_18_a_listed_reason_stops_the_retry() {
    let listed = |reason: &str| RetryPolicy {
        non_retriable_error_reasons: vec![reason.to_owned()],
        ..policy()
    };
    let cases = [
        ("bad", Failure::of_type("bad", "no")),
        (PANIC, Failure::of_type(PANIC, "index out of bounds")),
        (GENERIC, with_reason(&Failure { message: "plain", ..Failure::default() })),
        ("cadenceInternal:Timeout START_TO_CLOSE", Failure::timed_out(TimeoutKind::StartToClose)),
        ("cadenceInternal:Timeout HEARTBEAT", Failure::timed_out(TimeoutKind::Heartbeat)),
        (
            timeout_reason(TimeoutKind::Heartbeat),
            with_reason(&Failure::timed_out(TimeoutKind::Heartbeat)),
        ),
    ];
    for (reason, failure) in cases {
        let outcome = run_failure(&listed(reason), failure);
        assert_eq!(outcome.starts, [0.0], "{reason}");
        assert_eq!(state(&outcome), Some(RetryState::NonRetryableFailure), "{reason}");
    }
}

#[test]
fn c_19_reasons_match_exactly() {
    for (listed, reason) in [("bad", "bad2"), ("BAD", "bad"), ("bad", "message is bad")] {
        let policy =
            RetryPolicy { non_retriable_error_reasons: vec![listed.to_owned()], ..policy() };
        let outcome = run_failure(&policy, Failure::of_type(reason, listed));
        assert_eq!(outcome.starts, [0.0, 1.0], "{listed} against {reason}");
    }
}

#[test]
fn c_26_the_worked_example() {
    let policy = RetryPolicy {
        initial_interval: 1,
        backoff_coefficient: 2.0,
        maximum_interval: 600,
        expiration_interval: 600,
        maximum_attempts: 5,
        ..RetryPolicy::default()
    };
    let outcome = run(&policy, ALWAYS);
    assert_eq!(outcome.starts, [0.0, 1.0, 3.0, 7.0, 15.0]);
    assert_eq!(state(&outcome), Some(RetryState::MaximumAttemptsReached));
}

#[test]
fn c_101_one_attempt_is_no_retry_and_a_lint_says_so() {
    let policy = RetryPolicy { maximum_attempts: 1, ..policy() };
    assert_eq!(run(&policy, ALWAYS).starts, [0.0]);
    let lints = |policy: &RetryPolicy| {
        explain(&policy.compile().expect("valid"), &Setting::default()).lints
    };
    assert!(lints(&policy).contains(&Lint::NoRetries));
    assert!(!lints(&RetryPolicy { maximum_attempts: 2, ..policy }).contains(&Lint::NoRetries));
}

#[test]
fn c_102_each_wrong_field_has_its_own_error() {
    let wrong = [
        ("InitialInterval", RetryPolicy { initial_interval: -1, ..policy() }),
        ("BackoffCoefficient", RetryPolicy { backoff_coefficient: 0.5, ..policy() }),
        ("MaximumInterval", RetryPolicy { maximum_interval: -1, ..policy() }),
        ("MaximumInterval", RetryPolicy { initial_interval: 10, maximum_interval: 5, ..policy() }),
        ("MaximumAttempts", RetryPolicy { maximum_attempts: -1, ..policy() }),
        ("ExpirationInterval", RetryPolicy { expiration_interval: -1, ..policy() }),
        ("required", RetryPolicy { maximum_attempts: 0, ..policy() }),
    ];
    let mut texts: Vec<String> = Vec::new();
    for (named, policy) in wrong {
        let text = policy.compile().expect_err(named).to_string();
        assert!(text.contains(named), "{text}");
        texts.push(text);
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 7);
}

#[test]
fn c_103_a_useless_wait_is_not_begun() {
    let policy = RetryPolicy { initial_interval: 10, expiration_interval: 5, ..policy() };
    let outcome = run(&policy, ALWAYS);
    assert_eq!((outcome.starts.as_slice(), outcome.ended_at), (&[0.0][..], 0.0));
    assert_eq!(state(&outcome), Some(RetryState::Timeout));
}

#[test]
fn c_104_overflow_of_the_power_ends_at_the_cap() {
    let policy = RetryPolicy { maximum_interval: 10, maximum_attempts: 6_000, ..policy() };
    let policy = policy.compile().expect("valid");
    for n in [5_000, 100_000, u32::MAX] {
        let interval = policy.default_behaviour().backoff.base(n).expect("a wait");
        assert_eq!(interval.as_secs(), 10, "attempt {n}");
    }
    let steady = Trial::new(&policy, 5_000).run();
    let last_two: Vec<f64> = steady.starts[4_999..].to_vec();
    assert_eq!(last_two, [49_965.0, 49_975.0]);
}

#[test]
fn c_105_cancel_during_backoff_stops_it() {
    let policy = policy().compile().expect("valid");
    let cancelled =
        Trial { cancel_at: Some(Timestamp::from_millis(500)), ..Trial::new(&policy, ALWAYS) };
    let outcome = cancelled.run();
    assert_eq!((outcome.starts.as_slice(), outcome.ended_at), (&[0.0][..], 0.5));
    assert_eq!(state(&outcome), Some(RetryState::CancelRequested));
}

#[test]
fn c_108_attempts_grow_and_the_expiration_is_kept_across_runs() {
    let policy = RetryPolicy { maximum_attempts: 3, expiration_interval: 100, ..policy() };
    let policy = policy.compile().expect("valid");
    let first = Timestamp::from_secs(1_000);
    let mut expirations = Vec::new();
    let mut verdicts = Vec::new();
    // A new run knows the number of its attempt and when the first run began, nothing else.
    for (attempt, now) in [(1, 1_010), (2, 1_040), (3, 1_070)] {
        let run = State::at_attempt(attempt, first);
        let failure = Failure::of_type("Flaky", "try again");
        let decision = steadfast_retry::decide(
            Some(&policy),
            &run,
            &failure,
            &steadfast_retry::Signals::default(),
            Timestamp::from_secs(now),
            steadfast_retry::Seed::new(&[]),
        );
        expirations.push(policy.expires_at(run.first_attempt_at));
        verdicts.push(decision.why().reason);
    }
    assert_eq!(expirations, vec![Some(Timestamp::from_secs(1_100)); 3]);
    assert_eq!(verdicts, [Reason::Backoff, Reason::Backoff, Reason::MaxAttempts { limit: 3 }]);
}
