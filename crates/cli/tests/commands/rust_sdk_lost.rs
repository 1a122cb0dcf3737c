//! Workers of the Rust SDK that die at a server, in whose activities nothing is said about time. On the
//! real clock: the server is a real process.

use std::{future::pending, time::Duration};

use steadfast::{
    ActivityContext, ActivityToken, App, Failure, RetryPolicy, WorkflowContext, WorkflowHandle,
    proto::history::history_event::Attributes as E,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::rig::Dev;

/// After so much silence a worker counts as lost.
const LOST: Duration = Duration::from_secs(2);

/// Where attempts are told when they begin.
type Begun = UnboundedSender<ActivityToken>;

fn begin(ctx: &ActivityContext) {
    let begun = ctx.state::<Begun>().expect("somebody wants to know");
    begun.send(ctx.token()).expect("somebody listens");
}

/// The first attempt is never done with it.
async fn pack(ctx: ActivityContext, (): ()) -> Result<u32, Failure> {
    begin(&ctx);
    if ctx.attempt() == 1 {
        pending::<()>().await;
    }
    Ok(ctx.attempt())
}

/// The first attempt says how far it is, the second is silent for long, the third tells what it heard.
async fn copy(ctx: ActivityContext, (): ()) -> Result<u32, Failure> {
    match ctx.attempt() {
        1 => ctx.heartbeat(&7)?,
        2 => silence().await,
        attempt => {
            let heard: u32 = ctx.last_heartbeat().expect("the first said it")?;
            return Ok(attempt * 100 + heard);
        }
    }
    Err(Failure::new("the disk is full"))
}

/// Holds its thread for long, and that of whoever waits behind it.
async fn press(ctx: ActivityContext, (): ()) -> Result<u32, Failure> {
    #[expect(clippy::disallowed_methods, reason = "what some code does")]
    std::thread::sleep(LOST * 2);
    Ok(ctx.attempt())
}

/// The same, and it says how far it is, which is to be heard.
async fn print(ctx: ActivityContext, (): ()) -> Result<u32, Failure> {
    for page in 0..20 {
        ctx.heartbeat(&page)?;
        #[expect(clippy::disallowed_methods, reason = "what some code does")]
        std::thread::sleep(LOST / 10);
    }
    Ok(ctx.attempt())
}

async fn ask(ctx: ActivityContext, (): ()) -> Result<u32, Failure> {
    begin(&ctx);
    ctx.complete_later()
}

async fn packing(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    Ok(ctx.activity(pack, ()).retry(soon()).await?)
}

async fn pressing(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    let printed = ctx.activity(print, ()).retry(soon()).heartbeat(LOST).await?;
    Ok(printed * 10 + ctx.activity(press, ()).retry(soon()).await?)
}

async fn copying(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    Ok(ctx.activity(copy, ()).retry(soon()).await?)
}

async fn asking(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    Ok(ctx.activity(ask, ()).retry(soon()).await?)
}

fn soon() -> RetryPolicy {
    RetryPolicy::new().max_attempts(5).initial_interval(Duration::from_millis(10))
}

#[expect(clippy::disallowed_methods, reason = "the server's clock is real")]
async fn silence() {
    tokio::time::sleep(LOST * 2).await;
}

async fn app(address: &str) -> (App, UnboundedReceiver<ActivityToken>) {
    let (begun, begins) = unbounded_channel();
    let app = App::builder(address)
        .workflow(packing)
        .workflow(pressing)
        .workflow(copying)
        .workflow(asking)
        .activity(pack)
        .activity(press)
        .activity(print)
        .activity(copy)
        .activity(ask)
        .state::<Begun>(begun)
        .lost_after(LOST)
        .start();
    (app.await.expect("it starts"), begins)
}

/// The number of the attempt that ended the only activity.
async fn attempts(run: &WorkflowHandle<u32>) -> i32 {
    let events = run.history().await.expect("a history");
    let started = events.iter().find_map(|event| match &event.attributes {
        Some(E::ActivityTaskStartedEventAttributes(started)) => Some(started.attempt),
        _ => None,
    });
    started.expect("it was started")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_worker_is_gone_is_tried_again_soon() {
    let dev = Dev::start();
    let (first, mut begins) = app(&dev.address).await;
    first.client().start(packing, ()).id("packing").await.unwrap();
    begins.recv().await.expect("it begins");
    drop(first);
    let (second, _begins) = app(&dev.address).await;
    let run: WorkflowHandle<u32> = second.client().workflow("packing");
    assert_eq!(run.result().await.unwrap(), 2);
    second.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_heard_of_while_its_code_is_silent() {
    let dev = Dev::start();
    let (app, _begins) = app(&dev.address).await;
    let run = app.client().start(copying, ()).id("copying").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 307, "a sign of life takes away nothing that was said");
    app.shutdown().await;
}

/// One thread for everything: while code holds it, nothing else of the runtime is done.
#[tokio::test]
async fn a_worker_is_heard_of_while_its_code_holds_the_only_thread() {
    let dev = Dev::start();
    let (app, _begins) = app(&dev.address).await;
    let run = app.client().start(pressing, ()).id("pressing").await.unwrap();
    assert_eq!(run.result().await.unwrap(), 11, "each was done at its first attempt");
    app.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_to_somebody_else_outlives_its_worker() {
    let dev = Dev::start();
    let (first, mut begins) = app(&dev.address).await;
    let run = first.client().start(asking, ()).id("asking").await.unwrap();
    let token = begins.recv().await.expect("it begins");
    // It has said that it leaves it.
    let is_left = async || {
        let shown = run.describe().await.expect("it runs");
        shown.pending_activities[0].last_heartbeat_time.is_some()
    };
    while !is_left().await {}
    drop(first);
    silence().await;
    let (second, _begins) = app(&dev.address).await;
    second.client().activity(token).complete(&5).await.unwrap();
    let run: WorkflowHandle<u32> = second.client().workflow("asking");
    assert_eq!(run.result().await.unwrap(), 5);
    assert_eq!(attempts(&run).await, 1);
    second.shutdown().await;
}
