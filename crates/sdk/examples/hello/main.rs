//! Twenty lines: a workflow that outlives its process, in one file and without a server.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use steadfast::{ActivityContext, App, Failure, WorkflowContext, WorkflowIdConflictPolicy};

async fn charge(ctx: ActivityContext, order: String) -> Result<String, Failure> {
    println!("attempt {} to charge {order}", ctx.attempt());
    if ctx.attempt() < 3 {
        return Err(Failure::new("the bank is asleep"));
    }
    Ok(format!("{order} is paid"))
}

async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    Ok(ctx.activity(charge, &id).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("orders.db").display().to_string());

    let app =
        App::builder(format!("sqlite:{file}")).workflow(order).activity(charge).start().await?;
    let order = app
        .client()
        .start(order, "order 17")
        .id("order-17")
        // If it runs already, because this program was killed, it goes on where it was.
        .id_conflict(WorkflowIdConflictPolicy::UseExisting)
        .await?;
    println!("{}", order.result().await?);
    app.shutdown().await;
    Ok(())
}
