//! The first things a newcomer does.

use std::time::Duration;

use steadfast::{
    ActivityContext, App, Failure, Replayer, RetryPolicy, WorkflowContext, testing::TestEnv,
};

async fn charge(ctx: ActivityContext, order: String) -> Result<String, Failure> {
    if ctx.attempt() < 3 {
        return Err(Failure::new("the bank is asleep").of_type("BankAsleep"));
    }
    Ok(format!("{order} is paid"))
}

async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    ctx.sleep(Duration::from_millis(5)).await?;
    let policy = RetryPolicy::new().initial_interval(Duration::from_millis(10));
    Ok(ctx.activity(charge, &id).retry(policy).await?)
}

#[tokio::test]
async fn hello() {
    let app = App::builder("memory:").workflow(order).activity(charge).start().await.unwrap();
    let handle = app.client().start(order, "order 17").id("order-17").await.unwrap();
    assert_eq!(handle.result().await.unwrap(), "order 17 is paid");
    app.shutdown().await;
}

#[tokio::test]
async fn hello_survives_a_crash_at_any_hour() {
    let mut env = TestEnv::start(|app| app.workflow(order).activity(charge)).await.unwrap();
    let handle = env.client().start(order, "order 18").id("order-18").await.unwrap();
    env.crash().await.unwrap();
    let handle = env.client().workflow::<String>(handle.workflow_id());
    assert_eq!(handle.result().await.unwrap(), "order 18 is paid");
    Replayer::new().workflow(order).replay(handle.history().await.unwrap()).unwrap();
}
