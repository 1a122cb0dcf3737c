//! duroxide's promises, as far as they are about the policy and its waits.

mod common;

use std::time::Duration;

use common::{ALWAYS, Outcome, Trial};
use steadfast_retry::{
    Failure, RetryState, TimeoutKind,
    preset::duroxide::{BackoffStrategy, Invalid, RetryPolicy},
};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn run(policy: &RetryPolicy, fails: u32) -> Outcome {
    Trial::new(&policy.compile().expect("a valid policy"), fails).run()
}

/// The delays after attempts 1 to `last`, in milliseconds.
fn delays(backoff: &BackoffStrategy, last: u32) -> Vec<u128> {
    (1..=last).map(|attempt| backoff.delay_for_attempt(attempt).as_millis()).collect()
}

fn exponential(base: u64, max: u64) -> BackoffStrategy {
    BackoffStrategy::Exponential { base: ms(base), multiplier: 2.0, max: ms(max) }
}

#[test]
fn x_10_three_attempts_by_default() {
    assert_eq!(run(&RetryPolicy::default(), ALWAYS).starts.len(), 3);
}

#[test]
fn x_11_a_hundred_milliseconds_doubling_by_default() {
    assert_eq!(run(&RetryPolicy::default(), ALWAYS).starts, [0.0, 0.1, 0.3]);
}

#[test]
fn x_12_no_timeout_by_default() {
    assert_eq!(RetryPolicy::default().timeout, None);
    let policy = RetryPolicy::default().compile().expect("valid");
    let slow = Trial { takes: Duration::from_secs(86_400), ..Trial::new(&policy, 2) };
    assert_eq!(slow.run().end, None);
}

#[test]
fn x_13_the_timeout_is_of_one_attempt() {
    let policy = RetryPolicy::new(3).with_timeout(ms(1_000)).with_backoff(BackoffStrategy::None);
    let compiled = policy.compile().expect("valid");
    // Attempts of 0.8 s each stay below it; 2.4 s together do not matter.
    let outcome = Trial { takes: ms(800), ..Trial::new(&compiled, 2) }.run();
    assert_eq!((outcome.starts.as_slice(), outcome.end), (&[0.0, 0.8, 1.6][..], None));
    // One that does pass it is not tried again.
    let failure = Failure::timed_out(TimeoutKind::StartToClose);
    let slow = Trial { takes: ms(1_000), failure, ..Trial::new(&compiled, ALWAYS) }.run();
    assert_eq!(slow.starts, [0.0]);
    let state = slow.end.map(|decision| decision.retry_state());
    assert_eq!(state, Some(RetryState::NonRetryableFailure));
}

#[test]
fn x_14_none_has_no_delay() {
    let policy = RetryPolicy::new(4).with_backoff(BackoffStrategy::None);
    assert_eq!(run(&policy, ALWAYS).starts, [0.0; 4]);
}

#[test]
fn x_15_fixed_is_always_the_same() {
    let policy = RetryPolicy::new(4).with_backoff(BackoffStrategy::Fixed { delay: ms(50) });
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 0.05, 0.1, 0.15]);
}

#[test]
fn x_16_linear_is_base_times_attempt() {
    let linear = BackoffStrategy::Linear { base: ms(100), max: ms(250) };
    assert_eq!(
        run(&RetryPolicy::new(4).with_backoff(linear), ALWAYS).starts,
        [0.0, 0.1, 0.3, 0.55]
    );
}

#[test]
fn x_17_exponential_doubles_to_the_cap() {
    let policy = RetryPolicy::new(5).with_backoff(exponential(100, 500));
    assert_eq!(run(&policy, ALWAYS).starts, [0.0, 0.1, 0.3, 0.7, 1.2]);
}

#[test]
fn x_18_the_builder_chains() {
    let fixed = BackoffStrategy::Fixed { delay: ms(7) };
    let policy = RetryPolicy::new(9).with_timeout(ms(3)).with_backoff(fixed.clone());
    let expected = RetryPolicy { max_attempts: 9, backoff: fixed, timeout: Some(ms(3)) };
    assert_eq!(policy, expected);
}

#[test]
fn x_19_delay_for_attempt_counts_from_one() {
    assert_eq!(RetryPolicy::default().delay_for_attempt(1), ms(100));
    let linear = BackoffStrategy::Linear { base: ms(40), max: ms(1_000) };
    assert_eq!(RetryPolicy::new(3).with_backoff(linear).delay_for_attempt(1), ms(40));
}

#[test]
fn x_t01_retry_policy_default() {
    let policy = RetryPolicy::default();
    assert_eq!(policy.max_attempts, 3);
    assert_eq!(policy.backoff, exponential(100, 30_000));
    assert_eq!(policy.timeout, None);
}

#[test]
fn x_t02_retry_policy_builder() {
    let policy = RetryPolicy::new(5)
        .with_timeout(Duration::from_secs(30))
        .with_backoff(BackoffStrategy::Fixed { delay: ms(1_000) });
    assert_eq!(policy.max_attempts, 5);
    assert_eq!(policy.timeout, Some(Duration::from_secs(30)));
    assert_eq!(policy.backoff, BackoffStrategy::Fixed { delay: ms(1_000) });
}

#[test]
fn x_t03_retry_policy_new() {
    let policy = RetryPolicy::new(7);
    assert_eq!(policy, RetryPolicy { max_attempts: 7, ..RetryPolicy::default() });
}

#[test]
fn x_t04_backoff_none() {
    assert_eq!(delays(&BackoffStrategy::None, 100), [0; 100]);
}

#[test]
fn x_t05_backoff_fixed() {
    assert_eq!(delays(&BackoffStrategy::Fixed { delay: ms(250) }, 100), [250; 100]);
}

#[test]
fn x_t06_backoff_linear() {
    let linear = BackoffStrategy::Linear { base: ms(100), max: ms(350) };
    assert_eq!(delays(&linear, 5), [100, 200, 300, 350, 350]);
    assert_eq!(linear.delay_for_attempt(u32::MAX), ms(350));
}

#[test]
fn x_t07_backoff_exponential() {
    assert_eq!(delays(&exponential(100, 1_000), 6), [100, 200, 400, 800, 1_000, 1_000]);
}

#[test]
fn x_t08_backoff_exponential_overflow() {
    let backoff = exponential(100, 30_000);
    for attempt in [64, 1_000, u32::MAX] {
        assert_eq!(backoff.delay_for_attempt(attempt), ms(30_000), "attempt {attempt}");
    }
    let widest = BackoffStrategy::Exponential {
        base: Duration::MAX,
        multiplier: f64::MAX,
        max: Duration::MAX,
    };
    assert_eq!(widest.delay_for_attempt(u32::MAX), Duration::MAX);
}

#[test]
fn x_t36_max_attempts_zero() {
    let refused = RetryPolicy::new(0).compile().expect_err("no attempt at all");
    assert_eq!(refused, Invalid::MaxAttempts { attempts: 0 });
    assert_eq!(refused.to_string(), "max_attempts must be at least 1, not 0");
}
