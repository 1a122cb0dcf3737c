//! Child workflows: each parcel of an order is a workflow of its own, with its own id and history.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use steadfast::{App, ChildError, Failure, WorkflowContext, join_all};

/// The parent: starts a child for each parcel, and bears that one of them fails.
async fn order(ctx: WorkflowContext, parcels: Vec<String>) -> Result<Vec<String>, Failure> {
    let id = ctx.info().workflow_id;
    let mut children = Vec::new();
    for parcel in &parcels {
        let child = ctx.child(ship, parcel).id(format!("{id}-{parcel}")).start().await?;
        child.signal("packed", "box").await?;
        children.push(child.result());
    }
    let mut told = Vec::new();
    for (parcel, shipped) in parcels.iter().zip(join_all(children).await) {
        told.push(match shipped {
            Ok(tracking) => format!("{parcel}: {tracking}"),
            // The child's own words; the order goes on without it.
            Err(ChildError::Failed { failure, .. }) => {
                format!("{parcel}: not shipped, {}", failure.root_cause())
            }
            Err(error) => return Err(error.into()),
        });
    }
    Ok(told)
}

/// A child: waits to be packed, then goes.
async fn ship(ctx: WorkflowContext, parcel: String) -> Result<String, Failure> {
    let packed: String = ctx.signals("packed").receive().await?;
    Ok(format!("{} in a {packed}", ctx.activity(send, &parcel).await?))
}

async fn send(parcel: String) -> Result<String, Failure> {
    match parcel.as_str() {
        "lamp" => Err(Failure::terminal("the lamp is broken")),
        _ => Ok(format!("on its way, number {}", parcel.len())),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("orders.db").display().to_string());
    let app = App::builder(format!("sqlite:{file}"))
        .workflow(order)
        .workflow(ship)
        .activity(send)
        .start()
        .await?;
    let client = app.client();
    let parcels: Vec<String> = ["table", "lamp", "chairs"].map(str::to_owned).to_vec();
    let order = client.start(order, parcels).id("order-17").await?;
    for line in order.result().await? {
        println!("{line}");
    }
    let table = client.workflow::<String>("order-17-table");
    println!("by itself: {}", table.result().await?);
    app.shutdown().await;
    Ok(())
}
