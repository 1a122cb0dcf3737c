//! Promises of automatic retry: policies and their layers, errors that are caught, what is recorded.

use std::time::Duration;

use steadfast::{
    AGGRESSIVE, Activity, ActivityError, Failure, Replayer, RetryPolicy, TerminalError,
    WorkflowContext, WorkflowError,
    proto::enums::{EventType, WorkflowExecutionStatus},
    testing::TestEnv,
};

use crate::common::{ALWAYS, Notes, activity_failure, count, eventually, flaky, note};

async fn plain(ctx: WorkflowContext, failures: u32) -> Result<String, Failure> {
    Ok(ctx.activity(flaky, failures).await?)
}

async fn twice(ctx: WorkflowContext, failures: u32) -> Result<String, Failure> {
    Ok(ctx.activity(flaky, failures).retry(RetryPolicy::new().max_attempts(2)).await?)
}

async fn env(policy: Option<RetryPolicy>, own: Option<RetryPolicy>) -> (TestEnv, Notes) {
    let notes = Notes::default();
    let kept = notes.clone();
    let env = TestEnv::start(move |app| {
        let app = app.workflow(plain).workflow(twice).activity(note).state(kept.clone());
        let app = match &policy {
            Some(policy) => app.retry(policy.clone()),
            None => app,
        };
        let activity = Activity::new(flaky);
        app.register_activity(match &own {
            Some(policy) => activity.retry(policy.clone()),
            None => activity,
        })
    });
    (env.await.expect("it works"), notes)
}

#[tokio::test]
async fn e_01_activities_retry_without_retry_code() {
    let (env, notes) = env(None, None).await;
    let run = env.client().start(plain, 2).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "ok");
    assert_eq!(notes.count("flaky"), 3);
}

#[tokio::test]
async fn e_02_the_workflow_runs_on_during_backoff() {
    let (mut env, notes) = env(None, None).await;
    let run = env.client().start(plain, 2).id("w").await.unwrap();
    eventually(&env, || notes.count("flaky") == 1).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<String>(run.workflow_id());
    let info = run.describe().await.unwrap().workflow_execution_info.unwrap();
    assert_eq!(info.status(), WorkflowExecutionStatus::Running);
    assert_eq!(run.result().await.unwrap(), "ok");
}

#[tokio::test]
async fn e_08_success_is_recorded_once() {
    let (env, _) = env(None, None).await;
    let run = env.client().start(plain, 0).await.unwrap();
    run.result().await.unwrap();
    let history = run.history().await.unwrap();
    assert_eq!(count(&history, EventType::ActivityTaskCompleted), 1);
    assert_eq!(count(&history, EventType::ActivityTaskFailed), 0);
}

#[tokio::test]
async fn e_09_exhaustion_is_recorded_once_and_raised() {
    let (env, notes) = env(None, None).await;
    let run = env.client().start(twice, ALWAYS).await.unwrap();
    let error = run.result().await.unwrap_err();
    assert_eq!(notes.count("flaky"), 2);
    assert_eq!(error.failure().unwrap().error_type(), "RetryExhaustedError");
    assert_eq!(count(&run.history().await.unwrap(), EventType::ActivityTaskFailed), 1);
}

#[tokio::test]
async fn e_03_e_14_e_24_the_frameworks_policy_is_five_attempts() {
    let (env, notes) = env(None, None).await;
    env.client().start(plain, ALWAYS).await.unwrap().result().await.unwrap_err();
    assert_eq!(notes.seconds(), [0.0, 1.0, 3.0, 7.0, 15.0]);
}

#[tokio::test]
async fn e_20_e_21_the_applications_policy_holds_with_the_frameworks_other_fields() {
    let policy = RetryPolicy::new().max_attempts(7).initial_interval(Duration::from_secs(2));
    let (env, notes) = env(Some(policy), None).await;
    env.client().start(plain, ALWAYS).await.unwrap().result().await.unwrap_err();
    assert_eq!(notes.seconds(), [0.0, 2.0, 6.0, 14.0, 30.0, 62.0, 122.0]);
}

#[tokio::test]
async fn e_22_an_activitys_own_policy_beats_the_applications() {
    let app = RetryPolicy::new().max_attempts(10);
    let (env, notes) = env(Some(app), Some(RetryPolicy::new().max_attempts(3))).await;
    env.client().start(plain, ALWAYS).await.unwrap().result().await.unwrap_err();
    assert_eq!(notes.count("flaky"), 3);
}

#[tokio::test]
async fn e_04_a_call_beats_the_activitys_own_policy() {
    let (env, notes) = env(None, Some(RetryPolicy::new().max_attempts(4))).await;
    env.client().start(twice, ALWAYS).await.unwrap().result().await.unwrap_err();
    assert_eq!(notes.count("flaky"), 2);
}

#[tokio::test]
async fn e_23_the_applications_policy_beats_the_frameworks() {
    let policy = RetryPolicy::new().max_attempts(10).initial_interval(Duration::from_secs(1));
    let (env, notes) = env(Some(policy), None).await;
    env.client().start(plain, ALWAYS).await.unwrap().result().await.unwrap_err();
    // 1 + 2 + 4 + 8 + 16 + 32 + 60 + 60 + 60 = 243 seconds, within the 300.
    assert_eq!(notes.count("flaky"), 10);
}

#[tokio::test]
async fn e_65_presets_are_policies() {
    let (env, notes) = env(None, Some(AGGRESSIVE.into())).await;
    env.client().start(plain, 2).await.unwrap().result().await.unwrap();
    assert_eq!(notes.seconds(), [0.0, 0.1, 0.3]);
}

async fn validate_order(ctx: steadfast::ActivityContext, id: String) -> Result<String, Failure> {
    ctx.state::<Notes>().expect("it works").leave("validate");
    if ctx.attempt() > 1 || id.starts_with("missing") {
        return Err(TerminalError::new(format!("Order {id} not found")).into());
    }
    Err(Failure::new("try again").of_type("ConnectionError"))
}

/// Says which branch was taken, then waits, so that a crash replays it.
async fn caught(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    let branch = match ctx.activity(validate_order, &id).await {
        Ok(_) => "valid".to_owned(),
        Err(ActivityError::Terminal(error)) => format!("terminal: {error}"),
        Err(ActivityError::RetryExhausted(error)) => format!("exhausted: {error}"),
        Err(error) => format!("other: {error}"),
    };
    ctx.sleep(Duration::from_secs(60)).await?;
    ctx.activity(note, &branch).await?;
    Ok(branch)
}

async fn rethrown(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    Ok(ctx.activity(validate_order, &id).await?)
}

async fn validating() -> (TestEnv, Notes) {
    let notes = Notes::default();
    let kept = notes.clone();
    let env = TestEnv::start(move |app| {
        let app = app.workflow(caught).workflow(rethrown).workflow(exhausted).workflow(fallbacks);
        app.activity(validate_order).activity(note).activity(flaky).state(kept.clone())
    });
    (env.await.expect("it works"), notes)
}

#[tokio::test]
async fn e_06_e_36_e_40_a_terminal_error_fails_at_once() {
    let (env, notes) = validating().await;
    let run = env.client().start(rethrown, "missing 7").await.unwrap();
    let error = run.result().await.unwrap_err();
    assert_eq!(notes.count("validate"), 1);
    assert_eq!(error.to_string(), "Order missing 7 not found");
    // Also at the second attempt.
    env.client().start(rethrown, "17").await.unwrap().result().await.unwrap_err();
    assert_eq!(notes.count("validate"), 3);
}

#[tokio::test]
async fn e_41_a_terminal_error_is_in_history() {
    let (env, _) = validating().await;
    let run = env.client().start(rethrown, "missing 7").await.unwrap();
    run.result().await.unwrap_err();
    let history = run.history().await.unwrap();
    assert_eq!(count(&history, EventType::ActivityTaskFailed), 1);
    let failure = activity_failure(&history);
    assert_eq!(
        (failure.error_type(), failure.message()),
        ("TerminalError", "Order missing 7 not found")
    );
}

#[tokio::test]
async fn e_42_e_43_e_101_a_terminal_error_is_caught_as_itself_also_at_replay() {
    let (mut env, notes) = validating().await;
    let run = env.client().start(caught, "missing 7").id("w").await.unwrap();
    env.wait(Duration::from_secs(30)).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<String>(run.workflow_id());
    assert_eq!(run.result().await.unwrap(), "terminal: Order missing 7 not found");
    assert_eq!(notes.all(), ["validate", "terminal: Order missing 7 not found"]);
    Replayer::new().workflow(caught).replay(run.history().await.unwrap()).unwrap();
}

#[tokio::test]
async fn e_44_rethrown_it_fails_the_workflow() {
    let (env, _) = validating().await;
    let run = env.client().start(rethrown, "missing 7").await.unwrap();
    let WorkflowError::Failed(failure) = run.result().await.unwrap_err() else { panic!() };
    assert_eq!(failure.error_type(), "TerminalError");
    let info = run.describe().await.unwrap().workflow_execution_info.unwrap();
    assert_eq!(info.status(), WorkflowExecutionStatus::Failed);
}

async fn exhausted(ctx: WorkflowContext, attempts: u32) -> Result<(u32, String, String), Failure> {
    let policy = RetryPolicy::new().max_attempts(attempts);
    let error = match ctx.activity(flaky, ALWAYS).retry(policy).await {
        Err(ActivityError::RetryExhausted(error)) => error,
        other => return Err(Failure::new(format!("{other:?}"))),
    };
    ctx.sleep(Duration::from_secs(60)).await?;
    let cause = error.cause();
    Ok((error.attempts(), error.to_string(), format!("{}: {cause}", cause.error_type())))
}

#[tokio::test]
async fn e_45_e_46_e_47_e_48_exhaustion_says_what_and_why_also_at_replay() {
    let (mut env, notes) = validating().await;
    let run = env.client().start(exhausted, 3).id("w").await.unwrap();
    env.wait(Duration::from_secs(30)).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<(u32, String, String)>(run.workflow_id());
    let (attempts, message, cause) = run.result().await.unwrap();
    assert_eq!((attempts, notes.count("flaky")), (3, 3));
    assert_eq!(message, "Activity flaky failed after 3 attempts: Max attempts (3) reached");
    assert_eq!(cause, "ConnectionError: Network timeout");
}

async fn fallbacks(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    let policy = RetryPolicy::new().max_attempts(2);
    if ctx.activity(flaky, ALWAYS).retry(policy).await.is_err() {
        for step in ["one", "two", "three"] {
            ctx.activity(note, step).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn e_07_e_49_fallbacks_run_after_the_catch() {
    let (env, notes) = validating().await;
    let run = env.client().start(fallbacks, ()).await.unwrap();
    run.result().await.unwrap();
    assert_eq!(notes.all(), ["flaky", "flaky", "one", "two", "three"]);
    assert_eq!(count(&run.history().await.unwrap(), EventType::ActivityTaskCompleted), 3);
}

#[tokio::test]
async fn e_50_rethrown_exhaustion_fails_the_workflow() {
    let (env, _) = env(None, None).await;
    let run = env.client().start(twice, ALWAYS).await.unwrap();
    let WorkflowError::Failed(failure) = run.result().await.unwrap_err() else { panic!() };
    assert_eq!(failure.error_type(), "RetryExhaustedError");
    assert_eq!(
        failure.message(),
        "Activity flaky failed after 2 attempts: Max attempts (2) reached"
    );
    assert_eq!(failure.root_cause().error_type(), "ConnectionError");
}

async fn three_steps(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.activity(note, "step 1").await?;
    ctx.activity(flaky, 2).await?;
    ctx.activity(note, "step 3").await?;
    Ok(())
}

#[tokio::test]
async fn e_66_e_67_e_68_what_is_done_is_not_done_again() {
    let notes = Notes::default();
    let kept = notes.clone();
    let mut env = TestEnv::start(move |app| {
        app.workflow(three_steps).activity(note).activity(flaky).state(kept.clone())
    })
    .await
    .unwrap();
    let run = env.client().start(three_steps, ()).id("w").await.unwrap();
    eventually(&env, || notes.count("flaky") == 2).await;
    env.crash().await.unwrap();
    env.client().workflow::<()>(run.workflow_id()).result().await.unwrap();
    assert_eq!(notes.all(), ["step 1", "flaky", "flaky", "flaky", "step 3"]);
}

async fn four_times(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    Ok(ctx.activity(flaky, ALWAYS).retry(RetryPolicy::new().max_attempts(4)).await?)
}

#[tokio::test]
async fn e_102_the_attempts_survive_a_crash_in_backoff() {
    let notes = Notes::default();
    let kept = notes.clone();
    let mut env =
        TestEnv::start(move |app| app.workflow(four_times).activity(flaky).state(kept.clone()))
            .await
            .unwrap();
    let run = env.client().start(four_times, ()).id("w").await.unwrap();
    eventually(&env, || notes.count("flaky") == 3).await;
    env.wait(Duration::from_secs(1)).await;
    env.crash().await.unwrap();
    env.client().workflow::<String>(run.workflow_id()).result().await.unwrap_err();
    assert_eq!(notes.count("flaky"), 4);
}

async fn for_ever(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    Ok(ctx.activity(flaky, ALWAYS).retry(steadfast::INFINITE).await?)
}

#[tokio::test]
async fn e_104_a_cancellation_ends_a_retry_loop() {
    let notes = Notes::default();
    let kept = notes.clone();
    let env = TestEnv::start(move |app| app.workflow(for_ever).activity(flaky).state(kept.clone()))
        .await
        .unwrap();
    let run = env.client().start(for_ever, ()).await.unwrap();
    env.wait(Duration::from_secs(10)).await;
    let before = notes.count("flaky");
    run.cancel().await.unwrap();
    assert!(matches!(run.result().await, Err(WorkflowError::Cancelled)));
    env.wait(Duration::from_secs(600)).await;
    assert_eq!((before, notes.count("flaky")), (4, 4));
}

#[tokio::test]
async fn e_107_a_policy_that_makes_no_sense_is_refused_at_the_start() {
    let wrong = [
        (RetryPolicy::new().max_attempts(0), "max_attempts must be at least 1, not 0"),
        (RetryPolicy::new().backoff_coefficient(0.0), "backoff_coefficient"),
    ];
    for (policy, message) in wrong {
        let error = TestEnv::start(move |app| {
            app.register_activity(Activity::new(flaky).retry(policy.clone()))
        });
        let error = error.await.unwrap_err().to_string();
        assert!(error.starts_with("the retry policy of activity flaky: "), "{error}");
        assert!(error.contains(message), "{error}");
    }
}

#[tokio::test]
async fn e_110_a_retry_in_progress_is_seen() {
    let (env, notes) = env(None, None).await;
    let run = env.client().start(plain, ALWAYS).await.unwrap();
    eventually(&env, || notes.count("flaky") == 2).await;
    env.wait(Duration::from_millis(100)).await;
    let described = run.describe().await.unwrap();
    let pending = &described.pending_activities[0];
    assert_eq!(pending.attempt, 3);
    assert_eq!(pending.last_failure.as_ref().unwrap().message, "Network timeout");
    assert!(pending.next_attempt_schedule_time.is_some());
}

/// Runs for a minute, and notes when two run at once.
#[expect(clippy::disallowed_methods, reason = "virtual time")]
async fn long(ctx: steadfast::ActivityContext, (): ()) -> Result<String, Failure> {
    let notes = ctx.state::<Notes>().expect("notes");
    let running = ctx.state::<std::sync::atomic::AtomicI32>().expect("a counter");
    if running.fetch_add(1, std::sync::atomic::Ordering::SeqCst) > 0 {
        notes.leave("two at once");
    }
    notes.leave("begun");
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    tokio::time::sleep_until(until).await;
    running.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
    if ctx.attempt() < 4 { Err(Failure::new("again")) } else { Ok("done".to_owned()) }
}

async fn patient(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    Ok(ctx.activity(long, ()).await?)
}

#[tokio::test]
async fn e_69_e_103_work_of_a_dead_process_is_taken_up_at_once_and_by_one_only() {
    let notes = Notes::default();
    let kept = notes.clone();
    let mut env = TestEnv::start(move |app| {
        app.workflow(patient)
            .activity(long)
            .state(kept.clone())
            .state(std::sync::atomic::AtomicI32::new(0))
    })
    .await
    .unwrap();
    let run = env.client().start(patient, ()).id("w").await.unwrap();
    env.wait(Duration::from_secs(90)).await;
    // The second attempt is under way. The next one comes as the policy says, not after a lease.
    env.crash().await.unwrap();
    assert_eq!(env.client().workflow::<String>(run.workflow_id()).result().await.unwrap(), "done");
    assert_eq!(notes.seconds(), [0.0, 61.0, 92.0, 156.0]);
    assert_eq!(notes.count("two at once"), 0);
}
