//! `steadfast activity`: look at and steer the pending activities of a run.

mod answer;
mod options;
mod pause;
mod reset;

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    client::Client,
    family::Family,
    output::View,
    target::One,
    workflow::{activities_table, describe},
};

/// Look at and steer the pending activities of a run
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: Family<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the pending activities of a run
    List(ListArgs),
    /// Complete an activity from outside
    Complete(answer::CompleteArgs),
    /// Fail an activity's attempt from outside
    Fail(answer::FailArgs),
    /// Hand out no more attempts of an activity
    Pause(pause::PauseArgs),
    /// Hand out attempts of a paused activity again
    Unpause(pause::UnpauseArgs),
    /// Begin again with the first attempt
    Reset(reset::Args),
    /// Change timeouts, the task queue or the retry policy of an activity
    UpdateOptions(options::Args),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    #[command(flatten)]
    run: One,
}

/// Which pending activities of a run.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The activity's id
    #[arg(long, short, value_name = "ID")]
    activity_id: Option<String>,

    /// All activities of a type
    #[arg(long, value_name = "NAME")]
    activity_type: Option<String>,

    /// All activities
    #[arg(long)]
    match_all: bool,
}

/// Which pending activity of a run, by id or type.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Named {
    /// The activity's id
    #[arg(long, short, value_name = "ID")]
    activity_id: Option<String>,

    /// All activities of a type
    #[arg(long, value_name = "NAME")]
    activity_type: Option<String>,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (client, view, command) = args.family.open().await?;
    match command {
        Command::List(args) => list(args, &client, view).await,
        Command::Complete(args) => answer::complete(args, &client, view).await,
        Command::Fail(args) => answer::fail(args, &client, view).await,
        Command::Pause(args) => pause::pause(args, &client, view).await,
        Command::Unpause(args) => pause::unpause(args, &client, view).await,
        Command::Reset(args) => reset::run(args, &client, view).await,
        Command::UpdateOptions(args) => options::run(args, &client, view).await,
    }
}

async fn list(args: &ListArgs, client: &Client, view: &View) -> Result<()> {
    let described = describe(&args.run, client).await?;
    view.answer_all(&described.pending_activities, activities_table)
}

impl Which {
    /// What was said, in words.
    fn told(&self) -> String {
        match (&self.activity_id, &self.activity_type) {
            (Some(id), _) => format!("activity {id}"),
            (None, Some(kind)) => format!("activities of type {kind}"),
            (None, None) => "all activities".to_owned(),
        }
    }
}

impl Named {
    fn told(&self) -> String {
        match (&self.activity_id, &self.activity_type) {
            (Some(id), _) => format!("activity {id}"),
            (None, kind) => format!("activities of type {}", kind.as_deref().unwrap_or_default()),
        }
    }
}

/// The answer to a change of a run's activities.
fn changed(view: &View, run: &One, done: &str, which: &str) -> Result<()> {
    let value: Value = json!({ "workflowId": run.workflow_id, "activities": which });
    view.answer_value(&value, || format!("{done} {which} of workflow {}", run.workflow_id))
}
