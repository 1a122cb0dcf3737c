//! `steadfast resume-job`: resumes of many errors, at a chosen pace.

use std::{str::FromStr, time::Duration};

use anyhow::Result;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    caller::{Caller, escaped},
    family::HttpFamily,
    output::{Card, Progress, Table, View},
    time,
    trouble::Trouble,
};

/// Look at and steer resume jobs; `steadfast resume --job` starts them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: HttpFamily<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List jobs
    List,
    /// Tell how a job goes
    Describe(JobArgs),
    /// Show how a job goes until it has ended
    Watch(JobArgs),
    /// Hold a job
    Pause(JobArgs),
    /// Have a held job go on
    Continue(JobArgs),
    /// Change how many a job resumes a second
    Rate {
        #[command(flatten)]
        job: JobArgs,
        /// How many a second, or `auto`
        rate: Rate,
    },
    /// End a job; what it has resumed stays resumed
    Stop(JobArgs),
}

/// A number, or `auto`. What it may be is for the server to say.
#[derive(Clone, Debug)]
pub(crate) struct Rate(pub(crate) Value);

/// What was given is no rate.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is neither a number nor auto")]
pub(crate) struct BadRate(String);

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        match text.parse::<f64>() {
            Ok(number) => Ok(Self(json!(number))),
            Err(_) if text == "auto" => Ok(Self(json!(text))),
            Err(_) => Err(BadRate(text.to_owned())),
        }
    }
}

#[derive(Debug, clap::Args)]
struct JobArgs {
    /// The job's id
    id: String,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view, command) = args.family.open()?;
    let steer = async |job: &JobArgs, change: Value| {
        let job = caller.patch(&path(&job.id), &change).await?;
        view.answer_value(&job, || card(&job, Timestamp::now()))
    };
    match command {
        Command::List => {
            let answer = caller.get("resume-jobs", &[]).await?;
            let jobs = answer["jobs"].clone();
            view.answer_value(&jobs, || table(jobs.as_array().map_or(&[], Vec::as_slice)))
        }
        Command::Describe(job) => {
            let job = caller.get(&path(&job.id), &[]).await?;
            view.answer_value(&job, || card(&job, Timestamp::now()))
        }
        Command::Watch(job) => watch(&job.id, &caller, view).await,
        Command::Pause(job) => steer(job, json!({ "state": "paused" })).await,
        Command::Continue(job) => steer(job, json!({ "state": "running" })).await,
        Command::Rate { job, rate } => steer(job, json!({ "rate": rate.0 })).await,
        Command::Stop(job) => steer(job, json!({ "state": "stopped" })).await,
    }
}

/// Shows how a job goes until it has ended.
#[expect(clippy::disallowed_methods, reason = "somebody looks on, in the machine's own time")]
pub(crate) async fn watch(id: &str, caller: &Caller, view: &View) -> Result<()> {
    let mut progress = Progress::new(format!("resume job {id}"));
    loop {
        let job = caller.get(&path(id), &[]).await?;
        let count = |name: &str| job[name].as_u64().unwrap_or_default();
        let (total, settled) =
            (count("total"), count("succeeded") + count("failed") + count("refused"));
        progress.note(&format!("{} resumed, {} failed again", count("resumed"), count("failed")));
        progress.at(settled, total);
        let state = job["state"].as_str().unwrap_or_default();
        if !["running", "paused"].contains(&state) {
            progress.end();
            view.answer_value(&job, || card(&job, Timestamp::now()))?;
            return match state {
                "completed" => Ok(()),
                _ => Err(Trouble::not_completed(format!(
                    "resume job {id} did not complete: {state}"
                ))),
            };
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn table(jobs: &[Value]) -> String {
    let mut table =
        Table::new(["STATE", "ID", "DONE", "FAILED", "REFUSED", "OF", "RATE", "STARTED", "BY"]);
    for job in jobs {
        let said = |name: &str| job[name].as_str().unwrap_or_default().to_owned();
        table.row([
            said("state"),
            said("id"),
            job["succeeded"].to_string(),
            job["failed"].to_string(),
            job["refused"].to_string(),
            job["total"].to_string(),
            rate_of(job),
            time::short(&said("startedAt")),
            said("by"),
        ]);
    }
    table.text_or("no resume jobs")
}

fn card(job: &Value, now: Timestamp) -> String {
    let said = |name: &str| job[name].as_str().unwrap_or_default().to_owned();
    let when = |name: &str| {
        let at = said(name);
        if at.is_empty() {
            at
        } else {
            format!("{} ({})", time::short(&at), time::distance(&at, now))
        }
    };
    let done = format!(
        "{} of {} resumed, {} done since, {} failed again, {} refused",
        job["resumed"], job["total"], job["succeeded"], job["failed"], job["refused"]
    );
    let is_open = ["running", "paused"].contains(&said("state").as_str());
    let mut card = Card::default();
    card.line("Job id", said("id"))
        .line("State", said("state"))
        .line("Done", done)
        .line(
            "Canary",
            job["canary"].as_u64().filter(|n| *n > 0).map(|n| n.to_string()).unwrap_or_default(),
        )
        .line("Rate", rate_of(job))
        .line("Left", if is_open { said("left") } else { String::new() })
        .line("Refused", reports(&job["refusals"]))
        .line("Failed again", reports(&job["failures"]))
        .line("Started", when("startedAt"))
        .line("Ended", when("closedAt"))
        .line("By", said("by"))
        .line("Reason", said("reason"));
    card.text()
}

fn rate_of(job: &Value) -> String {
    let auto = if job["auto"] == true { ", found out by itself" } else { "" };
    format!("{}/s{auto}", job["rate"])
}

/// What is told of those that did not go on, the commonest first.
fn reports(all: &Value) -> String {
    let told = all.as_array().into_iter().flatten().map(|report| {
        format!("{} × {}", report["count"], report["reason"].as_str().unwrap_or_default())
    });
    told.collect::<Vec<_>>().join("; ")
}

fn path(id: &str) -> String {
    format!("resume-jobs/{}", escaped(id))
}

/// How often it is looked how a job goes.
const LOOK: Duration = Duration::from_millis(500);
