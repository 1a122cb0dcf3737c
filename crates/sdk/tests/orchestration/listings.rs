//! The seed's two histories, line by line.

use steadfast::orchestration::{
    BackoffStrategy, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

use super::rig::{Flaky, Stage, listing, ms};

/// Calls `Flaky` and tells the outcome, a failure too, as its output.
fn reporting(policy: RetryPolicy) -> OrchestrationRegistry {
    let report = move |ctx: OrchestrationContext, input: String| {
        let policy = policy.clone();
        async move {
            let outcome = ctx.schedule_activity_with_retry("Flaky", input, policy).await;
            Ok(outcome.unwrap_or_else(|error| format!("Err({error})")))
        }
    };
    OrchestrationRegistry::builder().register("Report", report).build()
}

async fn told(flaky: Flaky, policy: RetryPolicy) -> String {
    let stage = Stage::new(&flaky.registered(), reporting(policy)).await;
    stage.start("Report", "x").await;
    stage.result().await.expect("it reports");
    stage.replays().await;
    listing(&stage.events(1).await)
}

#[tokio::test(start_paused = true)]
async fn x_30_x_31_three_attempts_with_a_timeout_are_exactly_fifteen_events() {
    let policy =
        RetryPolicy::new(3).with_timeout(ms(10_000)).with_backoff(BackoffStrategy::Exponential {
            base: ms(100),
            multiplier: 2.0,
            max: ms(30_000),
        });
    insta::assert_snapshot!(told(Flaky::failing(2), policy).await, @r#"
    [1] OrchestrationStarted { name: "Report", input: "x" }
    [2] TimerCreated { fire_at_ms: now+10000 }
    [3] ActivityScheduled { name: "Flaky", input: "x" }
    [4] ActivityFailed { source_event_id: 3, error: "e1" }
    [5] TimerCreated { fire_at_ms: now+100 }
    [6] TimerFired { source_event_id: 5 }
    [7] TimerCreated { fire_at_ms: now+10000 }
    [8] ActivityScheduled { name: "Flaky", input: "x" }
    [9] ActivityFailed { source_event_id: 8, error: "e2" }
    [10] TimerCreated { fire_at_ms: now+200 }
    [11] TimerFired { source_event_id: 10 }
    [12] TimerCreated { fire_at_ms: now+10000 }
    [13] ActivityScheduled { name: "Flaky", input: "x" }
    [14] ActivityCompleted { source_event_id: 13, result: "ok" }
    [15] OrchestrationCompleted { output: "ok" }
    "#);
}

#[tokio::test(start_paused = true)]
async fn x_32_a_timeout_is_exactly_five_events() {
    let policy = RetryPolicy::new(3).with_timeout(ms(1000));
    let slow = Flaky::failing(0).taking(ms(5000));
    insta::assert_snapshot!(told(slow, policy).await, @r#"
    [1] OrchestrationStarted { name: "Report", input: "x" }
    [2] TimerCreated { fire_at_ms: now+1000 }
    [3] ActivityScheduled { name: "Flaky", input: "x" }
    [4] TimerFired { source_event_id: 2 }
    [5] OrchestrationCompleted { output: "Err(timeout: activity timed out)" }
    "#);
}
