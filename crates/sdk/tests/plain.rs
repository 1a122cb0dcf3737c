//! Activities that are plain functions, and may hold their thread.

use std::{
    fmt::Debug,
    sync::{Arc, Barrier},
    time::Duration,
};

use steadfast::{
    ActivityContext, ActivityError, App, Failure, RetryPolicy, WorkflowContext, testing::TestEnv,
};

use crate::common::Notes;

/// Goes on when so many others have come as far.
fn meet(ctx: &ActivityContext, name: String) -> Result<String, Failure> {
    let barrier = ctx.state::<Arc<Barrier>>().ok_or_else(|| Failure::new("no barrier"))?;
    barrier.wait();
    Ok(name + " was there")
}

fn read(file: String) -> Result<String, std::io::Error> {
    std::fs::read_to_string(file)
}

/// Panics, then fails after it has said how far it came, then tells what it heard.
fn stumble(ctx: &ActivityContext, (): ()) -> Result<u32, Failure> {
    match ctx.attempt() {
        1 => panic!("a stone"),
        2 => {
            ctx.heartbeat(&7)?;
            Err(Failure::new("a root"))
        }
        _ => Ok(ctx.last_heartbeat::<u32>().expect("it was said")?),
    }
}

/// Runs until nobody wants it any more.
fn dig(ctx: &ActivityContext, (): ()) -> Result<(), Failure> {
    while ctx.check().is_ok() {
        std::thread::yield_now();
    }
    ctx.state::<Notes>().expect("notes").leave("heard");
    Err(Failure::new("it was in vain"))
}

async fn meeting(ctx: WorkflowContext, (): ()) -> Result<Vec<String>, Failure> {
    let guests = ["ann", "bob", "eve"].map(|name| ctx.activity(meet, name).start());
    let mut there = Vec::new();
    for guest in guests {
        there.push(guest.await?);
    }
    Ok(there)
}

async fn reading(ctx: WorkflowContext, file: String) -> Result<String, Failure> {
    Ok(cause(ctx.activity(read, file).retry(soon(1)).await))
}

/// Why there was no second attempt.
fn cause<T: Debug>(ended: Result<T, ActivityError>) -> String {
    match ended {
        Err(ActivityError::RetryExhausted(it)) => it.cause().to_string(),
        other => format!("{other:?}"),
    }
}

async fn stumbling(ctx: WorkflowContext, (): ()) -> Result<u32, Failure> {
    Ok(ctx.activity(stumble, ()).retry(soon(3)).await?)
}

async fn digging(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    let dig = ctx.activity(dig, ()).retry(soon(1)).start_to_close(Duration::from_millis(100));
    Ok(cause(dig.await))
}

fn soon(attempts: u32) -> RetryPolicy {
    RetryPolicy::new().max_attempts(attempts).initial_interval(Duration::from_millis(10))
}

/// There is one thread for everything else.
#[tokio::test]
async fn they_hold_their_own_threads_and_no_others() {
    let barrier = Arc::new(Barrier::new(3));
    let build = move |app: steadfast::AppBuilder| {
        app.workflow(meeting).activity(meet).state(Arc::clone(&barrier))
    };
    let env = TestEnv::start(build).await.unwrap();
    let meeting = env.client().start(meeting, ()).await.unwrap();
    let there = ["ann was there", "bob was there", "eve was there"];
    assert_eq!(meeting.result().await.unwrap(), there);
}

#[tokio::test]
async fn an_error_is_a_failure_like_any_other() {
    let env = TestEnv::start(|app| app.workflow(reading).activity(read)).await.unwrap();
    let reading = env.client().start(reading, "/no/such/file").await.unwrap();
    let cause = reading.result().await.unwrap();
    assert!(cause.contains("No such file or directory"), "{cause}");
}

#[tokio::test]
async fn a_panic_is_too_and_what_was_said_is_heard() {
    let env = TestEnv::start(|app| app.workflow(stumbling).activity(stumble)).await.unwrap();
    let stumbling = env.client().start(stumbling, ()).await.unwrap();
    assert_eq!(stumbling.result().await.unwrap(), 7);
}

/// On the real clock: virtual time stands still while somebody works.
#[tokio::test]
async fn one_that_took_too_long_is_told() {
    let notes = Notes::default();
    let app = App::builder("memory:").workflow(digging).activity(dig).state(notes.clone());
    let app = app.start().await.unwrap();
    let digging = app.client().start(digging, ()).await.unwrap();
    assert_eq!(digging.result().await.unwrap(), "activity StartToClose timeout");
    while notes.count("heard") == 0 {
        tokio::task::yield_now().await;
    }
    app.shutdown().await;
}
