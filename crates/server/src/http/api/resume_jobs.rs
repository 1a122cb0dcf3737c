//! Resume jobs: many errors, resumed at a chosen pace.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_engine::{
    Timestamp,
    failures::{JobOrder, JobProgress, JobRate, JobReport, JobState, NewResumeJob},
    fingerprint,
};
use utoipa::ToSchema;

use super::{
    acting::How,
    call::Call,
    fault::Fault,
    input::{Body, Nothing},
    wire::{Select, Span, Time},
};

/// A job as somebody asks for it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = NewResumeJob)]
pub(super) struct Start {
    /// Its name; made when it is not given.
    #[serde(default)]
    id: String,
    select: Select,
    /// How each goes on, if not as it is.
    resume: Option<How>,
    /// How many are resumed first, and waited for; none if it is not given.
    #[serde(default)]
    canary: u32,
    /// How many are resumed a second, or `auto`: faster while they go well, slower when they fail
    /// again. 10 if it is not given.
    #[schema(value_type = Option<RateName>)]
    rate: Option<Value>,
    /// The share of resumed errors, from 0 to 1, above which the job stops; a half if it is not
    /// given.
    #[serde(default = "max_failures")]
    max_failures: f64,
    /// Which of them come first; the oldest if it is not given.
    #[serde(default)]
    order: JobOrderName,
    /// Why, for the record of changes.
    reason: Option<String>,
}

/// Which errors come first.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = JobOrder)]
pub(super) enum JobOrderName {
    /// Those that failed longest ago.
    #[default]
    Oldest,
    /// Those that failed last.
    Newest,
    /// Those that must have ended soonest: by the time that the activity or its run may take, or that
    /// it is kept. Those without an end come last, the oldest first.
    Deadline,
    /// The most urgent by their priority, then the oldest.
    Priority,
}

/// A rate: a number, or `auto`.
#[derive(ToSchema)]
#[serde(untagged)]
#[schema(as = JobRate)]
#[expect(dead_code, reason = "only described: what is sent is read by hand, for clear errors")]
pub(super) enum RateName {
    /// So many a second.
    Fixed(f64),
    /// `auto`.
    Named(String),
}

/// What is to change about a job.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = ResumeJobChange)]
pub(super) struct Steer {
    /// `paused` holds it, `running` has it go on, `stopped` ends it.
    state: Option<JobStateName>,
    /// How many are resumed a second, or `auto`.
    #[schema(value_type = Option<RateName>)]
    rate: Option<Value>,
}

/// What a job is about.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = JobState)]
pub(super) enum JobStateName {
    /// It goes on.
    Running,
    /// Somebody holds it.
    Paused,
    /// All were resumed, and have settled.
    Completed,
    /// Somebody ended it.
    Stopped,
    /// Too many have failed again.
    TooManyFailures,
}

/// How a job goes.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ResumeJob)]
pub(super) struct Job {
    id: String,
    state: JobStateName,
    by: String,
    reason: String,
    started_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Time>,
    /// How many errors it is for.
    total: u64,
    /// How many it has resumed.
    resumed: u64,
    /// How many could not be resumed: they had gone on, or were gone.
    refused: u64,
    /// How many are done since.
    succeeded: u64,
    /// How many have failed again.
    failed: u64,
    /// How many it resumes first.
    canary: u32,
    /// How many it resumes a second just now.
    rate: f64,
    /// Whether it finds that out by itself.
    auto: bool,
    /// The share of failures above which it stops.
    max_failures: f64,
    /// How long it still takes at its rate.
    left: Span,
    /// Why some could not be resumed, the commonest first.
    refusals: Vec<Report>,
    /// Of what some have failed again, the commonest first.
    failures: Vec<Report>,
}

/// What became of some of the errors of a job, alike.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ResumeJobReport)]
pub(super) struct Report {
    /// The fingerprint of what they say, as that of errors; none for all that there was no room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// What one of them said.
    reason: String,
    /// How many they are.
    count: u64,
}

/// Jobs, the newest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = ResumeJobs)]
pub(super) struct Jobs {
    jobs: Vec<Job>,
}

/// Starts one.
pub(super) async fn start(call: Call, Body(start): Body<Start>) -> Result<Job, Fault> {
    let order = match start.order {
        JobOrderName::Oldest => JobOrder::Oldest,
        JobOrderName::Newest => JobOrder::Newest,
        JobOrderName::Deadline => JobOrder::Deadline,
        JobOrderName::Priority => JobOrder::Priority,
    };
    let new = NewResumeJob {
        id: start.id,
        selection: start.select.engine()?,
        resume: start.resume.unwrap_or_default().engine(&call, start.reason)?,
        canary: start.canary,
        rate: start.rate.as_ref().map_or(Ok(JobRate::Fixed(RATE)), rate)?,
        max_failures: start.max_failures,
        order,
    };
    Ok(call.engine.start_resume_job(&call.namespace, new).await?.into())
}

/// Lists them.
pub(super) async fn list(call: Call, _: Nothing) -> Result<Jobs, Fault> {
    let jobs = call.engine.list_resume_jobs(&call.namespace)?;
    Ok(Jobs { jobs: jobs.into_iter().map(Job::from).collect() })
}

/// Says how one goes.
pub(super) async fn get(call: Call, _: Nothing) -> Result<Job, Fault> {
    Ok(call.engine.describe_resume_job(&call.namespace, call.part("id"))?.into())
}

/// Holds one, has it go on, changes its rate, or ends it.
pub(super) async fn steer(call: Call, Body(steer): Body<Steer>) -> Result<Job, Fault> {
    let state = match steer.state {
        None => None,
        Some(JobStateName::Running) => Some(JobState::Running),
        Some(JobStateName::Paused) => Some(JobState::Paused),
        Some(JobStateName::Stopped) => Some(JobState::Stopped),
        Some(JobStateName::Completed | JobStateName::TooManyFailures) => {
            let message = "state: only running, paused and stopped can be asked for";
            return Err(Fault::invalid(message).at("state"));
        }
    };
    if state.is_none() && steer.rate.is_none() {
        return Err(Fault::invalid("say what is to change: state, rate, or both"));
    }
    let id = call.part("id");
    let rate = steer.rate.as_ref().map(rate).transpose()?;
    Ok(call.engine.change_resume_job(&call.namespace, id, state, rate).await?.into())
}

fn rate(value: &Value) -> Result<JobRate, Fault> {
    if let Some(number) = value.as_f64() {
        return Ok(JobRate::Fixed(number));
    }
    if value == "auto" {
        return Ok(JobRate::Auto);
    }
    let message = format!("rate: a number above 0 or \"auto\", not {value}");
    Err(Fault::invalid(message).at("rate"))
}

/// How many are resumed a second, unless somebody says so.
const RATE: f64 = 10.0;

fn max_failures() -> f64 {
    0.5
}

impl From<JobReport> for Report {
    fn from(report: JobReport) -> Self {
        let JobReport { fingerprint: print, text, count } = report;
        let fingerprint = (print != 0).then(|| fingerprint::text(print));
        Self { fingerprint, reason: text, count }
    }
}

impl From<JobProgress> for Job {
    fn from(job: JobProgress) -> Self {
        let state = match job.state {
            JobState::Running => JobStateName::Running,
            JobState::Paused => JobStateName::Paused,
            JobState::Completed => JobStateName::Completed,
            JobState::Stopped => JobStateName::Stopped,
            JobState::TooManyFailures => JobStateName::TooManyFailures,
        };
        Self {
            id: job.id,
            state,
            by: job.who.identity,
            reason: job.who.reason,
            started_at: Time(Timestamp(job.started_at)),
            closed_at: Time::known(job.closed_at),
            total: job.total,
            resumed: job.resumed,
            refused: job.refused,
            succeeded: job.succeeded,
            failed: job.failed,
            canary: job.canary,
            rate: job.rate,
            auto: job.is_auto,
            max_failures: job.max_failures,
            left: Span(job.left),
            refusals: job.refusals.into_iter().map(Report::from).collect(),
            failures: job.failures.into_iter().map(Report::from).collect(),
        }
    }
}
