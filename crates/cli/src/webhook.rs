//! `steadfast webhook`: what was to be told to somebody and nobody has taken yet.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    family::HttpFamily,
    output::{Table, View},
    time,
};

/// Documents about failures that no webhook has taken yet
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: HttpFamily<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List them
    List,
    /// Have them sent again at once; all if none is named
    Resend {
        /// Their ids
        ids: Vec<u64>,
    },
    /// Drop them: nobody is told
    Discard {
        /// Their ids
        #[arg(required = true)]
        ids: Vec<u64>,
    },
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view, command) = args.family.open()?;
    match command {
        Command::List => {
            let answer = caller.get("webhooks/undelivered", &[]).await?;
            let all = answer["undelivered"].clone();
            view.answer_value(&all, || table(all.as_array().map_or(&[], Vec::as_slice)))
        }
        Command::Resend { ids } => {
            let answer = caller.post("webhooks/resend", &json!({ "ids": ids })).await?;
            tell(&answer, "sent again", view)
        }
        Command::Discard { ids } => {
            let answer = caller.post("webhooks/discard", &json!({ "ids": ids })).await?;
            tell(&answer, "dropped", view)
        }
    }
}

fn tell(answer: &Value, what: &str, view: &View) -> Result<()> {
    let count = answer["count"].as_u64().unwrap_or_default();
    let noun = if count == 1 { "document" } else { "documents" };
    view.answer_value(answer, || format!("{count} {noun} {what}\n"))
}

fn table(all: &[Value]) -> String {
    let mut table = Table::new(["ID", "STATE", "WORKFLOW", "URL", "ATTEMPTS", "SINCE", "PROBLEM"]);
    for document in all {
        let said = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
        table.row([
            document["id"].to_string(),
            said("state"),
            said("workflowId"),
            said("url"),
            document["attempts"].to_string(),
            time::short(&said("since")),
            said("problem"),
        ]);
    }
    table.text_or("everything was taken")
}
