//! What a workflow's code can do, each also with a crash in between.

use std::time::Duration;

use steadfast::{
    ActivityError, App, ClientError, Failure, OnCancel, Replayer, StateCell, WorkflowContext,
    WorkflowError, WorkflowIdConflictPolicy, join_all, select, testing::TestEnv,
};

use crate::common::{ALWAYS, Notes, flaky, note};

async fn env(
    build: impl Fn(steadfast::AppBuilder) -> steadfast::AppBuilder + 'static,
) -> (TestEnv, Notes) {
    let notes = Notes::default();
    let kept = notes.clone();
    let env =
        TestEnv::start(move |app| build(app.activity(note).activity(flaky).state(kept.clone())));
    (env.await.expect("it works"), notes)
}

async fn approval(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let status = StateCell::new("waiting".to_owned());
    let shown = status.clone();
    ctx.on_query("status", move |(): ()| shown.get());
    let mut votes = ctx.signals::<String>("vote");
    let vote = select! {
        vote = votes.receive() => vote?,
        late = ctx.sleep(Duration::from_secs(3600)) => { late?; "nobody".to_owned() },
    };
    status.set(format!("voted {vote}"));
    ctx.sleep(Duration::from_secs(60)).await?;
    Ok(vote)
}

#[tokio::test]
async fn signals_and_queries() {
    let (mut env, _) = env(|app| app.workflow(approval)).await;
    env.client().start(approval, ()).id("w").await.unwrap();
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.query::<String>("status", &()).await.unwrap(), "waiting");
    env.crash().await.unwrap();
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.query::<String>("status", &()).await.unwrap(), "waiting");
    run.signal("vote", &"yes").await.unwrap();
    assert_eq!(run.query::<String>("status", &()).await.unwrap(), "voted yes");
    env.crash().await.unwrap();
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.query::<String>("status", &()).await.unwrap(), "voted yes");
    assert_eq!(run.result().await.unwrap(), "yes");
    // Also of a closed run.
    assert_eq!(run.query::<String>("status", &()).await.unwrap(), "voted yes");
    let unknown = run.query::<String>("weather", &()).await.unwrap_err();
    assert!(unknown.to_string().contains("KnownQueryTypes"), "{unknown}");
    Replayer::new().workflow(approval).replay(run.history().await.unwrap()).unwrap();
}

#[tokio::test]
async fn a_human_who_does_not_come_is_not_waited_for() {
    let (env, _) = env(|app| app.workflow(approval)).await;
    let run = env.client().start(approval, ()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "nobody");
    assert_eq!(env.elapsed().as_secs(), 3660);
}

#[tokio::test]
async fn a_signal_that_starts_its_workflow() {
    let (env, _) = env(|app| app.workflow(approval)).await;
    let run = env.client().start(approval, ()).id("w").with_signal("vote", &"yes").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "yes");
}

async fn counter(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    let total = StateCell::new(0);
    let kept = total.clone();
    ctx.on_update_if(
        "add",
        |add: &u32| if *add > 100 { Err(Failure::new("too much")) } else { Ok(()) },
        move |ctx: WorkflowContext, add: u32| {
            let total = kept.clone();
            async move {
                ctx.activity(note, format!("add {add}")).await?;
                Ok::<_, Failure>(total.change(|total| {
                    *total += add;
                    *total
                }))
            }
        },
    );
    let seen = total.clone();
    ctx.until(move || seen.get() >= 10).await;
    Ok(total.get())
}

#[tokio::test]
async fn updates_are_checked_recorded_and_answered() {
    let (mut env, notes) = env(|app| app.workflow(counter)).await;
    env.client().start(counter, ()).id("w").await.unwrap();
    let run = env.client().workflow::<u32>("w");
    assert_eq!(run.update::<u32>("add", &3).await.unwrap(), 3);
    let refused = run.update::<u32>("add", &101).await.unwrap_err();
    assert!(matches!(&refused, ClientError::Refused(failure) if failure.message() == "too much"));
    env.crash().await.unwrap();
    let run = env.client().workflow::<u32>("w");
    assert_eq!(run.update::<u32>("add", &4).await.unwrap(), 7);
    assert_eq!(run.update::<u32>("add", &5).await.unwrap(), 12);
    assert_eq!(run.result().await.unwrap(), 12);
    assert_eq!(notes.all(), ["add 3", "add 4", "add 5"]);
    Replayer::new().workflow(counter).replay(run.history().await.unwrap()).unwrap();
}

async fn child(ctx: WorkflowContext, name: String) -> Result<String, Failure> {
    if name == "bad" {
        return Err(Failure::new("no such child").of_type("Bad"));
    }
    ctx.sleep(Duration::from_secs(5)).await?;
    Ok(format!("child {name}"))
}

async fn parent(ctx: WorkflowContext, (): ()) -> Result<Vec<String>, Failure> {
    let one = ctx.child(child, "one").id("child-one").start().await?;
    let two = ctx.child(child, "two").await?;
    let bad = ctx.child(child, "bad").await.expect_err("it is bad").to_string();
    Ok(vec![one.result().await?, two, bad])
}

#[tokio::test]
async fn children_give_their_results_and_failures() {
    let (mut env, _) = env(|app| app.workflow(parent).workflow(child)).await;
    env.client().start(parent, ()).id("w").await.unwrap();
    env.wait(Duration::from_secs(2)).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<Vec<String>>("w");
    let told = run.result().await.unwrap();
    assert_eq!(told[..2], ["child one", "child two"]);
    assert!(told[2].ends_with("failed: no such child"), "{told:?}");
    Replayer::new().workflow(parent).replay(run.history().await.unwrap()).unwrap();
}

async fn countdown(ctx: WorkflowContext, left: u32) -> Result<String, Failure> {
    ctx.sleep(Duration::from_secs(1)).await?;
    if left == 0 {
        return Ok("liftoff".to_owned());
    }
    ctx.continue_as_new(&(left - 1))
}

#[tokio::test]
async fn a_workflow_goes_on_as_a_new_run() {
    let (env, _) = env(|app| app.workflow(countdown)).await;
    let run = env.client().start(countdown, 3).id("w").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "liftoff");
    assert_eq!(env.client().count("WorkflowId = 'w'").await.unwrap(), 4);
}

async fn fan_out(ctx: WorkflowContext, width: u32) -> Result<usize, Failure> {
    let calls = (0..width).map(|number| ctx.activity(note, format!("{number}")));
    let done: Result<Vec<String>, ActivityError> = join_all(calls).await.into_iter().collect();
    Ok(done?.len())
}

#[tokio::test]
async fn many_activities_at_once() {
    let (env, notes) = env(|app| app.workflow(fan_out)).await;
    let run = env.client().start(fan_out, 300).await.unwrap();
    assert_eq!(run.result().await.unwrap(), 300);
    assert_eq!(notes.all().len(), 300);
}

async fn chance(ctx: WorkflowContext, (): ()) -> Result<(String, u64, u32), Failure> {
    let first = (ctx.uuid().to_string(), ctx.random(), ctx.side_effect(|| 17)?);
    ctx.sleep(Duration::from_secs(10)).await?;
    let now = ctx.now();
    ctx.sleep(Duration::from_secs(10)).await?;
    let slept = ctx.now().duration_since(now).unwrap_or_default();
    if slept < Duration::from_secs(10) || slept > Duration::from_secs(11) {
        return Err(Failure::new(format!("slept {slept:?}")));
    }
    Ok(first)
}

#[tokio::test]
async fn p_20_time_chance_and_ids_are_free_and_the_same_at_replay() {
    let (mut env, _) = env(|app| app.workflow(chance)).await;
    env.client().start(chance, ()).id("w").await.unwrap();
    env.wait(Duration::from_secs(5)).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<(String, u64, u32)>("w");
    let (_, _, side) = run.result().await.unwrap();
    assert_eq!(side, 17);
    // Two timers and a marker, and nothing for ids, chance and time.
    let history = run.history().await.unwrap();
    let commands =
        history.iter().filter(|it| !format!("{:?}", it.event_type()).contains("Workflow"));
    assert_eq!(commands.count(), 5);
    Replayer::new().workflow(chance).replay(history).unwrap();
}

async fn old(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.sleep(Duration::from_secs(10)).await?;
    ctx.activity(note, "old").await?;
    Ok(())
}

async fn new(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    if ctx.patched("greet") {
        ctx.activity(note, "hello").await?;
    }
    ctx.sleep(Duration::from_secs(10)).await?;
    ctx.activity(note, "old").await?;
    Ok(())
}

#[tokio::test]
async fn a_patch_is_for_new_runs_only() {
    let version = std::rc::Rc::new(std::cell::Cell::new(1));
    let now = version.clone();
    let (mut env, notes) = env(move |app| match now.get() {
        1 => app.register_workflow(steadfast::Workflow::new(old).named("flow")),
        _ => app.register_workflow(steadfast::Workflow::new(new).named("flow")),
    })
    .await;
    env.client().start_named::<()>("flow", &()).id("before").await.unwrap();
    env.wait(Duration::from_secs(5)).await;
    version.set(2);
    env.crash().await.unwrap();
    env.client().workflow::<()>("before").result().await.unwrap();
    assert_eq!(notes.all(), ["old"]);
    let after = env.client().start_named::<()>("flow", &()).id("after").await.unwrap();
    after.result().await.unwrap();
    assert_eq!(notes.all(), ["old", "hello", "old"]);
    let replayer = Replayer::new().register_workflow(steadfast::Workflow::new(new).named("flow"));
    replayer.replay(after.history().await.unwrap()).unwrap();
}

async fn changed(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.activity(note, "first").await?;
    Ok(())
}

async fn shorter(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    ctx.sleep(Duration::from_secs(10)).await?;
    Ok(())
}

#[tokio::test]
async fn changed_code_is_told_which_event_it_contradicts() {
    let (env, _) =
        env(|app| app.register_workflow(steadfast::Workflow::new(old).named("flow"))).await;
    let run = env.client().start_named::<()>("flow", &()).await.unwrap();
    run.result().await.unwrap();
    let replayer =
        Replayer::new().register_workflow(steadfast::Workflow::new(changed).named("flow"));
    let error = replayer.replay(run.history().await.unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "non-determinism at event 5: history has TimerStarted of 10s, \
         the code asks for activity \"note\""
    );
    let replayer =
        Replayer::new().register_workflow(steadfast::Workflow::new(shorter).named("flow"));
    let error = replayer.replay(run.history().await.unwrap()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "non-determinism at event 10: history has ActivityTaskScheduled \"note\", the code completes"
    );
}

async fn booking(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    let mut saga = ctx.saga();
    for step in ["hotel", "flight"] {
        ctx.activity(note, format!("book {step}")).await?;
        saga.compensate_with(note, format!("cancel {step}"));
    }
    let policy = steadfast::RetryPolicy::new().max_attempts(2);
    match ctx.activity(flaky, ALWAYS).retry(policy).await {
        Ok(_) => Ok(()),
        Err(error) => Err(saga.undo(error).await),
    }
}

#[tokio::test]
async fn a_saga_undoes_in_reverse_and_survives_a_crash() {
    let (mut env, notes) = env(|app| app.workflow(booking)).await;
    env.client().start(booking, ()).id("w").await.unwrap();
    crate::common::eventually(&env, || notes.count("flaky") == 1).await;
    env.crash().await.unwrap();
    let error = env.client().workflow::<()>("w").result().await.unwrap_err();
    assert_eq!(error.failure().unwrap().error_type(), "RetryExhaustedError");
    assert_eq!(
        notes.all(),
        ["book hotel", "book flight", "flaky", "flaky", "cancel flight", "cancel hotel"]
    );
}

async fn cleaning(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    let waited = ctx.sleep(Duration::from_secs(3600)).await;
    ctx.shielded().activity(note, "clean up").await?;
    Ok(waited?)
}

#[tokio::test]
async fn p_16_a_cancelled_workflow_cleans_up() {
    let (mut env, notes) = env(|app| app.workflow(cleaning)).await;
    env.client().start(cleaning, ()).id("w").await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    env.crash().await.unwrap();
    let run = env.client().workflow::<()>("w");
    run.cancel().await.unwrap();
    assert!(matches!(run.result().await, Err(WorkflowError::Cancelled)));
    assert_eq!(notes.all(), ["clean up"]);
    Replayer::new().workflow(cleaning).replay(run.history().await.unwrap()).unwrap();
}

async fn scoped(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let scope = ctx.scope();
    let slow = scope.sleep(Duration::from_secs(3600));
    let waits = scope.activity(flaky, ALWAYS).on_cancel(OnCancel::Wait).start();
    ctx.sleep(Duration::from_secs(1)).await?;
    scope.cancel();
    let slow = slow.await.is_err();
    let waits = matches!(waits.await, Err(ActivityError::Cancelled(_)));
    let later = matches!(scope.activity(note, "never").await, Err(ActivityError::Cancelled(_)));
    ctx.activity(note, "outside").await?;
    Ok(format!("{slow} {waits} {later}"))
}

#[tokio::test]
async fn a_scope_is_cancelled_by_itself() {
    let (env, notes) = env(|app| app.workflow(scoped)).await;
    let run = env.client().start(scoped, ()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "true true true");
    assert_eq!(notes.count("never"), 0);
    assert_eq!(notes.count("outside"), 1);
    Replayer::new().workflow(scoped).replay(run.history().await.unwrap()).unwrap();
}

async fn signaller(ctx: WorkflowContext, to: String) -> Result<(), Failure> {
    ctx.external(to).signal("vote", "from afar").await
}

#[tokio::test]
async fn workflows_signal_each_other() {
    let (env, _) = env(|app| app.workflow(approval).workflow(signaller)).await;
    let run = env.client().start(approval, ()).id("w").await.unwrap();
    env.client().start(signaller, "w").await.unwrap().result().await.unwrap();
    assert_eq!(run.result().await.unwrap(), "from afar");
    let nobody = env.client().start(signaller, "nobody").await.unwrap().result().await.unwrap_err();
    assert_eq!(nobody.failure().unwrap().error_type(), "WorkflowNotFound");
}

#[tokio::test]
async fn an_id_that_is_taken_is_an_error_with_the_run() {
    let (env, _) = env(|app| app.workflow(approval)).await;
    let first = env.client().start(approval, ()).id("w").await.unwrap();
    let error = env.client().start(approval, ()).id("w").await.unwrap_err();
    let ClientError::AlreadyStarted { run_id, .. } = error else { panic!("{error}") };
    assert_eq!(run_id, first.run_id());
    let same = env.client().start(approval, ()).id("w");
    let same = same.id_conflict(WorkflowIdConflictPolicy::UseExisting).await.unwrap();
    assert_eq!(same.run_id(), first.run_id());
}

#[tokio::test]
async fn bad_starts_are_told_what_is_wrong() {
    let error = App::builder("orders.db").start().await.unwrap_err();
    assert!(error.to_string().contains("sqlite:<file>"), "{error}");
    let twice = App::builder("memory:").activity(note).activity(note).start().await.unwrap_err();
    assert_eq!(
        twice.to_string(),
        "activity note is registered twice: give one of them another name"
    );
}
