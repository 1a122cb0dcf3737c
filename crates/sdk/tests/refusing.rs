//! Updates that a workflow refuses: they leave no trace, and the code goes on where it was.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use steadfast::{
    ClientError, Failure, Replayer, StateCell, WorkflowContext, WorkflowHandle, select,
    testing::TestEnv,
};

/// How often the code of `gate` began: a replay begins it again.
static BEGINS: AtomicUsize = AtomicUsize::new(0);

/// Opens once it has a key, and closes after a day.
async fn gate(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    BEGINS.fetch_add(1, Ordering::Relaxed);
    let (has_key, passed) = (StateCell::new(false), StateCell::new(0_u32));
    let (key, count) = (has_key.clone(), passed.clone());
    ctx.on_update_if(
        "pass",
        move |_: &String| if key.get() { Ok(()) } else { Err(Failure::new("it is locked")) },
        move |_: WorkflowContext, _: String| {
            let count = count.clone();
            async move {
                Ok::<_, Failure>(count.change(|count| {
                    *count += 1;
                    *count
                }))
            }
        },
    );
    let shown = passed.clone();
    ctx.on_query("passed", move |(): ()| shown.get());
    let mut keys = ctx.signals::<()>("key");
    let mut day = ctx.sleep(Duration::from_secs(86_400));
    select! {
        key = keys.receive() => { key?; has_key.set(true); day.await?; },
        end = &mut day => end?,
    }
    Ok(passed.get())
}

async fn is_refused(run: &WorkflowHandle<u32>, id: &str) {
    let asked = run.start_update::<u32>("pass", &"ann").id(id).await.expect("asked");
    let refused = asked.result().await.expect_err("it is locked");
    let is_locked =
        matches!(&refused, ClientError::Refused(why) if why.message() == "it is locked");
    assert!(is_locked, "{refused}");
}

#[tokio::test]
async fn a_refused_update_leaves_no_trace_and_may_be_asked_again() {
    let mut env = TestEnv::start(|app| app.workflow(gate)).await.unwrap();
    env.client().start(gate, ()).id("w").await.unwrap();
    let run = env.client().workflow::<u32>("w");
    assert_eq!(run.query::<u32>("passed", &()).await.unwrap(), 0);
    let before = run.history().await.unwrap();
    for _ in 0..3 {
        is_refused(&run, "u").await;
    }
    assert_eq!(run.history().await.unwrap(), before);
    assert_eq!(run.query::<u32>("passed", &()).await.unwrap(), 0);

    run.signal("key", &()).await.unwrap();
    let passed = run.start_update::<u32>("pass", &"ann").id("u").await.unwrap();
    assert_eq!(passed.result().await.unwrap(), 1);
    assert_eq!(BEGINS.load(Ordering::Relaxed), 1, "the code was asked where it was");

    env.crash().await.unwrap();
    let run = env.client().workflow::<u32>("w");
    assert_eq!(run.update::<u32>("pass", &"bob").await.unwrap(), 2);
    assert_eq!(run.result().await.unwrap(), 2);
    Replayer::new().workflow(gate).replay(run.history().await.unwrap()).unwrap();
}

/// Lets nobody pass, and waits for nothing but its end.
async fn wall(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    let no = |_: &String| Err(Failure::new("it is locked"));
    ctx.on_update_if("pass", no, |_: WorkflowContext, _: String| async { Ok::<_, Failure>(0) });
    ctx.on_query("passed", |(): ()| 0);
    ctx.signals::<()>("end").receive().await?;
    Ok(0)
}

#[tokio::test]
async fn a_refused_update_does_not_end_a_delay() {
    let env = TestEnv::start(|app| app.workflow(wall)).await.unwrap();
    let delay = Duration::from_secs(60);
    let run = env.client().start(wall, ()).start_delay(delay).await.unwrap();
    is_refused(&run, "u").await;
    assert_eq!(run.history().await.unwrap().len(), 1);
    assert_eq!(env.elapsed(), Duration::ZERO);
    env.wait(delay).await;
    assert_eq!(run.query::<u32>("passed", &()).await.unwrap(), 0);
}
