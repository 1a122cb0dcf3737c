//! Replay: what was recorded comes to the same again, and code that does something else is noticed.

use steadfast::{
    ReplayError,
    orchestration::{
        BackoffStrategy, OrchestrationContext, OrchestrationRegistry, RetryPlan, RetryPolicy,
    },
    proto::{enums::EventType, history::HistoryEvent},
};

use super::rig::{
    ALWAYS, Flaky, Stage, Told, listing, ms, retried, retried_with_crashes, retrying,
};

fn fixed(attempts: u32, millis: u64) -> RetryPolicy {
    RetryPolicy::new(attempts).with_backoff(BackoffStrategy::Fixed { delay: ms(millis) })
}

/// Replays a history under another plan.
fn under(plan: impl Into<RetryPlan>, told: &Told) -> Result<(), ReplayError> {
    retrying(plan).replayer().replay(told.raw.clone())
}

/// The number, in the engine's history, of the first event of a type.
fn first(kind: EventType, history: &[HistoryEvent]) -> i64 {
    let found = history.iter().find(|event| event.event_type() == kind);
    found.expect("an event of this type").event_id
}

#[tokio::test(start_paused = true)]
async fn x_03_any_recorded_history_replays() {
    for fails in [0, 1, 4] {
        for takes in [0, 300, 900] {
            for timeout in [None, Some(ms(500))] {
                let flaky = Flaky::failing(fails).taking(ms(takes));
                let policy = RetryPolicy { timeout, ..RetryPolicy::new(3) };
                // It replays what was recorded, and panics if that does not fit.
                let told = retried(&flaky, policy).await;
                let again = retried_with_crashes(
                    &Flaky::failing(fails).taking(ms(takes)),
                    RetryPolicy { timeout, ..RetryPolicy::new(3) },
                    &[],
                )
                .await;
                assert_eq!(listing(&told.events), listing(&again.events));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn x_t28_replay_of_success_at_the_third_attempt_runs_nothing() {
    let flaky = Flaky::failing(2);
    let told = retried(&flaky, RetryPolicy::new(3)).await;
    assert_eq!(flaky.begun(), 3);
    under(RetryPolicy::new(3), &told).unwrap();
    assert_eq!(flaky.begun(), 3);
}

#[tokio::test(start_paused = true)]
async fn x_t29_replay_of_a_timeout_runs_nothing() {
    let slow = Flaky::failing(0).taking(ms(5000));
    let policy = RetryPolicy::new(3).with_timeout(ms(1000));
    let told = retried(&slow, policy.clone()).await;
    under(policy, &told).unwrap();
    assert_eq!(slow.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn x_t30_a_history_cut_after_the_first_failure_goes_on_where_it_was() {
    let flaky = Flaky::failing(2);
    // The plug is pulled in the middle of the first backoff.
    let told = retried_with_crashes(&flaky, RetryPolicy::new(3), &[ms(50)]).await;
    assert_eq!(told.result, Ok("ok".to_owned()));
    assert_eq!(told.count("ActivityScheduled"), 3);
    assert_eq!(told.timers(), [100, 200]);
    assert_eq!(flaky.begun(), 3);
    assert_eq!(told.took, ms(300));
    // So it is on paper.
    let failed = first(EventType::ActivityTaskFailed, &told.raw);
    let cut: Vec<_> = told.raw.into_iter().filter(|event| event.event_id <= failed).collect();
    retrying(RetryPolicy::new(3)).replayer().replay(cut).unwrap();
}

#[tokio::test(start_paused = true)]
async fn x_t31_replay_under_another_policy_names_the_event() {
    let told = retried(&Flaky::failing(ALWAYS), fixed(5, 100)).await;
    let timer = first(EventType::TimerStarted, &told.raw);
    assert_eq!(
        under(fixed(5, 200), &told).unwrap_err().to_string(),
        format!(
            "non-determinism at event {timer}: history has TimerStarted of 100ms, \
             the code asks for a timer of 200ms"
        )
    );
    let error = under(fixed(2, 100), &told).unwrap_err().to_string();
    assert!(error.ends_with("history has TimerStarted of 100ms, the code fails: e2"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn p_09_every_change_that_history_contradicts_is_noticed() {
    let told = retried(&Flaky::failing(2), fixed(3, 100)).await;
    let said = |plan: RetryPolicy| under(plan, &told).unwrap_err().to_string();
    let fewer = said(fixed(2, 100));
    assert!(fewer.contains("history has TimerStarted of 100ms, the code fails: e2"), "{fewer}");
    let scheduled = first(EventType::ActivityTaskScheduled, &told.raw);
    assert_eq!(
        said(fixed(3, 100).with_timeout(ms(1000))),
        format!(
            "non-determinism at event {scheduled}: history has ActivityTaskScheduled \"Flaky\", \
             the code asks for a timer of 1s"
        )
    );
    let shorter = said(fixed(3, 99));
    assert!(shorter.contains("of 100ms, the code asks for a timer of 99ms"), "{shorter}");
    let none = said(fixed(3, 0));
    assert!(none.contains("TimerStarted of 100ms, the code asks for activity"), "{none}");
    let timed = fixed(3, 100).with_timeout(ms(1000));
    let told = retried(&Flaky::failing(2), timed).await;
    let untimed = under(fixed(3, 100), &told).unwrap_err().to_string();
    assert!(untimed.contains("TimerStarted of 1s, the code asks for activity"), "{untimed}");
    let longer = fixed(3, 100).with_timeout(ms(2000));
    let longer = under(longer, &told).unwrap_err().to_string();
    assert!(longer.contains("TimerStarted of 1s, the code asks for a timer of 2s"), "{longer}");
}

#[tokio::test(start_paused = true)]
async fn p_09_more_attempts_are_fine_for_a_run_that_is_under_way() {
    let attempts = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(2));
    let (now, flaky) = (attempts.clone(), Flaky::failing(3));
    let activities = flaky.registered();
    let plans = move || fixed(now.load(std::sync::atomic::Ordering::SeqCst), 100);
    let plan = plans.clone();
    let retry = move |ctx: OrchestrationContext, input: String| {
        let plan = plan();
        async move { ctx.schedule_activity_with_retry("Flaky", input, plan).await }
    };
    let orchestrations = OrchestrationRegistry::builder().register("Retry", retry).build();
    let mut stage = Stage::new(&activities, orchestrations).await;
    stage.start("Retry", "x").await;
    stage.env.wait(ms(50)).await;
    attempts.store(4, std::sync::atomic::Ordering::SeqCst);
    stage.env.crash().await.unwrap();
    assert_eq!(stage.result().await, Ok("ok".to_owned()));
    assert_eq!(super::rig::count(&stage.events(1).await, "ActivityScheduled"), 4);
    stage.replays().await;
}

#[tokio::test(start_paused = true)]
async fn p_09_another_input_is_noticed_too() {
    let told = retried(&Flaky::failing(1), RetryPolicy::new(3)).await;
    let other = OrchestrationRegistry::builder()
        .register("Retry", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity_with_retry("Flaky", "y", RetryPolicy::new(3)).await
        })
        .build();
    let error = other.replayer().replay(told.raw).unwrap_err().to_string();
    assert!(error.contains("history has ActivityTaskScheduled \"Flaky\""), "{error}");
}

#[tokio::test(start_paused = true)]
async fn p_10_a_result_counts_only_when_all_recorded_commands_were_matched() {
    let told = retried(&Flaky::failing(2), fixed(3, 100)).await;
    let hasty = OrchestrationRegistry::builder()
        .register("Retry", |ctx: OrchestrationContext, input: String| async move {
            // It is done after the first activity; history is not.
            drop(ctx.schedule_activity("Flaky", input).await);
            Ok("ok".to_owned())
        })
        .build();
    let timer = first(EventType::TimerStarted, &told.raw);
    assert_eq!(
        hasty.replayer().replay(told.raw).unwrap_err().to_string(),
        format!(
            "non-determinism at event {timer}: history has TimerStarted of 100ms, \
             the code completes"
        )
    );
}
