//! Somebody has to say yes, within a time: a wait for a signal and a timer, whichever comes first.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{App, Failure, StateCell, WorkflowContext};

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Expense {
    what: String,
    euros: u32,
    /// How long the boss has. Weeks are as good as seconds: a wait costs nothing.
    patience: Duration,
}

#[derive(Debug, Deserialize, Serialize)]
enum Decision {
    Approved { by: String },
    Rejected { by: String, because: String },
}

async fn approve(ctx: WorkflowContext, expense: Expense) -> Result<String, Failure> {
    let state = StateCell::new("waiting for a decision");
    let seen = state.clone();
    ctx.on_query("state", move |()| seen.get().to_owned());

    let mut decisions = ctx.signals::<Decision>("decision");
    let decision = steadfast::select! {
        decision = decisions.receive() => Some(decision?),
        _ = ctx.sleep(expense.patience) => None,
    };
    state.set("decided");
    match decision {
        Some(Decision::Approved { by }) => {
            ctx.activity(pay, &expense).await?;
            Ok(format!("{}: paid, approved by {by}", expense.what))
        }
        Some(Decision::Rejected { by, because }) => {
            Ok(format!("{}: rejected by {by}: {because}", expense.what))
        }
        None => Ok(format!("{}: nobody decided in time", expense.what)),
    }
}

async fn pay(expense: Expense) -> Result<(), Failure> {
    println!("paying {} euros for {}", expense.euros, expense.what);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let given = std::env::args().nth(1);
    let file = given.unwrap_or_else(|| folder.path().join("expenses.db").display().to_string());
    let app =
        App::builder(format!("sqlite:{file}")).workflow(approve).activity(pay).start().await?;
    let ask = |what: &str, euros: u32, patience: Duration| {
        app.client().start(approve, Expense { what: what.to_owned(), euros, patience })
    };
    let week = Duration::from_secs(7 * 24 * 60 * 60);
    let train = ask("train to Gent", 84, week).await?;
    let yacht = ask("yacht", 250_000, week).await?;
    let chair = ask("chair", 320, Duration::from_millis(200)).await?;

    println!("train to Gent: {}", train.query::<String>("state", &()).await?);
    train.signal("decision", &Decision::Approved { by: "Ada".to_owned() }).await?;
    let because = "it rains in Gent".to_owned();
    yacht.signal("decision", &Decision::Rejected { by: "Ada".to_owned(), because }).await?;
    for expense in [train, yacht, chair] {
        println!("{}", expense.result().await?);
    }
    app.shutdown().await;
    Ok(())
}
