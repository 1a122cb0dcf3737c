//! New code for a workflow that is running: old runs go on the old way, new ones the new way, and a
//! recorded history says before the release whether the change is a safe one.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::sync::Arc;

use steadfast::{
    ActivityContext, App, AppBuilder, Failure, ReplayError, Replayer, Workflow, WorkflowContext,
};
use tokio::sync::Notify;

/// Last year's code.
mod first {
    use super::{Failure, WorkflowContext, pack};

    pub(super) async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
        ctx.activity(pack, &id).await?;
        let _: () = ctx.signals("collected").receive().await?;
        Ok(format!("{id} is on its way"))
    }
}

/// Today's: parcels are insured. Runs that are past this point already are not.
mod second {
    use super::{Failure, WorkflowContext, insure, pack};

    pub(super) async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
        let is_insured = ctx.patched("insure parcels");
        if is_insured {
            ctx.activity(insure, &id).await?;
        }
        ctx.activity(pack, &id).await?;
        let _: () = ctx.signals("collected").receive().await?;
        let how = if is_insured { "insured" } else { "not insured" };
        Ok(format!("{id} is on its way, {how}"))
    }
}

/// The same change, made carelessly.
async fn careless(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    ctx.activity(insure, &id).await?;
    ctx.activity(pack, &id).await?;
    let _: () = ctx.signals("collected").receive().await?;
    Ok(format!("{id} is on its way"))
}

async fn pack(ctx: ActivityContext, _: String) -> Result<(), Failure> {
    if let Some(packing) = ctx.state::<Arc<Notify>>() {
        packing.notify_one();
    }
    Ok(())
}

async fn insure(_: String) -> Result<(), Failure> {
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("orders.db").display().to_string());
    let build =
        || -> AppBuilder { App::builder(format!("sqlite:{file}")).activity(pack).activity(insure) };

    println!("last year's code starts an order");
    let packing = Arc::new(Notify::new());
    let app = build().workflow(first::order).state(Arc::clone(&packing)).start().await?;
    app.client().start(first::order, "old").id("old").await?;
    packing.notified().await;
    app.shutdown().await;

    println!("today's code takes over");
    let app = build().workflow(second::order).start().await?;
    let old = app.client().workflow::<String>("old");
    let new = app.client().start(second::order, "new").id("new").await?;
    old.signal("collected", &()).await?;
    new.signal("collected", &()).await?;
    println!("{}\n{}", old.result().await?, new.result().await?);

    let (old, new) = (old.history().await?, new.history().await?);
    app.shutdown().await;
    let replayer = Replayer::new().workflow(second::order);
    replayer.replay(old.clone())?;
    replayer.replay(new)?;
    println!("today's code replays both histories");
    let careless = Replayer::new().register_workflow(Workflow::new(careless).named("order"));
    match careless.replay(old) {
        Err(ReplayError::Broken(broken)) => println!("without the patch: {broken}"),
        other => println!("this should not have worked: {other:?}"),
    }
    Ok(())
}
