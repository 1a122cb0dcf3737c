//! What the seed names as future work: numbers, a predicate, jitter, a limit for all, children.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use steadfast::orchestration::{
    BackoffStrategy, Counted, OrchestrationContext, OrchestrationRegistry, RetryPlan, RetryPolicy,
};

use super::rig::{ALWAYS, Flaky, Stage, ms, names, retried, retried_with_crashes, retrying};

fn fixed(attempts: u32, millis: u64) -> RetryPolicy {
    RetryPolicy::new(attempts).with_backoff(BackoffStrategy::Fixed { delay: ms(millis) })
}

#[tokio::test(start_paused = true)]
async fn x_36_retries_exhaustion_and_timeouts_are_counted_once() {
    let orchestrations = retrying(fixed(3, 100).with_timeout(ms(1000)));
    let counters = orchestrations.counters().clone();
    let flaky = Flaky::failing(ALWAYS);
    let mut stage = Stage::new(&flaky.registered(), orchestrations.clone()).await;
    stage.start("Retry", "x").await;
    // What is replayed after a crash is not counted again.
    stage.env.wait(ms(150)).await;
    stage.env.crash().await.unwrap();
    stage.result().await.unwrap_err();
    assert_eq!(
        counters.read(),
        Counted {
            activity_retry_total: 2,
            activity_retry_exhausted_total: 1,
            activity_timeout_total: 0,
        }
    );
    let slow = Flaky::failing(0).taking(ms(5000));
    let stage = Stage::new(&slow.registered(), orchestrations).await;
    stage.start("Retry", "x").await;
    stage.result().await.unwrap_err();
    assert_eq!(counters.read().activity_timeout_total, 1);
    assert_eq!(counters.read().activity_retry_total, 2);
}

#[tokio::test(start_paused = true)]
async fn x_37_a_predicate_decides_what_is_retried() {
    let plan = RetryPlan::from(fixed(5, 100)).retry_if(|error| error != "e2");
    let told = retried(&Flaky::failing(ALWAYS), plan).await;
    assert_eq!(told.result, Err("e2".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 2);
    let never = RetryPlan::from(fixed(5, 100)).retry_if(|_| false);
    let told = retried(&Flaky::failing(ALWAYS), never).await;
    assert_eq!(told.count("ActivityScheduled"), 1);
}

#[tokio::test(start_paused = true)]
async fn x_38_a_jittered_delay_is_recorded_so_that_replay_is_equal() {
    let plan = || RetryPlan::from(fixed(6, 1000)).with_jitter(0.5);
    // It is replayed after the crash, and once more on paper.
    let told = retried_with_crashes(&Flaky::failing(ALWAYS), plan(), &[ms(1700), ms(600)]).await;
    let timers = told.timers();
    assert_eq!(timers.len(), 5);
    assert!(timers.iter().all(|timer| (500..=1000).contains(timer)), "{timers:?}");
    assert!(timers.iter().any(|timer| *timer != timers[0]), "{timers:?}");
    retrying(plan()).replayer().replay(told.raw.clone()).unwrap();
    // Without it the delays are others, and that is noticed.
    retrying(fixed(6, 1000)).replayer().replay(told.raw).unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn x_39_a_total_timeout_ends_all_attempts() {
    let plan = || RetryPlan::from(fixed(100, 300)).with_total_timeout(ms(1000));
    let flaky = Flaky::failing(ALWAYS).taking(ms(100));
    let told = retried(&flaky, plan()).await;
    assert_eq!(told.result, Err("timeout: retry deadline exceeded".to_owned()));
    assert_eq!(told.took, ms(1000));
    assert_eq!(told.count("ActivityScheduled"), 3);
    let told = retried(&Flaky::failing(2).taking(ms(100)), plan()).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.took, ms(900));
}

#[tokio::test(start_paused = true)]
async fn x_40_children_can_be_retried_by_their_own_policy() {
    let tried: Arc<AtomicU32> = Arc::default();
    let count = Arc::clone(&tried);
    let orchestrations = OrchestrationRegistry::builder()
        .register("Child", move |_: OrchestrationContext, input: String| {
            let count = Arc::clone(&count);
            async move {
                match count.fetch_add(1, Ordering::SeqCst) {
                    0 | 1 => Err("not yet".to_owned()),
                    _ => Ok(format!("{input} is done")),
                }
            }
        })
        .register("Parent", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_sub_orchestration_with_retry("Child", input, fixed(3, 100)).await
        })
        .build();
    let stage = Stage::new(&Flaky::failing(0).registered(), orchestrations).await;
    stage.start("Parent", "it").await;
    assert_eq!(stage.result().await, Ok("it is done".to_owned()));
    assert_eq!(
        names(&stage.events(1).await),
        [
            "OrchestrationStarted",
            "SubOrchestrationScheduled",
            "SubOrchestrationFailed",
            "TimerCreated",
            "TimerFired",
            "SubOrchestrationScheduled",
            "SubOrchestrationFailed",
            "TimerCreated",
            "TimerFired",
            "SubOrchestrationScheduled",
            "SubOrchestrationCompleted",
            "OrchestrationCompleted"
        ]
    );
    stage.replays().await;
}
