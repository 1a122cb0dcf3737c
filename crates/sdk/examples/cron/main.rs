//! A workflow that runs again and again, until somebody ends it.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use steadfast::{ActivityContext, App, Failure, WorkflowContext, WorkflowError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// One run of the report. The next one comes although this one may have failed.
async fn report(ctx: WorkflowContext, what: String) -> Result<String, Failure> {
    Ok(ctx.activity(write_report, &what).await?)
}

async fn write_report(ctx: ActivityContext, what: String) -> Result<String, Failure> {
    println!("a report on {what}, by run {}", ctx.info().run_id);
    if let Some(written) = ctx.state::<UnboundedSender<()>>() {
        // Nobody listens when the example ends.
        let _ = written.send(());
    }
    Ok(format!("all is well with {what}"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("reports.db").display().to_string());
    let (sender, mut written): (_, UnboundedReceiver<()>) = unbounded_channel();
    let app = App::builder(format!("sqlite:{file}"))
        .workflow(report)
        .activity(write_report)
        .state(sender)
        .start()
        .await?;
    // `0 3 * * *` would be three o'clock every night.
    let reports = app.client().start(report, "sales").id("reports").cron("@every 1s").await?;
    for _ in 0..3 {
        written.recv().await;
    }
    reports.terminate("three are enough").await?;
    match reports.result().await {
        Err(error @ WorkflowError::Terminated { .. }) => println!("{error}"),
        other => println!("this is not how it should end: {other:?}"),
    }
    app.shutdown().await;
    Ok(())
}
