//! `steadfast resume-policy`: when parked work goes on by itself.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    caller::{Caller, escaped},
    family::HttpFamily,
    file,
    output::{Card, Table, View},
    trouble::Trouble,
};

/// Keep resume policies: which errors go on by themselves, when, and how often
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: HttpFamily<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List them in the order in which they are asked
    List,
    /// Tell all about one
    Get(NameArgs),
    /// Add one
    Create(FileArgs),
    /// Put another in the place of one; what that has scheduled stays scheduled
    Update {
        #[command(flatten)]
        name: NameArgs,
        #[command(flatten)]
        file: FileArgs,
    },
    /// Remove one; what it has scheduled stays scheduled
    Delete(NameArgs),
    /// Add all that are in a file
    Load(LoadArgs),
    /// Print all, so that they can be loaded
    Export,
    /// Say how many of the errors that there are one would take; nothing is changed
    DryRun(FileArgs),
    /// Schedule resumes for the errors that there are; of several, the first that takes an error
    Apply {
        /// Their names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Why, for the record
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
}

#[derive(Debug, clap::Args)]
struct NameArgs {
    /// Its name or id
    name: String,
}

#[derive(Debug, clap::Args)]
struct FileArgs {
    /// The policy, a JSON or YAML file; `-` is standard input
    file: String,
}

#[derive(Debug, clap::Args)]
struct LoadArgs {
    /// A JSON or YAML file with a list of policies, or with what `export` has printed
    file: String,

    /// Remove those that there are first
    #[arg(long)]
    replace_all: bool,

    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view, command) = args.family.open()?;
    let one = |policy: Value| view.answer_value(&policy, || card(&policy));
    match command {
        Command::List => {
            let answer = caller.get(POLICIES, &[]).await?;
            let all = answer["policies"].clone();
            view.answer_value(&all, || table(all.as_array().map_or(&[], Vec::as_slice)))
        }
        Command::Get(args) => one(caller.get(&path(&args.name), &[]).await?),
        Command::Create(args) => one(caller.post(POLICIES, &file::document(&args.file)?).await?),
        Command::Update { name, file } => {
            one(caller.put(&path(&name.name), &file::document(&file.file)?).await?)
        }
        Command::Delete(args) => {
            let gone = caller.delete(&path(&args.name)).await?;
            view.answer_value(&gone, || format!("removed resume policy {}\n", args.name))
        }
        Command::Load(args) => load(args, &caller, view).await,
        Command::Export => {
            let answer = caller.get(POLICIES, &[]).await?;
            crate::output::say_json(&answer["policies"])
        }
        Command::DryRun(args) => {
            let document = file::document(&args.file)?;
            let answer = caller.post("resume-policies/dry-run", &document).await?;
            view.answer_value(&answer, || said(&answer, "info") + "\n")
        }
        Command::Apply { names, reason } => {
            let body = json!({ "names": names, "reason": reason });
            let answer = caller.post("resume-policies/apply", &body).await?;
            view.answer_value(&answer, || lines(&answer["info"]))
        }
    }
}

async fn load(args: &LoadArgs, caller: &Caller, view: &View) -> Result<()> {
    let mut document = file::document(&args.file)?;
    let policies = match document.as_object_mut() {
        None => document,
        Some(object) => object.remove("policies").ok_or_else(|| {
            let wanted = "give a list of policies, or an object with `policies`";
            Trouble::usage(format!("{}: {wanted}", args.file))
        })?,
    };
    let body =
        json!({ "policies": policies, "replaceAll": args.replace_all, "reason": args.reason });
    let answer = caller.post("resume-policies/load", &body).await?;
    let results = answer["results"].as_array().map_or(&[][..], Vec::as_slice);
    view.answer_value(&answer, || {
        (1..).zip(results).map(|(number, result)| loaded(number, result)).collect()
    })?;
    let wrong = results.iter().filter(|result| result["success"] == json!(false)).count();
    if wrong > 0 {
        anyhow::bail!("{wrong} of {} policies were left out", results.len());
    }
    Ok(())
}

fn loaded(number: usize, result: &Value) -> String {
    match result["policy"]["name"].as_str() {
        Some(name) => format!("{number}: loaded {name}\n"),
        None => format!("{number}: {}\n", lines(&result["errors"]).trim_end().replace('\n', "; ")),
    }
}

fn table(all: &[Value]) -> String {
    let mut table =
        Table::new(["PRIORITY", "NAME", "FLOW", "ACTION", "KIND", "CAUSE", "ATTEMPTS", "WAIT"]);
    for policy in all {
        table.row([
            policy["priority"].to_string(),
            said(policy, "name"),
            said(policy, "flow"),
            said(policy, "action"),
            said(policy, "actionType"),
            said(policy, "errorSubstring"),
            policy["maxAttempts"].to_string(),
            wait(&policy["backOff"]),
        ]);
    }
    table.text_or("no resume policies")
}

fn card(policy: &Value) -> String {
    let mut card = Card::default();
    card.line("Name", said(policy, "name"))
        .line("Id", said(policy, "id"))
        .line("Priority", policy["priority"].to_string())
        .line("Flow", said(policy, "flow"))
        .line("Action", said(policy, "action"))
        .line("Kind", said(policy, "actionType"))
        .line("Cause has", said(policy, "errorSubstring"))
        .line("Attempts", policy["maxAttempts"].to_string())
        .line("Wait", wait(&policy["backOff"]));
    card.text()
}

/// How long it waits, in words.
fn wait(back_off: &Value) -> String {
    let number = |name: &str| back_off[name].as_u64();
    let delay = number("delay").unwrap_or_default();
    let cap = number("maxDelay").map(|max| format!(" up to {max}s")).unwrap_or_default();
    match (back_off["random"].as_bool(), number("multiplier")) {
        (Some(true), _) => {
            format!("{delay}s to {}s, drawn", number("maxDelay").unwrap_or(delay))
        }
        (_, Some(factor)) => format!("{delay}s × {factor} × attempts{cap}"),
        (_, None) => format!("{delay}s"),
    }
}

fn said(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

fn lines(list: &Value) -> String {
    let lines = list.as_array().map_or(&[][..], Vec::as_slice);
    lines.iter().filter_map(Value::as_str).flat_map(|line| [line, "\n"]).collect()
}

fn path(name: &str) -> String {
    format!("{POLICIES}/{}", escaped(name))
}

const POLICIES: &str = "resume-policies";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_in_words() {
        assert_eq!(wait(&json!({ "delay": 60 })), "60s");
        let grows = json!({ "delay": 60, "maxDelay": 300, "multiplier": 1 });
        assert_eq!(wait(&grows), "60s × 1 × attempts up to 300s");
        let drawn = json!({ "delay": 60, "maxDelay": 120, "random": true });
        assert_eq!(wait(&drawn), "60s to 120s, drawn");
    }
}
