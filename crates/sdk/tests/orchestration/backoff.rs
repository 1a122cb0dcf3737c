//! Waits between attempts: each is a timer of its own length.

use std::time::Duration;

use steadfast::orchestration::{BackoffStrategy, RetryPolicy};

use super::rig::{ALWAYS, Flaky, ms, retried};

/// The waits of a call whose attempts all fail, in milliseconds.
async fn waits(attempts: u32, backoff: BackoffStrategy) -> Vec<u64> {
    let policy = RetryPolicy::new(attempts).with_backoff(backoff);
    let told = retried(&Flaky::failing(ALWAYS), policy).await;
    let waits = told.timers();
    let total: u64 = waits.iter().sum();
    assert_eq!(told.took, ms(total), "nothing else takes time");
    waits
}

fn exponential(base: u64, max: u64) -> BackoffStrategy {
    BackoffStrategy::Exponential { base: ms(base), multiplier: 2.0, max: ms(max) }
}

#[tokio::test(start_paused = true)]
async fn x_15_x_t13_fixed_waits_are_all_the_same() {
    let fixed = || BackoffStrategy::Fixed { delay: ms(50) };
    assert_eq!(waits(3, fixed()).await, [50, 50]);
    assert_eq!(waits(4, fixed()).await, [50, 50, 50]);
}

#[tokio::test(start_paused = true)]
async fn x_17_x_t14_exponential_waits_double() {
    assert_eq!(waits(4, exponential(100, 30_000)).await, [100, 200, 400]);
}

#[tokio::test(start_paused = true)]
async fn x_11_the_default_waits_double_from_a_hundred_milliseconds_to_half_a_minute() {
    let default = waits(12, BackoffStrategy::default()).await;
    assert_eq!(default, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
}

#[tokio::test(start_paused = true)]
async fn x_14_x_t15_no_backoff_makes_no_timers() {
    assert_eq!(waits(3, BackoffStrategy::None).await, [0_u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn x_t16_no_wait_is_longer_than_the_cap() {
    assert_eq!(waits(6, exponential(100, 300)).await, [100, 200, 300, 300, 300]);
}

#[tokio::test(start_paused = true)]
async fn x_16_linear_waits_grow_by_the_base_to_the_cap() {
    let linear = BackoffStrategy::Linear { base: ms(100), max: ms(250) };
    assert_eq!(waits(4, linear).await, [100, 200, 250]);
}

#[tokio::test(start_paused = true)]
async fn x_25_x_t41_a_wait_of_no_length_makes_no_timer() {
    assert_eq!(waits(3, BackoffStrategy::Fixed { delay: Duration::ZERO }).await, [0_u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn x_34_five_attempts_of_thirty_seconds_with_half_a_second_doubling() {
    let policy = RetryPolicy::new(5)
        .with_timeout(Duration::from_secs(30))
        .with_backoff(exponential(500, 10_000));
    let told = retried(&Flaky::failing(ALWAYS), policy).await;
    assert_eq!(told.timers(), [30_000, 500, 30_000, 1000, 30_000, 2000, 30_000, 4000, 30_000],);
    assert_eq!(told.result, Err("e5".to_owned()));
}
