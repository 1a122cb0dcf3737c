//! Messages that start their workflow, and what else can be said at a start.

use std::time::Duration;

use steadfast::{
    ActivityContext, ActivityToken, ClientError, Failure, Priority, Replayer, StateCell, Workflow,
    WorkflowContext, WorkflowError, WorkflowExecutionStatus, WorkflowIdConflictPolicy,
    proto::{enums::EventType, history::history_event::Attributes},
    testing::TestEnv,
};

use crate::common::{Notes, count, eventually};

async fn cart(ctx: WorkflowContext, owner: String) -> Result<Vec<String>, Failure> {
    let things = StateCell::new(Vec::<String>::new());
    let (kept, seen) = (things.clone(), things.clone());
    ctx.on_update_if(
        "add",
        |thing: &String| if thing == "boat" { Err(Failure::new("too big")) } else { Ok(()) },
        move |ctx: WorkflowContext, thing: String| {
            let things = kept.clone();
            async move {
                ctx.sleep(Duration::from_secs(1)).await?;
                Ok::<_, Failure>(things.change(|all| {
                    all.push(thing);
                    all.len()
                }))
            }
        },
    );
    ctx.until(move || seen.with(Vec::len) >= 2).await;
    Ok(things.get().into_iter().map(|thing| format!("{owner}'s {thing}")).collect())
}

#[tokio::test]
async fn an_update_starts_its_workflow_if_it_is_not_there() {
    let mut env = TestEnv::start(|app| app.workflow(cart)).await.unwrap();
    let start = || env.client().start(cart, "Ada").id("cart");
    let (first, things) = start().with_update::<usize>("add", &"lamp").await.unwrap();
    assert_eq!(things, 1);
    let refused = start().with_update::<usize>("add", &"boat").await.unwrap_err();
    assert!(matches!(&refused, ClientError::Refused(it) if it.message() == "too big"), "{refused}");
    let there = start().id_conflict(WorkflowIdConflictPolicy::Fail);
    let there = there.with_update::<usize>("add", &"desk").await.unwrap_err();
    let run_id = first.run_id().to_owned();
    assert!(matches!(there, ClientError::AlreadyStarted { run_id: it, .. } if it == run_id));
    env.crash().await.unwrap();
    let start = env.client().start(cart, "Ada").id("cart");
    let (second, things) = start.with_update::<usize>("add", &"desk").await.unwrap();
    assert_eq!((things, second.run_id()), (2, run_id.as_str()));
    assert_eq!(second.result().await.unwrap(), ["Ada's lamp", "Ada's desk"]);
    Replayer::new().workflow(cart).replay(second.history().await.unwrap()).unwrap();
}

#[tokio::test]
async fn a_workflow_that_an_update_starts_goes_on_when_the_update_is_refused() {
    let env = TestEnv::start(|app| app.workflow(cart)).await.unwrap();
    let start = env.client().start(cart, "Ada").id("cart");
    let refused = start.with_update::<usize>("add", &"boat").await.unwrap_err();
    assert!(matches!(refused, ClientError::Refused(_)), "{refused}");
    let run = env.client().workflow::<Vec<String>>("cart");
    assert_eq!(run.update::<usize>("add", &"lamp").await.unwrap(), 1);
    let delayed = env.client().start(cart, "Bob").start_delay(Duration::from_secs(1));
    let never = delayed.with_update::<usize>("add", &"lamp").await.unwrap_err();
    assert!(never.to_string().contains("WorkflowStartDelay"), "{never}");
}

async fn listen(ctx: WorkflowContext, (): ()) -> Result<(u64, String), Failure> {
    let began = ctx.info().started_at;
    let word = ctx.signals::<String>("word").receive().await?;
    Ok((ctx.now().duration_since(began).unwrap_or_default().as_secs(), word))
}

#[tokio::test]
async fn a_signal_starts_its_workflow_later_if_told_so() {
    let env = TestEnv::start(|app| app.workflow(listen)).await.unwrap();
    let start = env.client().start(listen, ()).id("w");
    let start =
        start.start_delay(Duration::from_secs(50)).summary("listens").priority(Priority::level(1));
    let run = start.with_signal("word", &"yes").await.unwrap();
    assert_eq!(run.result().await.unwrap().1, "yes");
    let described = run.describe().await.unwrap();
    let info = described.workflow_execution_info.unwrap();
    assert_eq!(info.priority.unwrap().priority_key, 1);
    let summary = described.execution_config.unwrap().user_metadata.unwrap().summary.unwrap();
    assert_eq!(summary.data, b"\"listens\"");
    let start = env.client().start(listen, ()).id("w2");
    let open = start.await.unwrap();
    let again = env.client().start(listen, ()).id("w2");
    let again = again.id_conflict(WorkflowIdConflictPolicy::UseExisting);
    assert_eq!(again.with_signal("word", &"no").await.unwrap().run_id(), open.run_id());
    assert_eq!(open.result().await.unwrap().1, "no");
}

/// Leaves its token as a note.
async fn ask(ctx: ActivityContext, (): ()) -> Result<String, Failure> {
    ctx.state::<Notes>().expect("notes").leave(ctx.token().to_string());
    ctx.complete_later()
}

async fn asking(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    Ok(ctx.activity(ask, ()).heartbeat(Duration::from_secs(60)).await?)
}

#[tokio::test]
async fn an_activity_is_ended_from_elsewhere() {
    let notes = Notes::default();
    let kept = notes.clone();
    let env = TestEnv::start(move |app| app.workflow(asking).activity(ask).state(kept.clone()));
    let mut env = env.await.unwrap();
    let run = env.client().start(asking, ()).id("w").await.unwrap();
    eventually(&env, || notes.all().len() == 1).await;
    let token: ActivityToken = notes.all()[0].parse().unwrap();
    let activity = env.client().activity(token.clone());
    env.wait(Duration::from_secs(50)).await;
    assert!(!activity.heartbeat(&"half way").await.unwrap());
    env.wait(Duration::from_secs(50)).await;
    // It fails, and is tried again: the token of the first attempt is old then.
    activity.fail(Failure::new("a slip").of_type("Slip")).await.unwrap();
    eventually(&env, || notes.all().len() == 2).await;
    let old = activity.complete("too late").await.unwrap_err();
    assert!(matches!(old, ClientError::NotFound(_)), "{old}");
    let token: ActivityToken = notes.all()[1].parse().unwrap();
    env.client().activity(token).complete("yes").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "yes");

    env.client().start(asking, ()).id("w2").await.unwrap();
    eventually(&env, || notes.all().len() == 3).await;
    env.wait(Duration::from_secs(1)).await;
    // It is nobody's attempt in this process, so it does not end with it.
    env.crash().await.unwrap();
    env.wait(Duration::from_secs(30)).await;
    assert_eq!(notes.all().len(), 3);
    let run = env.client().workflow::<String>("w2");
    env.client().activity_by_id("w2", "1").complete("by id").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "by id");
}

/// Works until its worker stops.
async fn endless(ctx: ActivityContext, (): ()) -> Result<String, Failure> {
    if let Some(before) = ctx.last_heartbeat::<String>() {
        return Ok(format!("{}, attempt {}", before?, ctx.attempt()));
    }
    ctx.state::<Notes>().expect("notes").leave("begun");
    assert!(!ctx.is_worker_stopping());
    ctx.worker_stopping().await;
    assert!(ctx.is_worker_stopping());
    ctx.heartbeat("so far")?;
    Err(Failure::new("the worker stops"))
}

async fn working(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    Ok(ctx.activity(endless, ()).await?)
}

#[tokio::test]
async fn an_activity_hears_that_its_worker_stops() {
    let notes = Notes::default();
    let kept = notes.clone();
    let env =
        TestEnv::start(move |app| app.workflow(working).activity(endless).state(kept.clone()));
    let mut env = env.await.unwrap();
    env.client().start(working, ()).id("w").await.unwrap();
    eventually(&env, || notes.count("begun") == 1).await;
    env.restart().await.unwrap();
    let run = env.client().workflow::<String>("w");
    assert_eq!(run.result().await.unwrap(), "so far, attempt 2");
}

async fn mended(ctx: WorkflowContext, (): ()) -> Result<(u64, String), Failure> {
    let (seconds, word) = listen(ctx, ()).await?;
    Ok((seconds, word.to_uppercase()))
}

#[tokio::test]
async fn a_run_goes_back_to_an_event_and_can_be_deleted() {
    let env = TestEnv::start(|app| app.workflow(listen)).await.unwrap();
    let run = env.client().start(listen, ()).id("w").await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    run.signal("word", &"yes").await.unwrap();
    run.result().await.unwrap();
    // The signal comes after the first task, so it is carried over.
    let again = run.reset(4, "once more").await.unwrap();
    assert_ne!(again.run_id(), run.run_id());
    assert_eq!(again.result().await.unwrap().1, "yes");
    let events = again.history().await.unwrap();
    assert_eq!(count(&events, EventType::WorkflowExecutionSignaled), 1);
    let changed = Replayer::new().register_workflow(Workflow::new(mended).named("listen"));
    changed.replay(events).unwrap();
    assert_eq!(again.status().await.unwrap(), WorkflowExecutionStatus::Completed);
    let open = env.client().start(listen, ()).id("open").await.unwrap();
    assert_eq!(open.status().await.unwrap(), WorkflowExecutionStatus::Running);
    open.cancel_because("nobody speaks").await.unwrap();
    again.delete().await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    assert!(matches!(again.describe().await, Err(ClientError::NotFound(_))));
    let nobody = env.client().workflow::<()>("nobody").result().await.unwrap_err();
    assert!(matches!(nobody, WorkflowError::Client(ClientError::NotFound(_))), "{nobody}");
}

async fn counter(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    let total = StateCell::new(0);
    let kept = total.clone();
    ctx.on_update("add", move |ctx: WorkflowContext, number: u32| {
        let total = kept.clone();
        async move {
            ctx.sleep(Duration::from_secs(50)).summary("thinking").await?;
            Ok::<_, Failure>(total.change(|total| {
                *total += number;
                *total
            }))
        }
    });
    ctx.signals::<()>("stop").receive().await?;
    ctx.handlers_done().await;
    Ok(total.get())
}

#[tokio::test]
async fn updates_that_are_under_way_are_waited_for() {
    let mut env = TestEnv::start(|app| app.workflow(counter)).await.unwrap();
    let run = env.client().start(counter, ()).id("w").await.unwrap();
    let five = run.start_update::<u32>("add", &5).id("five").await.unwrap();
    let seven = run.start_update::<u32>("add", &7).await.unwrap();
    run.signal("stop", &()).await.unwrap();
    drop((five, seven));
    env.crash().await.unwrap();
    let run = env.client().workflow::<u32>("w");
    assert_eq!(run.update_handle::<u32>("five").result().await.unwrap(), 5);
    assert_eq!(run.result().await.unwrap(), 12);
    let events = run.history().await.unwrap();
    let timer = events.iter().find(|it| it.event_type() == EventType::TimerStarted).unwrap();
    let summary = timer.user_metadata.as_ref().unwrap().summary.as_ref().unwrap();
    assert_eq!(summary.data, b"\"thinking\"");
    Replayer::new().workflow(counter).replay(events).unwrap();
}

async fn nothing((): ()) -> Result<(), Failure> {
    Ok(())
}

async fn quick(_: WorkflowContext, (): ()) -> Result<(), Failure> {
    Ok(())
}

async fn ordered(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    let urgent = Priority::level(1).fairness("tenant-7", 2.0);
    ctx.activity(nothing, ()).priority(urgent).await?;
    ctx.activity(nothing, ()).await?;
    let child = ctx.child(quick, ()).priority(Priority::level(5));
    Ok(child.task_timeout(Duration::from_secs(20)).await?)
}

#[tokio::test]
async fn a_priority_is_that_of_the_call_or_of_the_workflow() {
    let env = TestEnv::start(|app| app.workflow(ordered).workflow(quick).activity(nothing));
    let env = env.await.unwrap();
    let start = env.client().start(ordered, ()).id("w").priority(Priority::level(2));
    let run = start.await.unwrap();
    run.result().await.unwrap();
    let events = run.history().await.unwrap();
    let said = events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(it)) => it.priority.clone(),
        Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(it)) => {
            assert_eq!(it.workflow_task_timeout.map(|it| it.seconds), Some(20));
            it.priority.clone()
        }
        _ => None,
    });
    let said: Vec<_> = said.map(|it| (it.priority_key, it.fairness_key)).collect();
    let said: Vec<_> = said.iter().map(|(key, fair)| (*key, fair.as_str())).collect();
    assert_eq!(said, [(1, "tenant-7"), (2, ""), (5, "")]);
    Replayer::new().workflow(ordered).replay(events).unwrap();
}
