//! Deadlines: each attempt is raced against its own, and one that loses is not tried again.

use steadfast::orchestration::{BackoffStrategy, EventKind, RetryPolicy};

use super::rig::{ALWAYS, Flaky, ms, names, retried};

const TIMED_OUT: &str = "timeout: activity timed out";

#[tokio::test(start_paused = true)]
async fn x_21_x_27_x_t17_x_t23_a_slow_attempt_ends_the_call_at_its_deadline() {
    let slow = Flaky::failing(0).taking(ms(5000));
    let told = retried(&slow, RetryPolicy::new(3).with_timeout(ms(1000))).await;
    assert_eq!(told.result, Err(TIMED_OUT.to_owned()));
    assert_eq!(told.took, ms(1000));
    assert_eq!(told.count("ActivityScheduled"), 1);
    assert_eq!(slow.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn x_t18_a_deadline_does_not_end_the_backoff_after_its_attempt() {
    let flaky = Flaky::failing(1).taking(ms(200));
    let policy = RetryPolicy::new(2)
        .with_timeout(ms(1000))
        .with_backoff(BackoffStrategy::Fixed { delay: ms(5000) });
    let told = retried(&flaky, policy).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    let starts = told.events.iter().filter(|event| event.kind.name() == "ActivityScheduled");
    let starts: Vec<_> = starts.map(|event| event.timestamp_ms).collect();
    assert_eq!(starts[1] - starts[0], 5200);
    assert_eq!(told.count("TimerFired"), 1);
}

#[tokio::test(start_paused = true)]
async fn x_31_x_t19_success_before_the_deadline_leaves_its_timer_unfired() {
    let quick = Flaky::failing(0).taking(ms(100));
    let told = retried(&quick, RetryPolicy::new(3).with_timeout(ms(10_000))).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.took, ms(100));
    assert_eq!(told.count("TimerCreated"), 1);
    assert_eq!(told.count("TimerFired"), 0);
}

#[tokio::test(start_paused = true)]
async fn x_35_x_t20_one_attempt_with_a_deadline() {
    let policy = || RetryPolicy::new(1).with_timeout(ms(5000));
    let told = retried(&Flaky::failing(0).taking(ms(6000)), policy()).await;
    assert_eq!(told.result, Err(TIMED_OUT.to_owned()));
    assert_eq!(told.took, ms(5000));
    assert_eq!(told.count("ActivityScheduled"), 1);
    let told = retried(&Flaky::failing(0).taking(ms(4000)), policy()).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.took, ms(4000));
}

#[tokio::test(start_paused = true)]
async fn x_12_x_t21_x_t35_without_a_timeout_slow_attempts_are_all_made_and_have_no_deadline() {
    let slow = Flaky::failing(ALWAYS).taking(ms(60_000));
    let policy = RetryPolicy::new(5).with_backoff(BackoffStrategy::None);
    let told = retried(&slow, policy).await;
    assert_eq!(told.result, Err("e5".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 5);
    assert_eq!(told.count("TimerCreated"), 0);
    assert_eq!(told.took, ms(300_000));
}

#[tokio::test(start_paused = true)]
async fn x_22_x_t34_a_timer_stands_directly_before_each_activity() {
    let policy = RetryPolicy::new(4).with_timeout(ms(700));
    let told = retried(&Flaky::failing(ALWAYS), policy).await;
    let names = names(&told.events);
    assert_eq!(names[1], "TimerCreated", "the first event after the start");
    let scheduled = names.iter().enumerate().filter(|(_, name)| **name == "ActivityScheduled");
    let before: Vec<_> = scheduled.map(|(at, _)| &told.events[at - 1]).collect();
    assert_eq!(before.len(), 4);
    for event in before {
        let fire_at_ms = event.timestamp_ms + 700;
        assert_eq!(event.kind, EventKind::TimerCreated { fire_at_ms });
    }
}

#[tokio::test(start_paused = true)]
async fn x_t40_a_timeout_of_a_millisecond() {
    let slow = Flaky::failing(0).taking(ms(100));
    let told = retried(&slow, RetryPolicy::new(3).with_timeout(ms(1))).await;
    assert_eq!(told.result, Err(TIMED_OUT.to_owned()));
    assert_eq!(told.took, ms(1));
}

#[tokio::test(start_paused = true)]
async fn x_13_the_timeout_is_of_each_attempt_not_of_all() {
    let flaky = Flaky::failing(2).taking(ms(800));
    let policy = RetryPolicy::new(3).with_timeout(ms(1000)).with_backoff(BackoffStrategy::None);
    let told = retried(&flaky, policy).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.took, ms(2400));
}

#[tokio::test(start_paused = true)]
async fn x_23_an_error_before_the_deadline_is_retried() {
    let flaky = Flaky::failing(1).taking(ms(100));
    let told = retried(&flaky, RetryPolicy::new(3).with_timeout(ms(1000))).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 2);
    assert_eq!(told.took, ms(300));
}
