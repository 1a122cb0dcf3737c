//! Local activities: run in the worker, within the workflow's step.

use std::time::Duration;

use steadfast::{
    ActivityContext, ActivityError, Failure, OnCancel, Replayer, RetryPolicy, TimeoutKind,
    Workflow, WorkflowContext, join_all, proto::enums::EventType, select, testing::TestEnv,
};

use crate::common::{ALWAYS, Notes, count, eventually, flaky, kinds, note};

async fn env(
    build: impl Fn(steadfast::AppBuilder) -> steadfast::AppBuilder + 'static,
) -> (TestEnv, Notes) {
    let notes = Notes::default();
    let kept = notes.clone();
    let env = TestEnv::start(move |app| {
        let app = app.activity(note).activity(flaky).activity(slow).activity(stubborn);
        build(app.activity(careless).state(kept.clone()))
    });
    (env.await.expect("it works"), notes)
}

/// Takes so many seconds.
async fn slow(ctx: ActivityContext, seconds: u64) -> Result<u64, Failure> {
    assert!(ctx.info().is_local && !ctx.info().workflow_type.is_empty());
    ctx.state::<Notes>().expect("notes").leave(format!("slow {seconds}"));
    sleep(seconds).await;
    ctx.state::<Notes>().expect("notes").leave(format!("done {seconds}"));
    Ok(seconds)
}

#[expect(clippy::disallowed_methods, reason = "virtual time")]
async fn sleep(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

async fn three(ctx: WorkflowContext, (): ()) -> Result<Vec<String>, Failure> {
    let calls = ["a", "b", "c"].map(|text| ctx.local_activity(note, text));
    let noted: Result<Vec<String>, ActivityError> = join_all(calls).await.into_iter().collect();
    let mut noted = noted?;
    noted.push(ctx.local_activity(flaky, 2).await?);
    Ok(noted)
}

#[tokio::test]
async fn a_step_with_local_activities_is_one_workflow_task() {
    let (env, notes) = env(|app| app.workflow(three)).await;
    let run = env.client().start(three, ()).id("w").await.unwrap();
    assert_eq!(run.result().await.unwrap(), ["a", "b", "c", "ok"]);
    assert_eq!(notes.count("flaky"), 3);
    let events = run.history().await.unwrap();
    assert_eq!(count(&events, EventType::WorkflowTaskCompleted), 1, "{:?}", kinds(&events));
    assert_eq!(count(&events, EventType::MarkerRecorded), 4);
    assert_eq!(count(&events, EventType::ActivityTaskScheduled), 0);
    Replayer::new().workflow(three).replay(events).unwrap();
    assert_eq!(notes.all().len(), 6, "a replay runs nothing");
}

async fn then_wait(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let began = ctx.now();
    ctx.local_activity(slow, 3).await?;
    let took = ctx.now().duration_since(began).unwrap_or_default().as_secs();
    ctx.sleep(Duration::from_secs(100)).await?;
    Ok(format!("took {took}s"))
}

#[tokio::test]
async fn what_is_in_history_is_not_run_again() {
    let (mut env, notes) = env(|app| app.workflow(then_wait)).await;
    env.client().start(then_wait, ()).id("w").await.unwrap();
    env.wait(Duration::from_secs(10)).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.result().await.unwrap(), "took 3s");
    assert_eq!(notes.all(), ["slow 3", "done 3"]);
    Replayer::new().workflow(then_wait).replay(run.history().await.unwrap()).unwrap();
}

#[tokio::test]
async fn what_is_not_in_history_is_run_again_after_a_crash() {
    let (mut env, notes) = env(|app| app.workflow(then_wait)).await;
    env.client().start(then_wait, ()).id("w").await.unwrap();
    eventually(&env, || notes.count("slow 3") == 1).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.result().await.unwrap(), "took 3s");
    assert_eq!(notes.all(), ["slow 3", "slow 3", "done 3"]);
}

async fn long(ctx: WorkflowContext, (): ()) -> Result<u64, Failure> {
    let mut words = ctx.signals::<String>("word");
    let slow = ctx.local_activity(slow, 35).start();
    let word = words.receive().await?;
    ctx.local_activity(note, word).await?;
    Ok(slow.await?)
}

#[tokio::test]
async fn a_long_one_keeps_its_task_and_the_run_hears_signals_meanwhile() {
    let (env, notes) = env(|app| app.workflow(long)).await;
    let run = env.client().start(long, ()).id("w").await.unwrap();
    eventually(&env, || notes.count("slow 35") == 1).await;
    run.signal("word", &"hello").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 35);
    assert_eq!(notes.all(), ["slow 35", "hello", "done 35"]);
    let events = run.history().await.unwrap();
    assert_eq!(count(&events, EventType::WorkflowTaskTimedOut), 0);
    assert!(count(&events, EventType::WorkflowTaskCompleted) >= 5, "{:?}", kinds(&events));
    Replayer::new().workflow(long).replay(events).unwrap();
}

async fn patient(ctx: WorkflowContext, failures: u32) -> Result<String, Failure> {
    let policy = RetryPolicy::new()
        .initial_interval(Duration::from_secs(1))
        .backoff_coefficient(4.0)
        .max_interval(Duration::from_secs(600))
        .max_attempts(5)
        .unlimited_duration();
    let call = ctx.local_activity(flaky, failures).retry(policy);
    match call.durable_wait_from(Duration::from_secs(10)).await {
        Err(ActivityError::RetryExhausted(error)) => {
            Ok(format!("{error}; {}", error.cause().error_type()))
        }
        done => Ok(done?),
    }
}

#[tokio::test]
async fn a_long_wait_between_attempts_is_a_timer_that_survives() {
    let (mut env, notes) = env(|app| app.workflow(patient)).await;
    env.client().start(patient, 4).id("w").await.unwrap();
    // Waits of 1 s and 4 s in the worker, then of 16 s and 64 s in history.
    env.wait(Duration::from_secs(15)).await;
    assert_eq!(notes.count("flaky"), 3);
    env.crash().await.unwrap();
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.result().await.unwrap(), "ok");
    assert_eq!(notes.seconds(), [0.0, 1.0, 5.0, 21.0, 85.0]);
    let events = run.history().await.unwrap();
    assert_eq!(count(&events, EventType::TimerStarted), 2, "{:?}", kinds(&events));
    assert_eq!(count(&events, EventType::MarkerRecorded), 3);
    Replayer::new().workflow(patient).replay(events).unwrap();
}

#[tokio::test]
async fn attempts_run_out_across_timers() {
    let (env, notes) = env(|app| app.workflow(patient)).await;
    let run = env.client().start(patient, ALWAYS).id("w").await.unwrap();
    assert_eq!(
        run.result().await.unwrap(),
        "Activity flaky failed after 5 attempts: Max attempts (5) reached; ConnectionError"
    );
    assert_eq!(notes.count("flaky"), 5);
    Replayer::new().workflow(patient).replay(run.history().await.unwrap()).unwrap();
}

async fn careless(word: String) -> Result<(), Failure> {
    match word.as_str() {
        "panic" => panic!("oh dear"),
        "final" => Err(Failure::terminal("never again")),
        other => Err(Failure::new(other)),
    }
}

async fn errors(ctx: WorkflowContext, (): ()) -> Result<Vec<String>, Failure> {
    let once = || RetryPolicy::new().max_attempts(1);
    let second = Duration::from_secs(1);
    let mut seen = Vec::new();
    for word in ["panic", "final"] {
        let error = ctx.local_activity(careless, word).retry(once()).await.expect_err("it fails");
        seen.push(error.failure().map(|it| format!("{it:?}")).unwrap_or_default());
    }
    let late = ctx.local_activity(slow, 5).start_to_close(second).retry(once());
    seen.push(format!(
        "{:?}",
        late.await.expect_err("it fails").failure().map(Failure::error_type).map(str::to_owned)
    ));
    let late = ctx.local_activity(slow, 5).schedule_to_close(second).await.expect_err("it fails");
    assert!(
        matches!(&late, ActivityError::Timeout(it) if it.kind() == TimeoutKind::ScheduleToClose)
    );
    let unknown =
        ctx.local_activity_named::<()>("nobody", &()).retry(once()).await.expect_err("it fails");
    seen.push(unknown.failure().map(|it| it.error_type().to_owned()).unwrap_or_default());
    let wrong = ctx.local_activity(note, "x").retry(RetryPolicy::new().max_attempts(0));
    seen.push(wrong.await.expect_err("it fails").to_string());
    Ok(seen)
}

#[tokio::test]
async fn errors_are_those_of_any_activity() {
    let (env, _) = env(|app| app.workflow(errors)).await;
    let run = env.client().start(errors, ()).id("w").await.unwrap();
    assert_eq!(
        run.result().await.unwrap(),
        [
            "PanicError: oh dear",
            "TerminalError: never again",
            "Some(\"Timeout\")",
            "UnknownActivity",
            "max_attempts must be at least 1, not 0",
        ]
    );
    Replayer::new().workflow(errors).replay(run.history().await.unwrap()).unwrap();
}

async fn race(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let won = select! {
        slow = ctx.local_activity(slow, 20) => format!("slow {}", slow?),
        quick = ctx.local_activity(slow, 2) => format!("quick {}", quick?),
    };
    ctx.local_activity(note, "after").await?;
    Ok(won)
}

#[tokio::test]
async fn the_loser_of_a_select_is_stopped() {
    let (env, notes) = env(|app| app.workflow(race)).await;
    let run = env.client().start(race, ()).id("w").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "quick 2");
    env.wait(Duration::from_secs(60)).await;
    assert_eq!(notes.all(), ["slow 20", "slow 2", "done 2", "after"]);
    let events = run.history().await.unwrap();
    assert_eq!(count(&events, EventType::MarkerRecorded), 2, "{:?}", kinds(&events));
    Replayer::new().workflow(race).replay(events).unwrap();
}

/// Needs a while to stop.
async fn stubborn(ctx: ActivityContext, (): ()) -> Result<(), Failure> {
    ctx.cancelled().await;
    sleep(2).await;
    ctx.state::<Notes>().expect("notes").leave("stopped");
    Err(ctx.check().expect_err("it is cancelled").into())
}

async fn cancelling(ctx: WorkflowContext, on_cancel: bool) -> Result<Vec<bool>, Failure> {
    let on_cancel = if on_cancel { OnCancel::Wait } else { OnCancel::Try };
    let scope = ctx.scope();
    // Cancelled in the turn in which it is asked for: it never runs.
    let never = scope.scope();
    let unborn = never.local_activity(slow, 1).on_cancel(on_cancel).start();
    let activity = never.activity(note, "never").on_cancel(on_cancel).start();
    never.cancel();
    let mut seen = vec![unborn.await.expect_err("it fails").is_cancelled()];
    seen.push(activity.await.expect_err("it fails").is_cancelled());
    let stopped = scope.local_activity(stubborn, ()).on_cancel(on_cancel).start();
    ctx.local_activity(slow, 3).await?;
    scope.cancel();
    seen.push(stopped.await.expect_err("it fails").is_cancelled());
    seen.push(scope.local_activity(slow, 1).await.expect_err("it fails").is_cancelled());
    Ok(seen)
}

#[tokio::test]
async fn a_cancelled_scope_stops_them_or_waits_for_them() {
    for (waits, noted) in
        [(true, &["slow 3", "done 3", "stopped"][..]), (false, &["slow 3", "done 3"])]
    {
        let (env, notes) = env(|app| app.workflow(cancelling)).await;
        let run = env.client().start(cancelling, waits).id("w").await.unwrap();
        assert_eq!(run.result().await.unwrap(), [true; 4], "{waits}");
        assert_eq!(notes.all(), noted);
        Replayer::new().workflow(cancelling).replay(run.history().await.unwrap()).unwrap();
    }
}

async fn in_update(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.on_update("note", |ctx: WorkflowContext, text: String| async move {
        ctx.local_activity(slow, 12).await?;
        Ok::<_, Failure>(ctx.local_activity(note, text).await?)
    });
    ctx.on_query("now", |(): ()| "here");
    ctx.sleep(Duration::from_secs(100)).await?;
    Ok(())
}

#[tokio::test]
async fn updates_may_use_them_and_queries_are_answered() {
    let (env, _) = env(|app| app.workflow(in_update)).await;
    let run = env.client().start(in_update, ()).id("w").await.unwrap();
    let updating = run.start_update::<String>("note", &"x").id("u-1");
    let updating = updating.await.unwrap();
    assert_eq!(run.query::<String>("now", &()).await.unwrap(), "here");
    assert_eq!(updating.id(), "u-1");
    assert_eq!(updating.result().await.unwrap(), "x");
    let again = run.update_handle::<String>("u-1");
    assert_eq!(again.result().await.unwrap(), "x");
    run.result().await.unwrap();
    Replayer::new().workflow(in_update).replay(run.history().await.unwrap()).unwrap();
}

async fn three_of_today(ctx: WorkflowContext, (): ()) -> Result<Vec<String>, Failure> {
    ctx.local_activity(flaky, 0).await?;
    Ok(Vec::new())
}

#[tokio::test]
async fn code_that_asks_for_another_one_is_told_so() {
    let (env, _) = env(|app| app.workflow(three)).await;
    let run = env.client().start(three, ()).id("w").await.unwrap();
    run.result().await.unwrap();
    let changed = Replayer::new().register_workflow(Workflow::new(three_of_today).named("three"));
    let broken = changed.replay(run.history().await.unwrap()).unwrap_err().to_string();
    assert_eq!(
        broken,
        "non-determinism at event 5: history has local activity \"note\", the code asks for local \
         activity \"flaky\""
    );
}

async fn hold(ctx: WorkflowContext, (): ()) -> Result<u64, Failure> {
    Ok(ctx.local_activity(slow, 5).await?)
}

#[tokio::test]
async fn a_shutdown_waits_for_the_step() {
    let (mut env, notes) = env(|app| app.workflow(hold)).await;
    env.client().start(hold, ()).id("w").await.unwrap();
    eventually(&env, || notes.count("slow 5") == 1).await;
    env.restart().await.unwrap();
    assert_eq!(env.client().workflow::<u64>("w").result().await.unwrap(), 5);
    assert_eq!(notes.all(), ["slow 5", "done 5"]);
}

/// Local activities of all kinds, beside activities and timers.
async fn mixture(ctx: WorkflowContext, (): ()) -> Result<Vec<String>, Failure> {
    let long = ctx.local_activity(slow, 13).start();
    let other = ctx.activity(note, "beside").start();
    let policy = RetryPolicy::new().initial_interval(Duration::from_secs(2));
    let tried = ctx.local_activity(flaky, 3).retry(policy);
    let tried = tried.durable_wait_from(Duration::from_secs(3)).start();
    let first = select! {
        _ = ctx.sleep(Duration::from_secs(5)) => "timer",
        slow = ctx.local_activity(slow, 4) => { slow?; "local" },
    };
    let side: u64 = ctx.side_effect(|| 7)?;
    let (tried, other) = (tried.await?, other.await?);
    Ok(vec![first.to_owned(), tried, other, long.await?.to_string(), side.to_string()])
}

#[tokio::test]
async fn a_crash_at_any_second_changes_nothing() {
    for second in 0..30 {
        let (mut env, _) = env(|app| app.workflow(mixture)).await;
        env.client().start(mixture, ()).id("w").await.unwrap();
        env.wait(Duration::from_millis(second * 1000 + 137)).await;
        env.crash().await.unwrap();
        let run = env.client().workflow::<Vec<String>>("w");
        let told = run.result().await.unwrap();
        assert_eq!(told, ["local", "ok", "beside", "13", "7"], "at {second}");
        let events = run.history().await.unwrap();
        Replayer::new().workflow(mixture).replay(events.clone()).unwrap();
        // As it was whenever the code was asked.
        for (at, event) in events.iter().enumerate() {
            if event.event_type() == EventType::WorkflowTaskStarted {
                let begun = Replayer::new().workflow(mixture).replay(events[..=at].to_vec());
                assert!(begun.is_ok(), "{second}, {at}: {begun:?}");
            }
        }
    }
}
