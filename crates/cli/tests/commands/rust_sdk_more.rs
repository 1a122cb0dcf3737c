//! What the Rust SDK can do beyond activities and signals, at a server: the same as embedded.

use std::time::{Duration, SystemTime};

use steadfast::{
    ActivityContext, ActivityToken, App, ClientError, Code, Failure, Noted as _, Replayer,
    RetryPolicy, Schedule, ScheduleOverlapPolicy, ScheduleSpec, SearchAttributeType, StateCell,
    WorkflowContext,
};
use tokio::time::timeout;

use crate::rig::Dev;

async fn app(address: &str) -> App {
    App::builder(address)
        .workflow(cart)
        .workflow(local)
        .workflow(asking)
        .workflow(report)
        .activity(price)
        .activity(slow)
        .activity(ask)
        .task_queue("more")
        .start()
        .await
        .expect("it starts")
}

async fn cart(ctx: WorkflowContext, owner: String) -> Result<u32, Failure> {
    ctx.upsert_search_attribute("Stage", "open")?;
    ctx.upsert_memo("owner", &owner)?;
    let total = StateCell::new(0);
    let (kept, seen) = (total.clone(), total.clone());
    ctx.on_update_if(
        "add",
        |thing: &String| if thing == "boat" { Err(Failure::new("too big")) } else { Ok(()) },
        move |ctx: WorkflowContext, thing: String| {
            let total = kept.clone();
            async move {
                let price = ctx.local_activity(price, &thing).await?;
                Ok::<_, Failure>(total.change(|total| {
                    *total += price;
                    *total
                }))
            }
        },
    );
    ctx.until(move || seen.get() >= 20).await;
    ctx.remove_search_attribute("Stage");
    Ok(total.get())
}

async fn price(ctx: ActivityContext, thing: String) -> Result<u32, Failure> {
    if thing == "desk" && ctx.attempt() < 3 {
        return Err(Failure::new("the shop is closed"));
    }
    Ok(12)
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "a connection that nobody answers takes real time")]
async fn a_server_that_is_not_there_is_told_when_patience_ends() {
    let app =
        App::builder("127.0.0.1:1").workflow(cart).server_patience(Duration::from_millis(300));
    let app = app.start().await.expect("it starts, and its server may come");
    // Left to itself, it would be told after 30 s.
    let told = timeout(Duration::from_secs(15), app.client().start(cart, "Ada").into_future());
    let told = told.await.expect("it is told in time").expect_err("nobody is there");
    assert!(matches!(&told, ClientError::Service(it) if it.code == Code::Unavailable), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn update_with_start_local_activities_and_notes() {
    let dev = Dev::start();
    let app = app(&dev.address).await;
    let client = app.client();
    client.add_search_attribute("Stage", SearchAttributeType::Keyword).await.unwrap();
    let start = || client.start(cart, "Ada").id("cart");
    let (run, total) = start().with_update::<u32>("add", &"lamp").await.unwrap();
    assert_eq!(total, 12);
    let refused = start().with_update::<u32>("add", &"boat").await.unwrap_err();
    assert!(matches!(&refused, ClientError::Refused(it) if it.message() == "too big"), "{refused}");
    let policy = steadfast::WorkflowIdConflictPolicy::Fail;
    let there = start().id_conflict(policy).with_update::<u32>("add", &"x").await.unwrap_err();
    assert!(matches!(there, ClientError::AlreadyStarted { run_id, .. } if run_id == run.run_id()));
    let found = client.list("Stage = 'open'").await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].memo_value::<String>("owner").unwrap().unwrap(), "Ada");
    let adding = run.start_update::<u32>("add", &"desk").id("request-1").await.unwrap();
    assert_eq!(adding.result().await.unwrap(), 24);
    assert_eq!(run.result().await.unwrap(), 24);
    assert_eq!(client.count("Stage = 'open'").await.unwrap(), 0);
    Replayer::new().workflow(cart).replay(run.history().await.unwrap()).unwrap();
    app.shutdown().await;
}

async fn slow(seconds: u64) -> Result<u64, Failure> {
    #[expect(clippy::disallowed_methods, reason = "the work that takes its time")]
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Ok(seconds)
}

async fn local(ctx: WorkflowContext, (): ()) -> Result<u64, Failure> {
    let policy = RetryPolicy::new().initial_interval(Duration::from_millis(500));
    let call = ctx.local_activity(price, "desk").retry(policy);
    call.durable_wait_from(Duration::from_millis(700)).await?;
    Ok(ctx.local_activity(slow, 3).await?)
}

/// The task may take two seconds, and a local activity takes three.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_local_activity_keeps_its_task_at_a_server() {
    let dev = Dev::start();
    let app = app(&dev.address).await;
    let start = app.client().start(local, ()).id("w").task_timeout(Duration::from_secs(2));
    let run = start.await.unwrap();
    assert_eq!(run.result().await.unwrap(), 3);
    let events = run.history().await.unwrap();
    let kinds: Vec<String> = events.iter().map(|it| format!("{:?}", it.event_type())).collect();
    let count = |kind: &str| kinds.iter().filter(|it| *it == kind).count();
    assert_eq!((count("TimerFired"), count("MarkerRecorded")), (1, 3), "{kinds:?}");
    assert_eq!(count("WorkflowTaskTimedOut"), 0, "{kinds:?}");
    assert!(count("WorkflowTaskCompleted") >= 3, "{kinds:?}");
    Replayer::new().workflow(local).replay(events).unwrap();
    app.shutdown().await;
}

async fn ask(ctx: ActivityContext, (): ()) -> Result<String, Failure> {
    ctx.heartbeat(&ctx.token())?;
    ctx.complete_later()
}

async fn asking(ctx: WorkflowContext, (): ()) -> Result<String, Failure> {
    Ok(ctx.activity(ask, ()).start_to_close(Duration::from_secs(60)).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_activity_is_ended_from_elsewhere_when_its_worker_is_gone() {
    let dev = Dev::start();
    let worker = app(&dev.address).await;
    let run = worker.client().start(asking, ()).id("w").await.unwrap();
    let token: ActivityToken = loop {
        let described = run.describe().await.unwrap();
        let details =
            described.pending_activities.first().and_then(|it| it.heartbeat_details.clone());
        let Some(details) = details else { continue };
        let text = String::from_utf8(details.payloads[0].data.clone()).unwrap();
        break text.trim_matches('"').parse().unwrap();
    };
    worker.shutdown().await;
    let other = app(&dev.address).await;
    other.client().activity(token.clone()).complete("yes").await.unwrap();
    let run = other.client().workflow::<String>("w");
    assert_eq!(run.result().await.unwrap(), "yes");
    let late = other.client().activity(token).complete("no").await.unwrap_err();
    assert!(matches!(late, ClientError::NotFound(_)), "{late}");
    other.shutdown().await;
}

async fn report(_: WorkflowContext, of: String) -> Result<String, Failure> {
    Ok(of)
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_at_a_server() {
    let dev = Dev::start();
    let app = app(&dev.address).await;
    let client = app.client();
    let hour = Duration::from_secs(3600);
    let spec = ScheduleSpec::new().every(hour).time_zone("Europe/Brussels");
    let schedule = Schedule::new(spec, client.start(report, "sales")).paused(true).triggered();
    let handle = client.create_schedule("hourly", schedule).await.unwrap();
    let again = Schedule::new(ScheduleSpec::new().every(hour), client.start(report, "x"));
    let again = client.create_schedule("hourly", again).await.unwrap_err();
    assert!(matches!(again, ClientError::ScheduleExists { .. }), "{again}");
    let to = SystemTime::UNIX_EPOCH + hour * 24 * 11_574;
    handle.backfill(to - hour, to, ScheduleOverlapPolicy::AllowAll).await.unwrap();
    let described = loop {
        let described = handle.describe().await.unwrap();
        if described.actions == 3 {
            break described;
        }
    };
    let first = client.workflow::<String>(&described.recent[0].workflow_id);
    assert_eq!(first.result().await.unwrap(), "sales");
    handle.update(|it| it.note("changed")).await.unwrap();
    handle.unpause("go").await.unwrap();
    let listed = client.list_schedules("").await.unwrap();
    assert_eq!((listed.len(), listed[0].is_paused, listed[0].note.as_str()), (1, false, "go"));
    assert_eq!(handle.times(to, to + hour).await.unwrap(), [to, to + hour]);
    handle.delete().await.unwrap();
    assert!(matches!(handle.describe().await, Err(ClientError::NotFound(_))));
    app.shutdown().await;
}
