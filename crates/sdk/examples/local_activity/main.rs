//! Short lookups within one step of a workflow, beside a payment that is an activity of its own.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::time::Duration;

use steadfast::{ActivityContext, App, Failure, RetryPolicy, WorkflowContext, join_all};

/// A lookup: short, and nothing is lost if it is done twice.
async fn price(ctx: ActivityContext, thing: String) -> Result<u32, Failure> {
    if thing == "lamp" && ctx.attempt() == 1 {
        println!("  the price of the {thing}: the shop does not answer");
        return Err(Failure::new("no answer"));
    }
    println!("  the price of the {thing}, attempt {}", ctx.attempt());
    u32::try_from(thing.len()).map_err(Failure::from)
}

/// A payment: it must be seen, and must not be done twice because a step is.
async fn pay(euros: u32) -> Result<String, Failure> {
    println!("  paying {euros} euros");
    Ok(format!("{euros} euros are paid"))
}

async fn order(ctx: WorkflowContext, things: Vec<String>) -> Result<String, Failure> {
    let policy = RetryPolicy::new().initial_interval(Duration::from_millis(10));
    let calls = things.iter().map(|thing| ctx.local_activity(price, thing).retry(policy.clone()));
    let mut total = 0;
    for price in join_all(calls).await {
        total += price?;
    }
    Ok(ctx.activity(pay, total).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("orders.db").display().to_string());
    let app = App::builder(format!("sqlite:{file}"))
        .workflow(order)
        .activity(price)
        .activity(pay)
        .start()
        .await?;
    let things: Vec<String> = ["table", "lamp", "chair"].map(str::to_owned).into();
    let order = app.client().start(order, things).id("order").await?;
    println!("{}", order.result().await?);
    let history = order.history().await?;
    println!("{} events in history:", history.len());
    for event in history {
        println!("  {:?}", event.event_type());
    }
    app.shutdown().await;
    Ok(())
}
