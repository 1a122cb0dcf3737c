//! `steadfast retry`: steer what is already being retried.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::{
    act::{self, ActArgs},
    family::HttpFamily,
    file,
    input::{Input, arguments},
    moving::{Moving, carry_out},
    trouble::Trouble,
};

/// Steer what is already being retried
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: HttpFamily<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Try at once what waits for its next attempt; that does not count as an attempt
    Now(Box<ActArgs>),
    /// Change the policy, the time limits or the input of what is being retried or parked
    Change(Box<ChangeArgs>),
}

#[derive(Debug, clap::Args)]
struct ChangeArgs {
    #[command(flatten)]
    act: ActArgs,

    /// Another retry policy: a JSON or YAML file
    #[arg(long, value_name = "FILE", conflicts_with = "restore_policy")]
    policy: Option<String>,

    /// Go back to the policy that the workflow asked for
    #[arg(long)]
    restore_policy: bool,

    /// How long one attempt may take
    #[arg(long, value_name = "DURATION")]
    start_to_close_timeout: Option<String>,

    /// How long all attempts may take together
    #[arg(long, value_name = "DURATION")]
    schedule_to_close_timeout: Option<String>,

    /// How long an attempt may wait for a worker
    #[arg(long, value_name = "DURATION")]
    schedule_to_start_timeout: Option<String>,

    /// How long an attempt may be silent
    #[arg(long, value_name = "DURATION")]
    heartbeat_timeout: Option<String>,

    /// After how many attempts the workflow's own policy gives up
    #[arg(long, value_name = "NUMBER")]
    maximum_attempts: Option<u32>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    how: Moving,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view, command) = args.family.open()?;
    match command {
        Command::Now(args) => act::run(args, "retry-now", "sent out", &caller, view).await,
        Command::Change(args) => {
            let change = args.value()?;
            if change.is_empty() {
                let message = "say what is to become different: --policy, a time limit, or --input";
                return Err(Trouble::usage(message));
            }
            carry_out(&args.act, change, &args.how, &caller, view).await
        }
    }
}

impl ChangeArgs {
    fn value(&self) -> Result<Map<String, Value>> {
        let policy = match (&self.policy, self.restore_policy) {
            (Some(name), _) => Some(serde_json::to_value(file::draft(name)?)?),
            (None, true) => Some(json!({})),
            (None, false) => None,
        };
        let span = |span: &Option<String>| span.as_ref().map(|text| json!(text));
        Ok([
            ("policy", policy),
            ("startToCloseTimeout", span(&self.start_to_close_timeout)),
            ("scheduleToCloseTimeout", span(&self.schedule_to_close_timeout)),
            ("scheduleToStartTimeout", span(&self.schedule_to_start_timeout)),
            ("heartbeatTimeout", span(&self.heartbeat_timeout)),
            ("maximumAttempts", self.maximum_attempts.map(|count| json!(count))),
            ("input", arguments(&self.input)?),
        ]
        .into_iter()
        .filter_map(|(name, value)| value.map(|value| (name.to_owned(), value)))
        .collect())
    }
}
