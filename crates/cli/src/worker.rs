//! `steadfast worker`: who works for a namespace, as workers tell of themselves.

use anyhow::Result;
use jiff::Timestamp;
use steadfast_proto::{
    worker::{WorkerHeartbeat, WorkerListInfo, WorkerSlotsInfo},
    workflowservice::{DescribeWorkerRequest, DescribeWorkerResponse, ListWorkersRequest},
};

use crate::{
    client::Client,
    family::Family,
    names,
    output::{Card, Table, View},
    pages, time,
};

/// Look at workers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: Family<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the workers that were heard of in the last minutes
    List(ListArgs),
    /// Tell how one of them does
    Describe(DescribeArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only those that a list filter matches, such as `TaskQueue = 'orders'`
    #[arg(long, short, value_name = "FILTER", default_value = "", hide_default_value = true)]
    query: String,

    /// The most to list
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    limit: usize,
}

#[derive(Debug, clap::Args)]
struct DescribeArgs {
    /// Its key, as `worker list` shows it
    #[arg(long, short = 'k', value_name = "KEY")]
    worker_instance_key: String,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (client, view, command) = args.family.open().await?;
    match command {
        Command::List(args) => list(args, &client, view).await,
        Command::Describe(args) => describe(args, &client, view).await,
    }
}

async fn list(args: &ListArgs, client: &Client, view: &View) -> Result<()> {
    let all = pages::collect(args.limit, async |next_page_token, page_size| {
        let request = ListWorkersRequest {
            namespace: client.namespace.clone(),
            page_size,
            next_page_token,
            query: args.query.clone(),
            ..ListWorkersRequest::default()
        };
        let page = client.answer(client.workflow.clone().list_workers(request)).await?;
        Ok((page.workers, page.next_page_token))
    })
    .await?;
    view.answer_all(&all, table)
}

fn table(all: &[WorkerListInfo]) -> String {
    let head = ["KEY", "IDENTITY", "TASK QUEUE", "STATUS", "SDK", "HOST", "PROCESS", "STARTED"];
    let mut table = Table::new(head);
    for worker in all {
        table.row([
            worker.worker_instance_key.clone(),
            worker.worker_identity.clone(),
            worker.task_queue.clone(),
            names::shown(worker.status().as_str_name(), STATUS),
            format!("{} {}", worker.sdk_name, worker.sdk_version),
            worker.host_name.clone(),
            worker.process_id.clone(),
            time::at(worker.start_time.as_ref()),
        ]);
    }
    table.text_or("no workers")
}

async fn describe(args: &DescribeArgs, client: &Client, view: &View) -> Result<()> {
    let request = DescribeWorkerRequest {
        namespace: client.namespace.clone(),
        worker_instance_key: args.worker_instance_key.clone(),
    };
    let answer = client.answer(client.workflow.clone().describe_worker(request)).await?;
    view.answer(&answer, card)
}

fn card(answer: &DescribeWorkerResponse) -> String {
    let info = answer.worker_info.as_ref();
    let worker = info.and_then(|it| it.worker_heartbeat.clone()).unwrap_or_default();
    let host = worker.host_info.clone().unwrap_or_default();
    let mut card = Card::default();
    card.line("Identity", &worker.worker_identity)
        .line("Task queue", &worker.task_queue)
        .line("Status", names::shown(worker.status().as_str_name(), STATUS))
        .line("SDK", format!("{} {}", worker.sdk_name, worker.sdk_version))
        .line("Host", format!("{}, process {}", host.host_name, host.process_id))
        .line("Started", time::at(worker.start_time.as_ref()))
        .line("Heard of", time::relative(worker.heartbeat_time.as_ref(), Timestamp::now()));
    for (name, slots) in kinds(&worker) {
        card.line(name, done(slots));
    }
    card.line("Workflows kept", worker.current_sticky_cache_size.to_string());
    card.text()
}

/// What it does, by kind, as far as it has told.
fn kinds(worker: &WorkerHeartbeat) -> impl Iterator<Item = (&'static str, &WorkerSlotsInfo)> {
    let kinds = [
        ("Workflow tasks", &worker.workflow_task_slots_info),
        ("Activities", &worker.activity_task_slots_info),
        ("Local activities", &worker.local_activity_slots_info),
    ];
    kinds.into_iter().filter_map(|(name, slots)| Some((name, slots.as_ref()?)))
}

fn done(slots: &WorkerSlotsInfo) -> String {
    let (all, failed) = (slots.total_processed_tasks, slots.total_failed_tasks);
    let (used, free) = (slots.current_used_slots, slots.current_available_slots);
    if used + free == 0 {
        return format!("{all} done, {failed} failed");
    }
    format!("{all} done, {failed} failed; {used} under way, room for {free}")
}

const STATUS: &str = "WORKER_STATUS_";
