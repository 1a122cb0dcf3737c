//! A thousand activities at once, and one result.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use steadfast::{ActivityError, App, Failure, WorkflowContext, join_all};

async fn square(number: u64) -> Result<u64, Failure> {
    Ok(number * number)
}

async fn sum_of_squares(ctx: WorkflowContext, count: u64) -> Result<u64, Failure> {
    let calls = (1..=count).map(|number| ctx.activity(square, number));
    let squares: Result<Vec<u64>, ActivityError> = join_all(calls).await.into_iter().collect();
    Ok(squares?.iter().sum())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("fan.db").display().to_string());
    let app = App::builder(format!("sqlite:{file}"))
        .workflow(sum_of_squares)
        .activity(square)
        .activities_at_once(100)
        .start()
        .await?;
    let began = tokio::time::Instant::now();
    let sum = app.client().start(sum_of_squares, 1000_u64).await?;
    println!("the squares of 1 to 1000 add up to {}", sum.result().await?);
    println!("1000 activities took {:.2} s", began.elapsed().as_secs_f64());
    println!("history has {} events", sum.history().await?.len());
    app.shutdown().await;
    Ok(())
}
