//! What comes too late: in history or not, nobody consumes it.

use std::time::Duration;

use steadfast::orchestration::{
    ActivityContext, ActivityRegistry, Either2, OrchestrationContext, OrchestrationRegistry,
    RetryPlan, RetryPolicy,
};

use super::rig::{Flaky, Stage, count, listing, ms, names, nap};

/// `Slow` takes as long as its input says, whatever anybody wants.
fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Slow", |_: ActivityContext, millis: String| async move {
            nap(ms(millis.parse().expect("a number"))).await;
            Ok(format!("slept {millis}"))
        })
        .build()
}

fn orchestration<F, Fut>(code: F) -> OrchestrationRegistry
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    OrchestrationRegistry::builder().register("Story", code).build()
}

fn second() -> RetryPolicy {
    RetryPolicy::new(3).with_timeout(ms(1000))
}

#[tokio::test(start_paused = true)]
async fn x_t45_an_activity_that_completes_after_its_run_went_on_is_dropped() {
    let story = orchestration(|ctx, run| async move {
        if run == "1" {
            let late = ctx.schedule_activity_with_retry("Slow", "3000", second()).await;
            assert_eq!(late, Err("timeout: activity timed out".to_owned()));
            return ctx.continue_as_new("2").await;
        }
        // Long enough for the first run's activity to end.
        ctx.schedule_timer(ms(10_000)).await;
        ctx.schedule_activity("Slow", "10").await
    });
    let stage = Stage::new(&activities(), story).await;
    stage.start("Story", "1").await;
    assert_eq!(stage.result().await, Ok("slept 10".to_owned()));
    assert_eq!(stage.client().list_executions("one").await.unwrap(), [1, 2]);
    assert_eq!(
        names(&stage.events(1).await),
        [
            "OrchestrationStarted",
            "TimerCreated",
            "ActivityScheduled",
            "TimerFired",
            "OrchestrationContinuedAsNew"
        ]
    );
    assert_eq!(
        names(&stage.events(2).await),
        [
            "OrchestrationStarted",
            "TimerCreated",
            "TimerFired",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_t46_a_timer_that_is_due_after_its_run_went_on_is_dropped() {
    let story = orchestration(|ctx, run| async move {
        if run == "1" {
            // The helper's deadline, and one that nobody takes back.
            ctx.schedule_activity_with_retry("Slow", "10", second()).await?;
            let deadline = ctx.schedule_timer(ms(1000));
            ctx.select2(ctx.schedule_activity("Slow", "10"), deadline).await;
            return ctx.continue_as_new("2").await;
        }
        ctx.schedule_timer(ms(5000)).await;
        Ok("done".to_owned())
    });
    let stage = Stage::new(&activities(), story).await;
    stage.start("Story", "1").await;
    assert_eq!(stage.result().await, Ok("done".to_owned()));
    let first = stage.events(1).await;
    assert_eq!(count(&first, "TimerCreated"), 2);
    assert_eq!(count(&first, "TimerFired"), 0);
    insta::assert_snapshot!(listing(&stage.events(2).await), @r#"
    [1] OrchestrationStarted { name: "Story", input: "2" }
    [2] TimerCreated { fire_at_ms: now+5000 }
    [3] TimerFired { source_event_id: 2 }
    [4] OrchestrationCompleted { output: "done" }
    "#);
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_t47_stale_events_of_several_runs_are_all_dropped() {
    let story = orchestration(|ctx, run| async move {
        let number: u32 = run.parse().expect("a number");
        // One activity by hand, which nobody cancels, one with retry, which is.
        let raw = ctx.schedule_activity("Slow", "4000");
        let takes = if number < 3 { "3000" } else { "20" };
        let result = ctx.schedule_activity_with_retry("Slow", takes, second()).await;
        drop(raw);
        if number < 3 {
            assert_eq!(result, Err("timeout: activity timed out".to_owned()));
            return ctx.continue_as_new((number + 1).to_string()).await;
        }
        ctx.schedule_timer(ms(500)).await;
        result
    });
    let stage = Stage::new(&activities(), story).await;
    stage.start("Story", "1").await;
    assert_eq!(stage.result().await, Ok("slept 20".to_owned()));
    assert_eq!(stage.client().list_executions("one").await.unwrap(), [1, 2, 3]);
    insta::assert_snapshot!(listing(&stage.events(3).await), @r#"
    [1] OrchestrationStarted { name: "Story", input: "3" }
    [2] ActivityScheduled { name: "Slow", input: "4000" }
    [3] TimerCreated { fire_at_ms: now+1000 }
    [4] ActivityScheduled { name: "Slow", input: "20" }
    [5] ActivityCompleted { source_event_id: 4, result: "slept 20" }
    [6] TimerCreated { fire_at_ms: now+500 }
    [7] TimerFired { source_event_id: 6 }
    [8] OrchestrationCompleted { output: "slept 20" }
    "#);
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_t48_the_loser_of_a_race_is_recorded_and_not_consumed() {
    let story = orchestration(|ctx, _| async move {
        let deadline = ctx.schedule_timer(ms(1000));
        let first = match ctx.select2(ctx.schedule_activity("Slow", "100"), deadline).await {
            Either2::First(result) => result?,
            Either2::Second(()) => return Err("the timer won".to_owned()),
        };
        let second = ctx.schedule_activity("Slow", "2000").await?;
        Ok(format!("{first}, {second}"))
    });
    let stage = Stage::new(&activities(), story).await;
    stage.start("Story", "").await;
    assert_eq!(stage.result().await, Ok("slept 100, slept 2000".to_owned()));
    insta::assert_snapshot!(listing(&stage.events(1).await), @r#"
    [1] OrchestrationStarted { name: "Story", input: "" }
    [2] TimerCreated { fire_at_ms: now+1000 }
    [3] ActivityScheduled { name: "Slow", input: "100" }
    [4] ActivityCompleted { source_event_id: 3, result: "slept 100" }
    [5] ActivityScheduled { name: "Slow", input: "2000" }
    [6] TimerFired { source_event_id: 2 }
    [7] ActivityCompleted { source_event_id: 5, result: "slept 2000" }
    [8] OrchestrationCompleted { output: "slept 100, slept 2000" }
    "#);
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_t49_a_history_with_a_late_completion_replays_to_the_same_result() {
    let story = orchestration(|ctx, _| async move {
        let deadline = ctx.schedule_timer(ms(1000));
        let raced = ctx.select2(ctx.schedule_activity("Slow", "1500"), deadline).await;
        let second = ctx.schedule_activity("Slow", "2000").await?;
        Ok(format!("{} won, {second}", if raced.is_second() { "the timer" } else { "it" }))
    });
    let mut stage = Stage::new(&activities(), story).await;
    stage.start("Story", "").await;
    stage.env.wait(ms(2000)).await;
    stage.env.crash().await.unwrap();
    assert_eq!(stage.result().await, Ok("the timer won, slept 2000".to_owned()));
    let events = stage.events(1).await;
    let late = events.iter().find(|event| event.kind.name() == "ActivityCompleted").unwrap();
    assert_eq!(late.source_event_id, Some(3), "the loser's completion is in history");
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn p_13_deadlines_that_are_due_at_the_same_moment_do_not_get_in_each_others_way() {
    // Both fire in one turn of the code: it drops the one when it has seen the other.
    let plan = || RetryPlan::from(second()).with_total_timeout(Duration::from_secs(1));
    let slow = Flaky::failing(0).taking(ms(5000));
    let told = super::rig::retried(&slow, plan()).await;
    assert_eq!(told.took, ms(1000));
    assert!(told.result.unwrap_err().starts_with("timeout: "));
}
