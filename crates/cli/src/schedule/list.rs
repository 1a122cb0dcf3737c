//! `schedule list`.

use anyhow::Result;
use steadfast_proto::{schedule::ScheduleListEntry, workflowservice::ListSchedulesRequest};

use crate::{
    client::Client,
    output::{Table, View, cut},
    pages, time,
};

/// What can be said to `list`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only those that a list filter matches
    #[arg(long, short, value_name = "FILTER", default_value = "", hide_default_value = true)]
    query: String,

    /// The most to list
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    limit: usize,
}

pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let all = pages::collect(args.limit, async |next_page_token, maximum_page_size| {
        let request = ListSchedulesRequest {
            namespace: client.namespace.clone(),
            maximum_page_size,
            next_page_token,
            query: args.query.clone(),
        };
        let page = client.answer(client.workflow.clone().list_schedules(request)).await?;
        Ok((page.schedules, page.next_page_token))
    })
    .await?;
    view.answer_all(&all, table)
}

fn table(all: &[ScheduleListEntry]) -> String {
    let mut table = Table::new(["SCHEDULE ID", "STATE", "WORKFLOW TYPE", "NEXT", "LAST", "NOTES"]);
    for entry in all {
        let info = entry.info.clone().unwrap_or_default();
        let last = info.recent_actions.last().and_then(|it| it.actual_time.as_ref());
        table.row([
            entry.schedule_id.clone(),
            if info.paused { "Paused" } else { "Running" }.to_owned(),
            info.workflow_type.clone().unwrap_or_default().name,
            time::at(info.future_action_times.first()),
            time::at(last),
            cut(&info.notes, 60),
        ]);
    }
    table.text_or("no schedules")
}
