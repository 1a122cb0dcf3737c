//! Attempts: how many there are, and what they come to.

use steadfast::{
    orchestration::{
        ActivityContext, ActivityRegistry, BackoffStrategy, OrchestrationContext,
        OrchestrationRegistry, RetryPolicy,
    },
    proto::enums::EventType,
};

use super::rig::{ALWAYS, Flaky, Stage, ms, names, retried};

fn at_once(attempts: u32) -> RetryPolicy {
    RetryPolicy::new(attempts).with_backoff(BackoffStrategy::None)
}

#[tokio::test(start_paused = true)]
async fn x_04_x_t09_success_at_once_is_one_activity_and_no_timer() {
    let told = retried(&Flaky::failing(0), RetryPolicy::new(3)).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(
        names(&told.events),
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn x_20_x_t10_two_failures_then_success_are_three_activities() {
    let flaky = Flaky::failing(2);
    let told = retried(&flaky, RetryPolicy::new(3)).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 3);
    assert_eq!(told.count("ActivityFailed"), 2);
    assert_eq!(told.count("ActivityCompleted"), 1);
    assert_eq!(flaky.done(), 3);
}

#[tokio::test(start_paused = true)]
async fn x_10_x_33_x_t11_three_attempts_are_used_up_and_the_last_error_is_the_result() {
    for policy in [RetryPolicy::default(), RetryPolicy::new(3)] {
        let told = retried(&Flaky::failing(ALWAYS), policy).await;
        assert_eq!(told.result, Err("e3".to_owned()));
        assert_eq!(told.count("ActivityScheduled"), 3);
        assert_eq!(told.count("ActivityFailed"), 3);
        assert_eq!(told.timers(), [100, 200]);
    }
}

#[tokio::test(start_paused = true)]
async fn x_t12_x_t37_one_attempt_that_fails_is_one_activity_and_no_timer() {
    let told = retried(&Flaky::failing(ALWAYS), RetryPolicy::new(1)).await;
    assert_eq!(told.result, Err("e1".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 1);
    assert_eq!(told.count("TimerCreated"), 0);
}

#[tokio::test(start_paused = true)]
async fn x_26_x_t22_the_last_error_is_returned() {
    let told = retried(&Flaky::failing(3), at_once(3)).await;
    assert_eq!(told.result, Err("e3".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn x_24_x_t32_x_t33_n_attempts_leave_n_activities_and_one_backoff_less() {
    for attempts in 1..=10_u32 {
        let told = retried(&Flaky::failing(ALWAYS), RetryPolicy::new(attempts)).await;
        let attempts = usize::try_from(attempts).unwrap();
        assert_eq!(told.count("ActivityScheduled"), attempts);
        assert_eq!(told.count("TimerCreated"), attempts - 1);
        assert_eq!(told.count("TimerFired"), attempts - 1);
    }
}

#[tokio::test(start_paused = true)]
async fn x_t39_a_hundred_and_fifty_attempts() {
    let told = retried(&Flaky::failing(149), at_once(150)).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 150);
    assert_eq!(told.count("TimerCreated"), 0);
}

#[tokio::test(start_paused = true)]
async fn x_01_a_retried_call_leaves_only_activities_and_timers() {
    let policy = RetryPolicy::new(3).with_timeout(ms(1000));
    let told = retried(&Flaky::failing(2), policy).await;
    let allowed = [
        EventType::ActivityTaskScheduled,
        EventType::ActivityTaskStarted,
        EventType::ActivityTaskFailed,
        EventType::ActivityTaskCompleted,
        EventType::TimerStarted,
        EventType::TimerFired,
        EventType::TimerCanceled,
    ];
    let frame = [
        EventType::WorkflowExecutionStarted,
        EventType::WorkflowTaskScheduled,
        EventType::WorkflowTaskStarted,
        EventType::WorkflowTaskCompleted,
        EventType::WorkflowExecutionCompleted,
    ];
    for event in &told.raw {
        let kind = event.event_type();
        assert!(allowed.contains(&kind) || frame.contains(&kind), "{kind:?} is in history");
    }
}

#[tokio::test(start_paused = true)]
async fn x_t44_twenty_at_once_do_not_hear_of_each_other() {
    // Each instance has its own count of failures, by its input.
    let flakies: Vec<Flaky> = (0..20).map(|number| Flaky::failing(number % 3)).collect();
    let shared = flakies.clone();
    let activities = ActivityRegistry::builder()
        .register("Flaky", move |ctx: ActivityContext, input: String| {
            let number: usize = input.parse().expect("a number");
            let flaky = shared[number].clone();
            async move { Ok(format!("{number}: {}", flaky.run(ctx).await?)) }
        })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Retry", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity_with_retry("Flaky", input, RetryPolicy::new(3)).await
        })
        .build();
    let stage = Stage::new(&activities, orchestrations).await;
    for number in 0..20 {
        let (id, input) = (format!("order-{number}"), number.to_string());
        stage.client().start_orchestration(id, "Retry", input).await.unwrap();
    }
    for (number, flaky) in flakies.iter().enumerate() {
        let result = stage.result_of(&format!("order-{number}")).await;
        assert_eq!(result, Ok(format!("{number}: ok")));
        assert_eq!(flaky.done(), number % 3 + 1);
    }
}
