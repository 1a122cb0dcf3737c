//! What a worker of the Rust SDK tells a server of itself: that it is there, and that it goes. On the real
//! clock: the server is a real process.

use serde_json::Value;
use steadfast::{
    App, Failure, WorkflowContext,
    proto::{enums::EventType, history::HistoryEvent},
};

use crate::rig::Dev;

async fn pack(order: String) -> Result<String, Failure> {
    if order == "broken" {
        return Err(Failure::terminal("in pieces"));
    }
    Ok(order)
}

async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    ctx.activity(pack, &id).await?;
    let word: String = ctx.signals("word").receive().await?;
    Ok(format!("{id} {word}"))
}

async fn app(address: &str, identity: &str) -> App {
    let app = App::builder(address).workflow(order).activity(pack).activities_at_once(7);
    app.identity(identity).task_queue("parcels").start().await.expect("it starts")
}

/// The workers that are listed, once there is one.
fn listed(dev: &Dev) -> Value {
    loop {
        let all = dev.json(&["worker", "list", "--query", "TaskQueue = 'parcels'"]);
        if all.as_array().is_some_and(|all| !all.is_empty()) {
            return all;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_listed_and_tells_how_it_does() {
    let dev = Dev::start();
    let app = app(&dev.address, "packer").await;
    let all = listed(&dev);
    let worker = &all[0];
    assert_eq!(worker["workerIdentity"], "packer");
    assert_eq!(worker["taskQueue"], "parcels");
    assert_eq!(worker["status"], "WORKER_STATUS_RUNNING");
    assert_eq!(worker["sdkName"], "steadfast");
    assert_eq!(worker["processId"], std::process::id().to_string());
    let table = dev.says(&["worker", "list"]);
    assert!(table.contains("packer") && table.contains("Running"), "{table}");
    let key = worker["workerInstanceKey"].as_str().expect("a key");
    let shown = dev.says(&["worker", "describe", "-k", key]);
    assert!(shown.contains("0 done, 0 failed; 0 under way, room for 7"), "{shown}");
    for id in ["whole", "broken"] {
        let order = app.client().start(order, id).id(id).await.expect("it starts");
        order.signal("word", &"done").await.expect("it runs");
        // One of them fails.
        drop(order.result().await);
    }
    app.shutdown().await;
    let shown = dev.json(&["worker", "describe", "-k", key]);
    let told = &shown["workerInfo"]["workerHeartbeat"];
    assert_eq!(told["status"], "WORKER_STATUS_SHUTTING_DOWN", "{told}");
    let activities = &told["activityTaskSlotsInfo"];
    assert_eq!(activities["totalProcessedTasks"], 2, "{told}");
    assert_eq!(activities["totalFailedTasks"], 1, "{told}");
    assert!(told["workflowTaskSlotsInfo"]["totalProcessedTasks"].as_u64() > Some(2), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_worker_that_goes_is_another_ones_at_once() {
    let dev = Dev::start();
    let first = app(&dev.address, "first").await;
    let run = first.client().start(order, "17").id("order-17").await.expect("it starts");
    let waits = async || {
        let shown = run.describe().await.expect("it runs");
        shown.pending_activities.is_empty() && shown.pending_workflow_task.is_none()
    };
    while !waits().await {}
    first.shutdown().await;
    let second = app(&dev.address, "second").await;
    let run = second.client().workflow::<String>("order-17");
    run.signal("word", &"on").await.expect("it runs");
    assert_eq!(run.result().await.expect("it ends well"), "17 on");
    let events = run.history().await.expect("a history");
    let timed_out = |event: &HistoryEvent| event.event_type() == EventType::WorkflowTaskTimedOut;
    assert!(!events.iter().any(timed_out), "nobody waited for the first");
    second.shutdown().await;
}
