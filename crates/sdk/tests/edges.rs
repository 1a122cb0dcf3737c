//! Moments in which two things meet: the beginning of something and its cancellation, an update and the
//! end of its workflow, the end of a history and code that has not seen it.

use std::time::Duration;

use steadfast::{
    ClientError, Failure, Replayer, WorkflowContext,
    proto::{
        enums::EventType,
        history::{HistoryEvent, WorkflowExecutionTerminatedEventAttributes},
    },
    select,
    testing::TestEnv,
};

use crate::common::{count, kinds};

async fn idle(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    Ok(ctx.sleep(Duration::from_secs(3600)).await?)
}

/// A child loses at once against nothing at all, and a scope is cancelled before it has begun.
async fn hasty(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let first = select! {
        _ = ctx.child(idle, ()) => "child",
        () = std::future::ready(()) => "nothing",
    };
    let scope = ctx.scope();
    let child = scope.child(idle, ()).into_future();
    let (ended, ()) = steadfast::join!(child, async { scope.cancel() });
    Ok(format!("{first}, {}", ended.is_err_and(|error| Failure::from(error).is_cancelled())))
}

#[tokio::test]
async fn a_child_that_is_cancelled_where_it_is_begun_never_begins() {
    let env = TestEnv::start(|app| app.workflow(hasty).workflow(idle)).await.unwrap();
    let run = env.client().start(hasty, ()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "nothing, true");
    let events = run.history().await.unwrap();
    assert_eq!(count(&events, EventType::StartChildWorkflowExecutionInitiated), 0);
    assert_eq!(count(&events, EventType::WorkflowTaskFailed), 0, "{:?}", kinds(&events));
    Replayer::new().workflow(hasty).replay(events).unwrap();
}

async fn pause((): ()) -> Result<(), Failure> {
    #[expect(clippy::disallowed_methods, reason = "time is virtual")]
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(())
}

/// Takes updates until it is told to stop, then goes on as new, for so many runs. In its first two
/// seconds it is busy with a task: what comes then comes with the next one, together.
async fn counter(ctx: WorkflowContext, runs: u32) -> Result<u32, Failure> {
    ctx.on_update("slowly", |ctx: WorkflowContext, number: u32| async move {
        ctx.sleep(Duration::from_secs(5)).await?;
        Ok::<_, Failure>(number)
    });
    ctx.on_update("at once", |_, number: u32| async move { Ok::<_, Failure>(number) });
    ctx.local_activity(pause, ()).await?;
    ctx.signals::<()>("stop").receive().await?;
    ctx.handlers_done().await;
    if runs > 1 {
        return ctx.continue_as_new(&(runs - 1));
    }
    Ok(runs)
}

#[tokio::test]
async fn an_update_reaches_a_workflow_that_the_worker_does_not_keep() {
    for cached in [0, 1000] {
        let build = move |app: steadfast::AppBuilder| {
            app.workflow(counter).activity(pause).cached_workflows(cached)
        };
        let env = TestEnv::start(build).await.unwrap();
        let run = env.client().start(counter, 1).await.unwrap();
        env.wait(Duration::from_secs(3)).await;
        assert_eq!(run.update::<u32>("at once", &7).await.unwrap(), 7, "{cached} kept");
        assert_eq!(run.update::<u32>("slowly", &8).await.unwrap(), 8, "{cached} kept");
    }
}

#[tokio::test]
async fn an_update_that_comes_with_the_end_of_a_run_goes_to_the_next_one() {
    let env = TestEnv::start(|app| app.workflow(counter).activity(pause)).await.unwrap();
    let first = env.client().start(counter, 2).id("w").await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    let run = env.client().workflow::<u32>("w");
    let (stopped, updated) = tokio::join!(run.signal("stop", &()), run.update::<u32>("slowly", &7));
    stopped.unwrap();
    assert_eq!(updated.unwrap(), 7);
    let ended = first.history().await.unwrap();
    assert_eq!(count(&ended, EventType::WorkflowTaskStarted), 2, "{:?}", kinds(&ended));
    assert_eq!(count(&ended, EventType::WorkflowExecutionUpdateAccepted), 0);
    assert_eq!(count(&run.history().await.unwrap(), EventType::WorkflowExecutionUpdateAccepted), 1);
}

#[tokio::test]
async fn an_update_that_comes_with_the_end_is_done_at_once_or_not_accepted() {
    for (name, is_done) in [("at once", true), ("slowly", false)] {
        let env = TestEnv::start(|app| app.workflow(counter).activity(pause)).await.unwrap();
        let run = env.client().start(counter, 1).await.unwrap();
        env.wait(Duration::from_secs(1)).await;
        let (stopped, updated) = tokio::join!(run.signal("stop", &()), run.update::<u32>(name, &7));
        stopped.unwrap();
        match updated {
            Ok(7) if is_done => {}
            Err(ClientError::NotFound(_)) if !is_done => {}
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(run.result().await.unwrap(), 1);
        let events = run.history().await.unwrap();
        let accepted = count(&events, EventType::WorkflowExecutionUpdateAccepted);
        assert_eq!(accepted, usize::from(is_done), "{:?}", kinds(&events));
        Replayer::new().workflow(counter).replay(events).unwrap();
    }
}

async fn changed(ctx: WorkflowContext, (): ()) -> Result<(), Failure> {
    assert!(ctx.patched("all along"), "there is no older code");
    ctx.signals::<()>("stop").receive().await?;
    panic!("nobody has asked it what it does then");
}

#[tokio::test]
async fn a_replay_does_not_show_the_code_what_it_was_never_asked_about() {
    let env = TestEnv::start(|app| app.workflow(changed)).await.unwrap();
    let run = env.client().start(changed, ()).await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    let mut events = run.history().await.unwrap();
    let asked = 1 + events
        .iter()
        .position(|event| event.event_type() == EventType::WorkflowTaskStarted)
        .expect("it was asked");
    let replayer = Replayer::new().workflow(changed);
    replayer.replay(events.clone()).unwrap();
    // Ended before it had answered for the first time.
    events.truncate(asked);
    events.push(HistoryEvent {
        event_id: i64::try_from(asked).expect("a small number") + 1,
        event_type: EventType::WorkflowExecutionTerminated.into(),
        attributes: Some(WorkflowExecutionTerminatedEventAttributes::default().into()),
        ..HistoryEvent::default()
    });
    replayer.replay(events).unwrap();
}
