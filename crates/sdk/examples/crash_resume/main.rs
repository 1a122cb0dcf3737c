//! Kill -9, and go on: a program that starts itself as a child, kills it in the middle of the third
//! step, and starts it again. What was done is not done again.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::{
    error::Error,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use steadfast::{ActivityContext, App, Failure, WorkflowContext, WorkflowIdConflictPolicy};

async fn order(ctx: WorkflowContext, id: String) -> Result<String, Failure> {
    ctx.activity(reserve, &id).await?;
    ctx.activity(charge, &id).await?;
    ctx.activity(ship, &id).await?;
    Ok(format!("{id} is complete"))
}

async fn reserve(ctx: ActivityContext, _: String) -> Result<(), Failure> {
    println!("reserve, attempt {}", ctx.attempt());
    Ok(())
}

async fn charge(ctx: ActivityContext, _: String) -> Result<(), Failure> {
    println!("charge, attempt {}", ctx.attempt());
    Ok(())
}

async fn ship(ctx: ActivityContext, _: String) -> Result<(), Failure> {
    println!("ship, attempt {}", ctx.attempt());
    if ctx.attempt() == 1 {
        // The courier is silent. Somebody will pull the plug.
        std::future::pending::<()>().await;
    }
    Ok(())
}

/// One life of the program.
#[tokio::main]
async fn live(folder: &Path) -> Result<(), Box<dyn Error>> {
    let app = App::builder(format!("sqlite:{}", folder.join("orders.db").display()))
        .workflow(order)
        .activity(reserve)
        .activity(charge)
        .activity(ship)
        .start()
        .await?;
    let started = app
        .client()
        .start(order, "order 17")
        .id("order-17")
        .id_conflict(WorkflowIdConflictPolicy::UseExisting)
        .await?;
    println!("{}", started.result().await?);
    app.shutdown().await;
    Ok(())
}

/// Watches a life, and ends it with SIGKILL when it says the word.
fn watch(folder: &Path, word: Option<&str>) -> Result<(), Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["live".as_ref(), folder.as_os_str()])
        .stdout(Stdio::piped())
        .spawn()?;
    let out = child.stdout.take().ok_or("it has an output")?;
    for line in BufReader::new(out).lines() {
        let line = line?;
        println!("  {line}");
        if word == Some(line.as_str()) {
            println!("  kill -9 {}", child.id());
            child.kill()?;
        }
    }
    println!("  {}", child.wait()?);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, folder] = args.as_slice()
        && verb == "live"
    {
        return live(Path::new(folder));
    }
    let scratch = tempfile::tempdir()?;
    let folder = args.first().map_or_else(|| scratch.path(), Path::new);
    std::fs::create_dir_all(folder)?;
    println!("first life");
    watch(folder, Some("ship, attempt 1"))?;
    println!("second life");
    watch(folder, None)
}
