//! The retry policies that operators keep on a server: put, shown, applied, removed.

use anyhow::Result;
use serde_json::{Map, Value, json};
use steadfast_retry::Draft;

use super::occasion::OccasionArgs;
use crate::{
    act::ActArgs,
    caller::{Caller, escaped},
    file,
    moving::{Moving, carry_out, preview_text},
    output::{Card, Paint, Table, View},
    time,
};

/// A policy that is to be put.
#[derive(Debug, clap::Args)]
pub(super) struct PutArgs {
    /// What it is called on the server
    name: String,

    /// The policy, a JSON or YAML file; `-` is standard input
    file: String,

    /// When it is asked: before the workflow author's rules, after them, or only where it is applied
    #[arg(long, value_name = "WHEN", value_parser = ["before", "after", "named"], default_value = "before")]
    position: String,

    /// For workflows of this type: a name, a glob or a /regular expression/
    #[arg(long, value_name = "PATTERN")]
    workflow_type: Option<String>,

    /// For activities of this type, likewise
    #[arg(long, value_name = "PATTERN")]
    activity: Option<String>,

    /// For activities of this kind, likewise
    #[arg(long, value_name = "PATTERN")]
    activity_kind: Option<String>,

    /// For activities on this task queue, likewise
    #[arg(long, value_name = "PATTERN")]
    task_queue: Option<String>,

    /// The version that you have seen; without it, there is to be none yet
    #[arg(long, value_name = "NUMBER")]
    expected_version: Option<u32>,

    /// It is meant to take every failure of the namespace
    #[arg(long)]
    all: bool,

    /// Only say what it would change among what is being retried
    #[arg(long)]
    dry_run: bool,

    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// A policy on the server.
#[derive(Debug, clap::Args)]
pub(super) struct NameArgs {
    /// Its name; with @version to mean that one
    name: String,
}

/// A policy, and what is to follow it.
#[derive(Debug, clap::Args)]
pub(super) struct ApplyArgs {
    /// The policy on the server, as name or name@version
    #[arg(long, value_name = "NAME")]
    policy: String,

    #[command(flatten)]
    act: ActArgs,

    #[command(flatten)]
    how: Moving,
}

/// A failure that the server is asked about.
#[derive(Debug, clap::Args)]
pub(super) struct AskArgs {
    #[command(flatten)]
    occasion: OccasionArgs,

    /// The author's policy, a JSON or YAML file; without it, that of an author who said nothing
    #[arg(long, value_name = "FILE")]
    policy: Option<String>,
}

/// Asks what would become of a failure.
pub(super) async fn ask(args: &AskArgs, caller: &Caller, view: &View) -> Result<()> {
    let mut body = args.occasion.value();
    if let Some(name) = &args.policy {
        body["policy"] = serde_json::to_value(file::draft(name)?)?;
    }
    let told = caller.post("failures/explain", &body).await?;
    view.answer_value(&told, || {
        let said = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        let rule = if said("rule").is_empty() { "the default".to_owned() } else { said("rule") };
        let mut card = Card::default();
        card.line("Decision", said("decision"))
            .line("Rule", rule)
            .line("Layer", said("layer"))
            .line("Policy", said("policy"))
            .line("Then", said("ending"))
            .line("Resumed by", said("resumePolicy"));
        card.text()
    })
}

/// Puts one.
pub(super) async fn put(args: &PutArgs, caller: &Caller, view: &View) -> Result<()> {
    let scope: Map<String, Value> = [
        ("workflowType", &args.workflow_type),
        ("activity", &args.activity),
        ("activityKind", &args.activity_kind),
        ("taskQueue", &args.task_queue),
    ]
    .into_iter()
    .filter_map(|(name, value)| value.as_ref().map(|value| (name.to_owned(), json!(value))))
    .collect();
    // Read here, so that a fault is told with the file's name.
    let draft = file::draft(&args.file)?;
    let body = json!({
        "policy": draft,
        "position": args.position,
        "scope": scope,
        "expectedVersion": args.expected_version,
        "all": args.all,
        "reason": args.reason,
    });
    if args.dry_run {
        let preview = caller.post(&format!("{}/preview", path(&args.name)), &body).await?;
        return view.answer_value(&preview, || preview_text(&preview));
    }
    let version = caller.put(&path(&args.name), &body).await?;
    view.answer_value(&version, || {
        let paint = view.paint();
        format!("put {}@{}\n{}", args.name, version["version"], warnings(&version, paint))
    })
}

/// Lists those that hold.
pub(super) async fn list(caller: &Caller, view: &View) -> Result<()> {
    let answer = caller.get("policies", &[]).await?;
    let all = answer["policies"].clone();
    view.answer_value(&all, || table(all.as_array().map_or(&[], Vec::as_slice)))
}

/// Lists the versions of one.
pub(super) async fn versions(args: &NameArgs, caller: &Caller, view: &View) -> Result<()> {
    let answer = caller.get(&format!("{}/versions", path(&args.name)), &[]).await?;
    let all = answer["policies"].clone();
    view.answer_value(&all, || table(all.as_array().map_or(&[], Vec::as_slice)))
}

/// Shows one.
pub(super) async fn get(args: &NameArgs, caller: &Caller, view: &View) -> Result<()> {
    let (name, version) = args.name.split_once('@').unwrap_or((&args.name, ""));
    let found = version_of(name, version, caller).await?;
    view.answer_value(&found, || card(&found))
}

/// Has errors follow one.
pub(super) async fn apply(args: &ApplyArgs, caller: &Caller, view: &View) -> Result<()> {
    let (name, version) = args.policy.split_once('@').unwrap_or((&args.policy, ""));
    let draft = named(name, version, caller).await?;
    let change = [("policy".to_owned(), serde_json::to_value(draft)?)].into_iter().collect();
    carry_out(&args.act, change, &args.how, caller, view).await
}

/// Removes one.
pub(super) async fn delete(args: &NameArgs, caller: &Caller, view: &View) -> Result<()> {
    let (name, version) = args.name.split_once('@').unwrap_or((&args.name, ""));
    let query =
        if version.is_empty() { String::new() } else { format!("?expectedVersion={version}") };
    let gone = caller.delete(&format!("{}{query}", path(name))).await?;
    view.answer_value(&gone, || format!("removed policy {name}\n"))
}

/// What a policy on the server says.
pub(super) async fn named(name: &str, version: &str, caller: &Caller) -> Result<Draft> {
    let found = version_of(name, version, caller).await?;
    file::typed(&format!("{name}@{version}"), found["policy"].clone())
}

async fn version_of(name: &str, version: &str, caller: &Caller) -> Result<Value> {
    let query: Vec<_> =
        (!version.is_empty()).then(|| ("version", version.to_owned())).into_iter().collect();
    caller.get(&path(name), &query).await
}

fn table(all: &[Value]) -> String {
    let mut table = Table::new(["NAME", "VERSION", "ASKED", "FOR", "PUT", "BY", "WHY"]);
    for policy in all {
        let said = |name: &str| policy[name].as_str().unwrap_or_default().to_owned();
        table.row([
            said("name"),
            policy["version"].to_string(),
            said("position"),
            scope(&policy["scope"]),
            time::short(&said("at")),
            said("by"),
            said("reason"),
        ]);
    }
    table.text_or("no policies")
}

fn card(policy: &Value) -> String {
    let said = |name: &str| policy[name].as_str().unwrap_or_default().to_owned();
    let text = serde_json::to_string_pretty(&policy["policy"]).unwrap_or_default();
    let mut card = Card::default();
    card.line("Name", said("name"))
        .line("Version", policy["version"].to_string())
        .line("Asked", said("position"))
        .line("For", scope(&policy["scope"]))
        .line("Put", time::short(&said("at")))
        .line("By", said("by"))
        .line("Why", said("reason"))
        .line("Policy", text);
    card.text()
}

fn scope(scope: &Value) -> String {
    let parts: Vec<String> = scope
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name} {}", value.as_str().unwrap_or_default()))
        .collect();
    if parts.is_empty() { "everything".to_owned() } else { parts.join(", ") }
}

fn warnings(version: &Value, paint: Paint) -> String {
    let warnings = version["warnings"].as_array().map_or(&[][..], Vec::as_slice);
    let line = |text: &str| format!("{} {text}\n", paint.odd("warning:"));
    warnings.iter().filter_map(Value::as_str).map(line).collect()
}

fn path(name: &str) -> String {
    format!("policies/{}", escaped(name))
}
