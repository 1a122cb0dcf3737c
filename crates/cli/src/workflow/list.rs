//! `workflow list` and `workflow count`.

use anyhow::Result;
use steadfast_proto::{
    enums::WorkflowExecutionStatus,
    workflow::WorkflowExecutionInfo,
    workflowservice::{
        CountWorkflowExecutionsRequest, CountWorkflowExecutionsResponse,
        ListWorkflowExecutionsRequest,
    },
};

use crate::{
    client::Client,
    names,
    output::{Table, View, show},
    pages, time,
};

/// What can be said to `list`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those that a list filter matches: `WorkflowType = 'Order' AND ExecutionStatus =
    /// 'Running'`
    #[arg(long, short, value_name = "FILTER", default_value = "", hide_default_value = true)]
    query: String,

    /// The most to list
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    limit: usize,
}

/// What can be said to `count`.
#[derive(Debug, clap::Args)]
pub(crate) struct CountArgs {
    /// Only those that a list filter matches; `GROUP BY ExecutionStatus` counts by status
    #[arg(long, short, value_name = "FILTER", default_value = "", hide_default_value = true)]
    query: String,
}

/// `workflow list`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let all = pages::collect(args.limit, async |next_page_token, page_size| {
        let request = ListWorkflowExecutionsRequest {
            namespace: client.namespace.clone(),
            query: args.query.clone(),
            page_size,
            next_page_token,
        };
        let page = client.answer(client.workflow.clone().list_workflow_executions(request)).await?;
        Ok((page.executions, page.next_page_token))
    })
    .await?;
    view.answer_all(&all, text)
}

/// `workflow count`.
pub(super) async fn count(args: &CountArgs, client: &Client, view: &View) -> Result<()> {
    let request = CountWorkflowExecutionsRequest {
        namespace: client.namespace.clone(),
        query: args.query.clone(),
    };
    let count = client.answer(client.workflow.clone().count_workflow_executions(request)).await?;
    view.answer(&count, count_text)
}

fn text(all: &[WorkflowExecutionInfo]) -> String {
    let mut table = Table::new(["STATUS", "WORKFLOW ID", "TYPE", "STARTED", "CLOSED", "RUN ID"]);
    for info in all {
        let execution = info.execution.clone().unwrap_or_default();
        table.row([
            status(info.status),
            execution.workflow_id,
            info.r#type.clone().unwrap_or_default().name,
            time::at(info.start_time.as_ref()),
            time::at(info.close_time.as_ref()),
            execution.run_id,
        ]);
    }
    table.text_or("no workflows")
}

fn count_text(count: &CountWorkflowExecutionsResponse) -> String {
    let mut table = Table::new(["COUNT", "GROUP"]);
    for group in &count.groups {
        let values: Vec<_> = group.group_values.iter().map(show).collect();
        table.row([group.count.to_string(), values.join(", ")]);
    }
    table.text_or(&count.count.to_string())
}

/// A status as people read it.
pub(super) fn status(number: i32) -> String {
    let status = WorkflowExecutionStatus::try_from(number).unwrap_or_default();
    names::shown(status.as_str_name(), "WORKFLOW_EXECUTION_STATUS_")
}
