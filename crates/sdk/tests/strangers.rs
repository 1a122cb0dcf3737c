//! Code that waits for what is not durable: it is told so, instead of waiting for ever.

#![expect(clippy::disallowed_methods, reason = "it is about code that does what it should not")]

use std::{cell::Cell, rc::Rc, time::Duration};

use steadfast::{
    Failure, Workflow, WorkflowContext,
    proto::history::{HistoryEvent, history_event::Attributes as E},
    testing::TestEnv,
};

const MINUTE: Duration = Duration::from_secs(60);

/// The runtime's own timer, of which history knows nothing.
async fn asleep(_: WorkflowContext, (): ()) -> Result<String, Failure> {
    tokio::time::sleep(MINUTE).await;
    Ok("awake".to_owned())
}

/// An activity was begun, and is not what is waited for.
async fn distracted(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let timer = ctx.sleep(MINUTE);
    tokio::time::sleep(MINUTE).await;
    timer.await?;
    Ok("awake".to_owned())
}

/// A timeout of the runtime around what is durable.
async fn impatient(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let mut words = ctx.signals::<String>("word");
    match tokio::time::timeout(MINUTE, words.receive()).await {
        Ok(word) => Ok(word?),
        Err(_) => Ok("too late".to_owned()),
    }
}

async fn durable(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    ctx.sleep(MINUTE).await?;
    Ok("awake".to_owned())
}

/// An application whose workflow `it` is this one at first, and the durable one later.
async fn open(first: Workflow) -> (TestEnv, Rc<Cell<bool>>) {
    let is_mended = Rc::new(Cell::new(false));
    let its = Rc::clone(&is_mended);
    let first = first.named("it");
    let build = move |app: steadfast::AppBuilder| {
        let mended = Workflow::new(durable).named("it");
        app.register_workflow(if its.get() { mended } else { first.clone() })
    };
    (TestEnv::start(build).await.expect("it opens"), is_mended)
}

fn complaint(events: &[HistoryEvent]) -> Option<String> {
    let failed = events.iter().rev().find_map(|event| match &event.attributes {
        Some(E::WorkflowTaskFailedEventAttributes(it)) => it.failure.clone(),
        _ => None,
    });
    failed.map(|it| it.message)
}

fn is_of_strangers(complaint: Option<String>) -> bool {
    complaint.is_some_and(|words| {
        words.contains("waits for something that is not durable") && words.contains("ctx.sleep")
    })
}

#[tokio::test(start_paused = true)]
async fn code_that_waits_for_nothing_durable_is_told_so_and_can_be_mended() {
    for wrong in [Workflow::new(asleep), Workflow::new(distracted)] {
        let (mut env, is_mended) = open(wrong).await;
        let run = env.client().start_named::<String>("it", &()).id("w").await.unwrap();
        env.wait(Duration::from_secs(1)).await;
        assert!(is_of_strangers(complaint(&run.history().await.unwrap())));
        is_mended.set(true);
        env.crash().await.unwrap();
        let run = env.client().workflow::<String>("w");
        assert_eq!(run.result().await.unwrap(), "awake");
    }
}

#[tokio::test(start_paused = true)]
async fn so_is_code_that_somebody_else_has_woken() {
    let (env, _) = open(Workflow::new(impatient)).await;
    let run = env.client().start_named::<String>("it", &()).id("w").await.unwrap();
    env.wait(MINUTE * 2).await;
    assert_eq!(complaint(&run.history().await.unwrap()), None, "it has not been asked since");
    run.signal("word", &"hello").await.unwrap();
    env.wait(Duration::from_secs(1)).await;
    assert!(is_of_strangers(complaint(&run.history().await.unwrap())));
}

/// A handler and the code that waits for it may talk as they like.
async fn told_by_handler(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let (sender, mut told) = tokio::sync::mpsc::unbounded_channel();
    ctx.on_update("tell", move |ctx: WorkflowContext, word: String| {
        let sender = sender.clone();
        async move {
            ctx.sleep(MINUTE).await?;
            sender.send(word).map_err(|_| Failure::new("nobody listens"))
        }
    });
    told.recv().await.ok_or_else(|| Failure::new("nobody talks"))
}

#[tokio::test(start_paused = true)]
async fn what_stays_within_a_workflow_is_none_of_it() {
    let build = |app: steadfast::AppBuilder| app.workflow(told_by_handler);
    let mut env = TestEnv::start(build).await.unwrap();
    let run = env.client().start(told_by_handler, ()).id("w").await.unwrap();
    env.wait(MINUTE).await;
    env.crash().await.unwrap();
    drop(run);
    let run = env.client().workflow::<String>("w");
    run.update::<()>("tell", &"hello").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "hello");
    assert_eq!(complaint(&run.history().await.unwrap()), None);
}
