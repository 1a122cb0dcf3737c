//! `steadfast errors`: what is failing, and what is done about it.

mod badge;

use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    act::{self, ActArgs},
    caller::{Caller, escaped},
    family::HttpOptions,
    output::{Card, Table, View, cut},
    select::Filter,
    time,
};

/// Tell what is failing now, and why; one by one, or together with what fails alike
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(flatten)]
    options: HttpOptions,

    /// Put together what has this in common
    #[arg(long, value_name = "WHAT", value_parser = ["flow", "activity", "cause", "fingerprint"])]
    by: Option<String>,

    #[command(flatten)]
    filter: Filter,

    /// List those that failed longest ago first
    #[arg(long)]
    oldest_first: bool,

    /// The most to list
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Tell all about one error
    Show {
        /// Its id
        id: String,
    },
    /// Count errors
    Count {
        #[command(flatten)]
        filter: Filter,
    },
    /// Cancel the workflows that errors belong to
    Cancel(ActArgs),
    /// Let parked activities fail into their workflows
    Fail(ActArgs),
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view) = args.options.open()?;
    match (&args.command, &args.by) {
        (Some(Command::Show { id }), _) => show(id, &caller, view).await,
        (Some(Command::Count { filter }), _) => {
            let answer = caller.get("errors/count", &filter.pairs()).await?;
            view.answer_value(&answer, || format!("{}\n", answer["count"]))
        }
        (Some(Command::Cancel(args)), _) => {
            act::run(args, "cancel", "cancelled", &caller, view).await
        }
        (Some(Command::Fail(args)), _) => act::run(args, "fail", "failed", &caller, view).await,
        (None, Some(by)) => groups(args, by, &caller, view).await,
        (None, None) => list(args, &caller, view).await,
    }
}

async fn list(args: &Args, caller: &Caller, view: &View) -> Result<()> {
    let order = if args.oldest_first { "oldest" } else { "newest" };
    let mut all: Vec<Value> = Vec::new();
    let mut token = None;
    loop {
        let size = (args.limit - all.len()).clamp(1, PAGE);
        let mut query = args.filter.pairs();
        query.extend([("order", order.to_owned()), ("limit", size.to_string())]);
        query.extend(token.take().map(|token| ("pageToken", token)));
        let page = caller.get("errors", &query).await?;
        all.extend(page["errors"].as_array().cloned().unwrap_or_default());
        token = page["nextPageToken"].as_str().map(str::to_owned);
        if token.is_none() || all.len() >= args.limit {
            break;
        }
    }
    all.truncate(args.limit);
    let value = Value::Array(all);
    view.answer_value(&value, || {
        table(value.as_array().map_or(&[], Vec::as_slice), Timestamp::now())
    })
}

async fn groups(args: &Args, by: &str, caller: &Caller, view: &View) -> Result<()> {
    let mut query = args.filter.pairs();
    let size = args.limit.min(PAGE);
    query.extend([("by", by.to_owned()), ("limit", size.to_string())]);
    let answer = caller.get("errors/groups", &query).await?;
    let groups = answer["groups"].clone();
    view.answer_value(&groups, || group_table(by, groups.as_array().map_or(&[], Vec::as_slice)))
}

async fn show(id: &str, caller: &Caller, view: &View) -> Result<()> {
    let error = caller.get(&format!("errors/{}", escaped(id)), &[]).await?;
    view.answer_value(&error, || card(&error, Timestamp::now()))
}

fn table(errors: &[Value], now: Timestamp) -> String {
    let head = ["ID", "STATE", "WORKFLOW", "ACTIVITY", "ATTEMPTS", "LAST", "CAUSE", "NEXT"];
    let mut table = Table::new(head);
    for error in errors {
        let said = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        table.row([
            said("id"),
            said("state"),
            cut(&format!("{} {}", said("workflowType"), said("workflowId")), 40),
            cut(&what(error), 24),
            error["attempts"].to_string(),
            time::distance(&said("lastAt"), now),
            cut(&cause(error), 60),
            badge::next(error, now),
        ]);
    }
    table.text_or("nothing is failing")
}

fn group_table(by: &str, groups: &[Value]) -> String {
    let mut table =
        Table::new(["COUNT", "OPEN", "PARKED", "FIRST", "LAST", &by.to_uppercase(), "FOR EXAMPLE"]);
    for group in groups {
        let example = &group["example"];
        let said = |name: &str| example[name].as_str().unwrap_or_default().to_owned();
        let count = group["count"].as_u64().unwrap_or_default();
        let seen = group["acknowledged"].as_u64().unwrap_or_default();
        let common = match by {
            "flow" => said("workflowType"),
            "activity" => format!("{}.{}", said("workflowType"), said("activityType")),
            "fingerprint" => said("fingerprint"),
            _ => cut(&said("cause"), 60),
        };
        let when = |name: &str| time::short(group[name].as_str().unwrap_or_default());
        table.row([
            count.to_string(),
            count.saturating_sub(seen).to_string(),
            group["states"]["parked"].as_u64().unwrap_or_default().to_string(),
            when("firstAt"),
            when("lastAt"),
            common,
            format!("{} {}", said("id"), cut(&cause(example), 60)),
        ]);
    }
    table.text_or("nothing is failing")
}

fn card(error: &Value, now: Timestamp) -> String {
    let said = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    let when = |name: &str| {
        let at = said(name);
        if at.is_empty() {
            at
        } else {
            format!("{} ({})", time::short(&at), time::distance(&at, now))
        }
    };
    let mut card = Card::default();
    card.line("Id", said("id"))
        .line("State", said("state"))
        .line("Next", badge::next(error, now))
        .line("Why", said("reason"))
        .line("Workflow", format!("{} {}", said("workflowType"), said("workflowId")))
        .line("Run", said("runId"))
        .line("What", format!("{} {}", what(error), said("activityId")))
        .line("Kind", said("kind"))
        .line("Attempts", error["attempts"].to_string())
        .line(
            "Resumed",
            error["resumes"].as_u64().filter(|n| *n > 0).map(|n| n.to_string()).unwrap_or_default(),
        )
        .line("Cause", cause(error))
        .line("Fingerprint", said("fingerprint"))
        .line("First failed", when("firstAt"))
        .line("Last failed", when("lastAt"));
    card.text()
}

/// What of the workflow has failed.
fn what(error: &Value) -> String {
    match error["subject"].as_str() {
        Some("run") => "(the run)".to_owned(),
        Some("workflow_task") => "(its code)".to_owned(),
        _ => error["activityType"].as_str().unwrap_or_default().to_owned(),
    }
}

fn cause(error: &Value) -> String {
    let said = |name: &str| error[name].as_str().unwrap_or_default();
    match said("errorType") {
        "" => said("cause").to_owned(),
        kind => format!("{kind}: {}", said("cause")),
    }
}

const PAGE: usize = 1_000;
