//! `steadfast task-queue`: who waits on a task queue.

use anyhow::Result;
use jiff::Timestamp;
use steadfast_proto::{
    enums::TaskQueueType,
    taskqueue::TaskQueue,
    workflowservice::{DescribeTaskQueueRequest, DescribeTaskQueueResponse},
};

use crate::{
    client::Client,
    family::Family,
    names,
    output::{Table, message, say, say_json},
    time,
};

/// Look at task queues
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: Family<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Tell which workers wait on a task queue, and how much waits for them
    Describe(DescribeArgs),
}

#[derive(Debug, clap::Args)]
struct DescribeArgs {
    /// The task queue
    #[arg(long, short, value_name = "NAME")]
    task_queue: String,

    /// Only one of its two sides: `workflow`, `activity`
    #[arg(long, value_name = "TYPE", value_parser = side)]
    task_queue_type: Option<TaskQueueType>,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (client, view, command) = args.family.open().await?;
    let Command::Describe(args) = command;
    let sides = match args.task_queue_type {
        Some(side) => vec![side],
        None => vec![TaskQueueType::Workflow, TaskQueueType::Activity],
    };
    let mut answers = Vec::new();
    for side in sides {
        answers.push((side, describe(&args.task_queue, side, &client).await?));
    }
    if !view.is_json() {
        return say(&text(&answers));
    }
    let mut object = serde_json::Map::new();
    for (side, answer) in &answers {
        object.insert(name(*side).to_lowercase(), message(answer, view.payloads())?);
    }
    say_json(&object.into())
}

/// What the server tells about one side of a task queue.
pub(crate) async fn describe(
    name: &str,
    side: TaskQueueType,
    client: &Client,
) -> Result<DescribeTaskQueueResponse> {
    let request = DescribeTaskQueueRequest {
        namespace: client.namespace.clone(),
        task_queue: Some(TaskQueue { name: name.to_owned(), ..TaskQueue::default() }),
        task_queue_type: side.into(),
        report_stats: true,
        ..DescribeTaskQueueRequest::default()
    };
    client.answer(client.workflow.clone().describe_task_queue(request)).await
}

fn text(answers: &[(TaskQueueType, DescribeTaskQueueResponse)]) -> String {
    let now = Timestamp::now();
    let mut pollers = Table::new(["SIDE", "POLLER", "LAST SEEN"]);
    let mut backlog = Table::new(["SIDE", "WAITING TASKS", "OLDEST"]);
    for (side, answer) in answers {
        for poller in &answer.pollers {
            let seen = time::relative(poller.last_access_time.as_ref(), now);
            pollers.row([name(*side), poller.identity.clone(), seen]);
        }
        if let Some(stats) = &answer.stats {
            let age = time::lasting(stats.approximate_backlog_age.as_ref());
            backlog.row([name(*side), stats.approximate_backlog_count.to_string(), age]);
        }
    }
    format!("{}\n{}", pollers.text_or("no pollers"), backlog.text_or("")).trim_end().to_owned()
}

fn name(side: TaskQueueType) -> String {
    names::shown(side.as_str_name(), "TASK_QUEUE_TYPE_")
}

fn side(text: &str) -> Result<TaskQueueType, names::NotAName> {
    let known = TaskQueueType::from_str_name;
    names::parse(text, "TASK_QUEUE_TYPE_", known, "workflow, activity")
}
