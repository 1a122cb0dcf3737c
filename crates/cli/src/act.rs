//! Doing something about errors: park, resume, acknowledge, retry now, cancel, let fail.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    caller::Caller,
    family::HttpOptions,
    output::{Table, View},
    select::Select,
};

/// Which errors, and why.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ActArgs {
    #[command(flatten)]
    pub(crate) select: Select,

    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
}

/// Park what is being retried: it waits until it is resumed
#[derive(Debug, clap::Args)]
pub(crate) struct ParkArgs {
    #[command(flatten)]
    options: HttpOptions,
    #[command(flatten)]
    act: ActArgs,
}

/// Acknowledge errors: nothing resumes them by itself any more, and they count as seen to
#[derive(Debug, clap::Args)]
pub(crate) struct AckArgs {
    #[command(flatten)]
    options: HttpOptions,
    #[command(flatten)]
    act: ActArgs,
}

/// Parks errors.
pub(crate) async fn park(args: &ParkArgs) -> Result<()> {
    let (caller, view) = args.options.open()?;
    run(&args.act, "park", "parked", &caller, view).await
}

/// Acknowledges errors.
pub(crate) async fn acknowledge(args: &AckArgs) -> Result<()> {
    let (caller, view) = args.options.open()?;
    run(&args.act, "acknowledge", "acknowledged", &caller, view).await
}

/// Does something about errors.
pub(crate) async fn run(
    args: &ActArgs,
    path: &str,
    done: &str,
    caller: &Caller,
    view: &View,
) -> Result<()> {
    let body = json!({ "select": args.select.value()?, "reason": args.reason });
    let answer = caller.post(&format!("errors/{path}"), &body).await?;
    tell(&answer, done, view)
}

/// Tells what came of it. What was refused for all of them is an error.
pub(crate) fn tell(answer: &Value, done: &str, view: &View) -> Result<()> {
    let count = |name: &str| answer[name].as_u64().unwrap_or_default();
    view.answer_value(answer, || text(answer, done))?;
    if count("refused") > 0 {
        let (refused, all) = (count("refused"), count("refused") + count("done"));
        anyhow::bail!("{refused} of {all} could not be {done}");
    }
    Ok(())
}

fn text(answer: &Value, done: &str) -> String {
    let outcomes = answer["outcomes"].as_array().map_or(&[][..], Vec::as_slice);
    if outcomes.is_empty() {
        return format!("no error is like that: nothing was {done}\n");
    }
    let mut table = Table::new(["ID", "WORKFLOW", "OUTCOME"]);
    for outcome in outcomes {
        let said = |name: &str| outcome[name].as_str().unwrap_or_default().to_owned();
        let came = match (outcome["error"]["message"].as_str(), outcome["newRunId"].as_str()) {
            (Some(message), _) => format!("refused: {message}"),
            (None, Some(run)) => format!("{done}, goes on as run {run}"),
            (None, None) => done.to_owned(),
        };
        table.row([said("id"), said("workflowId"), came]);
    }
    table.text_or("")
}
