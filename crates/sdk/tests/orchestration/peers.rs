//! What goes wrong elsewhere.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use steadfast::orchestration::{
    ActivityContext, ActivityRegistry, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

use super::rig::{Flaky, Stage, ms, nap, retrying};

#[tokio::test(start_paused = true)]
async fn p_11_for_orchestrations_the_seeds_race_is_kept_and_waiting_for_a_worker_counts() {
    // There is room for one activity, and another instance has it.
    let flaky = Flaky::failing(0).taking(ms(3000));
    let policy = RetryPolicy::new(3).with_timeout(ms(4000));
    let stage =
        Stage::built(&flaky.registered(), retrying(policy), |app| app.activities_at_once(1)).await;
    stage.client().start_orchestration("first", "Retry", "x").await.unwrap();
    stage.client().start_orchestration("second", "Retry", "x").await.unwrap();
    assert_eq!(stage.result_of("first").await, Ok("ok".to_owned()));
    let second = stage.result_of("second").await;
    assert_eq!(second, Err("timeout: activity timed out".to_owned()));
    assert_eq!(stage.env.elapsed(), ms(4000));
}

#[tokio::test(start_paused = true)]
async fn p_12_an_attempt_that_took_too_long_hears_of_it_at_once() {
    let heard: Arc<AtomicU32> = Arc::default();
    let told = Arc::clone(&heard);
    let activities = ActivityRegistry::builder()
        .register("Flaky", move |ctx: ActivityContext, _: String| {
            let told = Arc::clone(&told);
            async move {
                ctx.cancelled().await;
                assert!(ctx.is_cancelled());
                told.fetch_add(1, Ordering::SeqCst);
                Err("cancelled".to_owned())
            }
        })
        .build();
    let policy = RetryPolicy::new(3).with_timeout(ms(1000));
    let stage = Stage::new(&activities, retrying(policy)).await;
    stage.start("Retry", "x").await;
    assert_eq!(stage.result().await, Err("timeout: activity timed out".to_owned()));
    nap(ms(1)).await;
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    assert_eq!(stage.env.elapsed(), ms(1001));
}

#[tokio::test(start_paused = true)]
async fn p_13_a_settled_race_leaves_no_timer_behind() {
    use steadfast::proto::enums::EventType;
    let policy = RetryPolicy::new(3).with_timeout(ms(10_000));
    let told = super::rig::retried(&Flaky::failing(2), policy).await;
    let of = |kind| told.raw.iter().filter(|event| event.event_type() == kind).count();
    // Two backoffs fired; of three deadlines two were taken back, and one went with its run.
    assert_eq!(of(EventType::TimerStarted), 5);
    assert_eq!(of(EventType::TimerFired), 2);
    assert_eq!(of(EventType::TimerCanceled), 3);
}

#[tokio::test(start_paused = true)]
async fn p_20_time_and_ids_are_free_and_the_same_at_every_replay() {
    let clock = |ctx: OrchestrationContext, _: String| async move {
        let (before, id) = (ctx.utc_now().await?, ctx.new_guid().await?);
        ctx.schedule_timer(ms(1500)).await;
        let passed =
            ctx.utcnow().await?.duration_since(before).map_err(|error| error.to_string())?;
        let other = ctx.new_guid().await?;
        assert_ne!(id, other);
        Ok(format!("{} {id} {other}", passed.as_millis()))
    };
    let orchestrations = OrchestrationRegistry::builder().register("Clock", clock).build();
    let mut stage = Stage::new(&Flaky::failing(0).registered(), orchestrations).await;
    stage.start("Clock", "").await;
    stage.env.wait(ms(500)).await;
    // The first id is drawn a second time at the replay.
    stage.env.crash().await.unwrap();
    let result = stage.result().await.unwrap();
    assert!(result.starts_with("1500 "), "{result}");
    assert_eq!(
        super::rig::names(&stage.events(1).await),
        ["OrchestrationStarted", "TimerCreated", "TimerFired", "OrchestrationCompleted"]
    );
    stage.replays().await;
}
