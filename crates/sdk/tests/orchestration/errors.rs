//! Trouble: what activities say themselves reaches the call, all else does not.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use steadfast::orchestration::{
    ActivityRegistry, ErrorDetails, OrchestrationContext, OrchestrationRegistry,
    OrchestrationStatus, RetryPolicy,
};

use super::rig::{Flaky, LONG, ONE, Stage, count, ms, names, nap, retried, retried_with_crashes};

/// An orchestration that calls an activity of its input's name with retry, and notes whether the
/// call came back.
fn calling(came_back: &Arc<AtomicBool>) -> OrchestrationRegistry {
    let came_back = Arc::clone(came_back);
    let call = move |ctx: OrchestrationContext, name: String| {
        let came_back = Arc::clone(&came_back);
        async move {
            let result = ctx.schedule_activity_with_retry(name, "x", RetryPolicy::new(3)).await;
            came_back.store(true, Ordering::SeqCst);
            result
        }
    };
    OrchestrationRegistry::builder().register("Call", call).build()
}

async fn details(stage: &Stage) -> ErrorDetails {
    let ended = stage.client().wait_for_orchestration(ONE, LONG).await;
    let status = ended.expect("it ends");
    let OrchestrationStatus::Failed { details } = status else {
        panic!("it should have failed: {status:?}")
    };
    details
}

#[tokio::test(start_paused = true)]
async fn x_t24_an_unknown_activity_is_not_the_helpers_business() {
    let came_back = Arc::default();
    let stage = Stage::new(&Flaky::failing(0).registered(), calling(&came_back)).await;
    stage.start("Call", "Nobody").await;
    let details = details(&stage).await;
    assert_eq!(details.category(), "configuration");
    assert_eq!(
        details.to_string(),
        "configuration: no activity \"Nobody\" is registered here; there are [\"Flaky\"]"
    );
    assert!(!came_back.load(Ordering::SeqCst), "the helper saw it");
    let events = stage.events(1).await;
    assert_eq!(count(&events, "ActivityScheduled"), 1, "and it is not charged for it");
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_t24_an_error_of_the_activity_is_retried() {
    let told = retried(&Flaky::failing(1), RetryPolicy::new(2)).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn x_t24_an_activity_that_comes_later_is_waited_for() {
    // The first version of the program does not have the activity yet.
    let came_back: Arc<AtomicBool> = Arc::default();
    let is_known: Arc<AtomicBool> = Arc::default();
    let orchestrations = calling(&came_back);
    let (known, theirs) = (Arc::clone(&is_known), orchestrations.clone());
    let nothing = ActivityRegistry::builder().register("Other", |_, it| async { Ok(it) }).build();
    let env = steadfast::testing::TestEnv::start(move |app| {
        let more = ActivityRegistry::builder().register("Late", |_, it| async { Ok(it) }).build();
        let now = if known.load(Ordering::SeqCst) { &more } else { &nothing };
        app.orchestrations(now, &theirs)
    });
    let mut stage = Stage { env: env.await.unwrap(), orchestrations };
    stage.start("Call", "Late").await;
    stage.env.wait(ms(1000)).await;
    is_known.store(true, Ordering::SeqCst);
    stage.env.restart().await.unwrap();
    assert_eq!(stage.result().await, Ok("x".to_owned()));
    assert_eq!(count(&stage.events(1).await, "ActivityScheduled"), 1);
}

#[tokio::test(start_paused = true)]
async fn x_29_an_engine_that_dies_during_an_attempt_costs_no_attempt() {
    let flaky = Flaky::failing(1).taking(ms(1000));
    // It dies in the first attempt, and in the second one, too.
    let told = retried_with_crashes(&flaky, RetryPolicy::new(2), &[ms(500), ms(2000)]).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 2);
    assert_eq!(told.count("ActivityFailed"), 1);
    assert!(flaky.begun() > 2, "the attempts that died were made again");
    assert_eq!(flaky.done(), 2);
}

#[tokio::test(start_paused = true)]
async fn x_29_an_attempt_does_not_outlive_the_process_that_made_it() {
    let ends: Arc<AtomicU32> = Arc::default();
    let counter = Arc::clone(&ends);
    let activities = ActivityRegistry::builder()
        .register("Slow", move |_, input| {
            let ends = Arc::clone(&counter);
            async move {
                nap(ms(1000)).await;
                ends.fetch_add(1, Ordering::SeqCst);
                Ok(input)
            }
        })
        .build();
    let mut stage = Stage::new(&activities, calling(&Arc::default())).await;
    stage.start("Call", "Slow").await;
    stage.env.wait(ms(500)).await;
    stage.env.crash().await.unwrap();
    assert_eq!(stage.result().await, Ok("x".to_owned()));
    assert_eq!(ends.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn x_29_a_worker_that_always_dies_fails_the_orchestration_and_not_the_call() {
    let came_back = Arc::default();
    let slow = Flaky::failing(0).taking(LONG);
    let mut stage = Stage::new(&slow.registered(), calling(&came_back)).await;
    stage.start("Call", "Flaky").await;
    for _ in 0..10 {
        stage.env.wait(ms(60_000)).await;
        stage.env.crash().await.unwrap();
    }
    let details = details(&stage).await;
    assert_eq!(details.category(), "infrastructure");
    assert!(!came_back.load(Ordering::SeqCst), "the helper saw it");
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_t36_no_attempts_at_all_are_refused_and_schedule_nothing() {
    let told = retried(&Flaky::failing(0), RetryPolicy::new(0)).await;
    assert_eq!(told.result, Err("max_attempts must be at least 1, not 0".to_owned()));
    assert_eq!(names(&told.events), ["OrchestrationStarted", "OrchestrationFailed"]);
}

#[tokio::test(start_paused = true)]
async fn x_t38_an_empty_name_is_an_error_and_not_a_hang() {
    let came_back = Arc::default();
    let stage = Stage::new(&Flaky::failing(0).registered(), calling(&came_back)).await;
    stage.start("Call", "").await;
    let details = details(&stage).await;
    assert_eq!(
        details.to_string(),
        "configuration: an activity without a name cannot be registered"
    );
    assert!(!came_back.load(Ordering::SeqCst), "the helper saw it");
    assert_eq!(names(&stage.events(1).await), ["OrchestrationStarted", "OrchestrationFailed"]);
    assert_eq!(stage.env.elapsed(), ms(0));
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn x_29_a_panic_is_the_activitys_own_word() {
    let activities = ActivityRegistry::builder()
        .register("Panics", |_, _| async { panic!("out of paper") })
        .build();
    let came_back = Arc::default();
    let stage = Stage::new(&activities, calling(&came_back)).await;
    stage.start("Call", "Panics").await;
    assert_eq!(stage.result().await, Err("out of paper".to_owned()));
    assert!(came_back.load(Ordering::SeqCst));
    assert_eq!(count(&stage.events(1).await, "ActivityFailed"), 3);
}
