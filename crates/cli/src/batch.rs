//! `steadfast batch`: jobs on many workflows.
//!
//! They are started by the workflow commands that take a `--query`.

use anyhow::Result;
use jiff::Timestamp;
use serde_json::json;
use steadfast_proto::{
    batch::BatchOperationInfo,
    enums::{BatchOperationState, BatchOperationType},
    workflowservice::{
        DescribeBatchOperationRequest, DescribeBatchOperationResponse, ListBatchOperationsRequest,
        StopBatchOperationRequest,
    },
};

use crate::{
    client::Client,
    family::Family,
    names,
    output::{Card, Table, View},
    pages,
    target::reason_or_default,
    time,
};

/// Look at and end jobs on many workflows; `workflow signal --query` and its like start them
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: Family<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Tell how far a job has come
    Describe(JobArgs),
    /// List jobs
    List(ListArgs),
    /// End a job; what it has done stays done
    Terminate(TerminateArgs),
}

#[derive(Debug, clap::Args)]
struct JobArgs {
    /// The job's id
    #[arg(long, value_name = "ID")]
    job_id: String,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The most to list
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    limit: usize,
}

#[derive(Debug, clap::Args)]
struct TerminateArgs {
    #[command(flatten)]
    job: JobArgs,

    /// Why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (client, view, command) = args.family.open().await?;
    match command {
        Command::Describe(args) => describe(args, &client, view).await,
        Command::List(args) => list(args, &client, view).await,
        Command::Terminate(args) => terminate(args, &client, view).await,
    }
}

async fn describe(args: &JobArgs, client: &Client, view: &View) -> Result<()> {
    let request = DescribeBatchOperationRequest {
        namespace: client.namespace.clone(),
        job_id: args.job_id.clone(),
    };
    let answer = client.answer(client.workflow.clone().describe_batch_operation(request)).await?;
    view.answer(&answer, |answer| card(answer, Timestamp::now()))
}

async fn list(args: &ListArgs, client: &Client, view: &View) -> Result<()> {
    let all = pages::collect(args.limit, async |next_page_token, page_size| {
        let request = ListBatchOperationsRequest {
            namespace: client.namespace.clone(),
            page_size,
            next_page_token,
        };
        let page = client.answer(client.workflow.clone().list_batch_operations(request)).await?;
        Ok((page.operation_info, page.next_page_token))
    })
    .await?;
    view.answer_all(&all, table)
}

async fn terminate(args: &TerminateArgs, client: &Client, view: &View) -> Result<()> {
    let job_id = args.job.job_id.clone();
    let request = StopBatchOperationRequest {
        namespace: client.namespace.clone(),
        job_id: job_id.clone(),
        reason: reason_or_default(&args.reason, client),
        identity: client.identity.clone(),
    };
    client.answer(client.workflow.clone().stop_batch_operation(request)).await?;
    view.answer_value(&json!({ "batchJobId": job_id }), || format!("ended batch job {job_id}"))
}

fn card(answer: &DescribeBatchOperationResponse, now: Timestamp) -> String {
    let mut card = Card::default();
    let done = format!(
        "{} of {}, {} failed",
        answer.complete_operation_count,
        answer.total_operation_count,
        answer.failure_operation_count
    );
    card.line("Job id", answer.job_id.clone())
        .line("Operation", operation(answer.operation_type))
        .line("State", state(answer.state))
        .line("Done", done)
        .line("Query", answer.query.clone())
        .line("Started", time::relative(answer.start_time.as_ref(), now))
        .line("Ended", time::relative(answer.close_time.as_ref(), now))
        .line("By", answer.identity.clone())
        .line("Reason", answer.reason.clone());
    card.text()
}

fn table(all: &[BatchOperationInfo]) -> String {
    let mut table = Table::new(["STATE", "OPERATION", "JOB ID", "STARTED", "ENDED"]);
    for job in all {
        table.row([
            state(job.state),
            operation(job.operation_type),
            job.job_id.clone(),
            time::at(job.start_time.as_ref()),
            time::at(job.close_time.as_ref()),
        ]);
    }
    table.text_or("no batch jobs")
}

fn state(number: i32) -> String {
    let state = BatchOperationState::try_from(number).unwrap_or_default();
    names::shown(state.as_str_name(), "BATCH_OPERATION_STATE_")
}

fn operation(number: i32) -> String {
    let kind = BatchOperationType::try_from(number).unwrap_or_default();
    names::shown(kind.as_str_name(), "BATCH_OPERATION_TYPE_")
}
