//! `steadfast resume`: errors go on, a few at once or many at a chosen pace.

use anyhow::Result;
use serde_json::{Map, Value, json};

use crate::{
    act::{ActArgs, tell},
    caller::Caller,
    family::HttpOptions,
    file,
    input::{Input, Pair, arguments},
    output::View,
    resume_job::{self, Rate},
};

/// Resume errors: parked activities are tried again, failed runs go on from before the step that
/// failed
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: HttpOptions,
    #[command(flatten)]
    act: ActArgs,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    job: JobArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "How they go on")]
struct How {
    /// Have their policies count anew
    #[arg(long)]
    reset_attempts: bool,

    /// Have them forget how far they had come
    #[arg(long)]
    reset_heartbeat: bool,

    /// Give them new idempotency keys: those whom they call have forgotten the old ones
    #[arg(long)]
    rekey: bool,

    /// Spread the starts over so long
    #[arg(long, value_name = "DURATION")]
    spread: Option<String>,

    /// A header field for the next attempt alone, as key=value; a value may be JSON
    #[arg(long = "metadata", value_name = "KEY=VALUE")]
    fields: Vec<Pair>,

    #[command(flatten)]
    input: Input,

    /// Another retry policy from now on, a JSON or YAML file
    #[arg(long, value_name = "FILE")]
    policy: Option<String>,

    /// A second resume with the same id changes nothing
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "As a job")]
struct JobArgs {
    /// Resume them as a job, at a chosen pace; it goes on though the server is restarted
    #[arg(long)]
    job: bool,

    /// The job's id; a fresh one if it is not given
    #[arg(long, value_name = "ID", requires = "job")]
    job_id: Option<String>,

    /// How many are resumed a second; `auto` goes faster while they go well, and slower when they fail
    #[arg(long, value_name = "NUMBER|auto", requires = "job", default_value = "10")]
    rate: Rate,

    /// How many are resumed first, and waited for
    #[arg(long, value_name = "NUMBER", requires = "job", default_value_t = 0)]
    canary: u32,

    /// Stop when more than this share, from 0 to 1, have failed again
    #[arg(long, value_name = "SHARE", requires = "job", default_value_t = 0.5)]
    max_failures: f64,

    /// Which come first
    #[arg(long, value_name = "ORDER", requires = "job", value_enum, default_value_t)]
    order: JobOrder,

    /// Begin with those that failed last
    #[arg(long, requires = "job", conflicts_with = "order")]
    newest_first: bool,

    /// Wait until it has ended, and show how it goes
    #[arg(long, requires = "job")]
    watch: bool,
}

/// Which errors come first.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum JobOrder {
    /// Those that failed longest ago
    #[default]
    Oldest,
    /// Those that failed last
    Newest,
    /// Those that must have ended soonest
    Deadline,
    /// The most urgent, then the oldest
    Priority,
}

impl JobOrder {
    fn name(self) -> &'static str {
        match self {
            Self::Oldest => "oldest",
            Self::Newest => "newest",
            Self::Deadline => "deadline",
            Self::Priority => "priority",
        }
    }
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view) = args.options.open()?;
    if args.job.job { start(args, &caller, view).await } else { at_once(args, &caller, view).await }
}

async fn at_once(args: &Args, caller: &Caller, view: &View) -> Result<()> {
    let body = json!({
        "select": args.act.select.value()?,
        "reason": args.act.reason,
        "resume": args.how.value()?,
    });
    tell(&caller.post("errors/resume", &body).await?, "resumed", view)
}

async fn start(args: &Args, caller: &Caller, view: &View) -> Result<()> {
    let job = &args.job;
    let body = json!({
        "id": job.job_id.clone().unwrap_or_default(),
        "select": args.act.select.value()?,
        "reason": args.act.reason,
        "resume": args.how.value()?,
        "canary": job.canary,
        "rate": job.rate.0,
        "maxFailures": job.max_failures,
        "order": if job.newest_first { "newest" } else { job.order.name() },
    });
    let started = caller.post("resume-jobs", &body).await?;
    let id = started["id"].as_str().unwrap_or_default();
    if job.watch {
        return resume_job::watch(id, caller, view).await;
    }
    view.answer_value(&started, || {
        format!(
            "started resume job {id} for {} errors\nsee how it goes: steadfast resume-job watch {id}\n",
            started["total"]
        )
    })
}

impl How {
    /// What is to become different.
    fn change(&self) -> Result<Map<String, Value>> {
        let policy = self.policy.as_deref().map(file::draft).transpose()?;
        let policy = policy.map(serde_json::to_value).transpose()?;
        let parts = [("policy", policy), ("input", arguments(&self.input)?)];
        let given = parts.into_iter().filter_map(|(name, it)| it.map(|it| (name.to_owned(), it)));
        Ok(given.collect())
    }

    fn value(&self) -> Result<Value> {
        let mut value = Map::new();
        let mut put = |name: &str, it: Value| drop(value.insert(name.to_owned(), it));
        if self.reset_attempts {
            put("resetAttempts", json!(true));
        }
        if self.reset_heartbeat {
            put("resetHeartbeat", json!(true));
        }
        if self.rekey {
            put("rekey", json!(true));
        }
        if let Some(spread) = &self.spread {
            put("spread", json!(spread));
        }
        if !self.fields.is_empty() {
            put(
                "metadata",
                self.fields
                    .iter()
                    .map(|pair| (pair.key.clone(), json_or_text(&pair.value)))
                    .collect(),
            );
        }
        let change = self.change()?;
        if !change.is_empty() {
            put("change", Value::Object(change));
        }
        if let Some(id) = &self.request_id {
            put("requestId", json!(id));
        }
        Ok(Value::Object(value))
    }
}

/// A value that is not JSON is taken as a text, as fingers expect.
fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}
