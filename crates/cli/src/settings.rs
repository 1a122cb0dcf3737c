//! `steadfast settings`: what becomes of work that is given up in a namespace, and who is told.

use anyhow::Result;
use serde_json::Value;

use crate::{
    family::HttpFamily,
    file,
    output::{Table, say_json},
    time,
};

/// What becomes of work that is given up in a namespace, and who is told
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: HttpFamily<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the settings, so that they can be changed and put
    Get,
    /// Put others in their place
    Put {
        /// The settings, a JSON or YAML file; `-` is standard input
        file: String,
    },
    /// Tell who changed what in settings and policies, and why
    Changes,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view, command) = args.family.open()?;
    match command {
        Command::Get => say_json(&caller.get("settings", &[]).await?),
        Command::Put { file } => say_json(&caller.put("settings", &file::document(file)?).await?),
        Command::Changes => {
            let answer = caller.get("changes", &[]).await?;
            let changes = answer["changes"].clone();
            view.answer_value(&changes, || table(changes.as_array().map_or(&[], Vec::as_slice)))
        }
    }
}

fn table(changes: &[Value]) -> String {
    let mut table = Table::new(["WHEN", "WHO", "WHAT", "WHY"]);
    for change in changes {
        let said = |name: &str| change[name].as_str().unwrap_or_default().to_owned();
        table.row([time::short(&said("at")), said("by"), said("what"), said("reason")]);
    }
    table.text_or("nothing was changed")
}
