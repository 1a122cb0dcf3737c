//! `schedule create`, `schedule update` and `schedule delete`.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    common::Memo,
    schedule::{Schedule, ScheduleAction, schedule_action::Action},
    workflowservice::{
        CreateScheduleRequest, DeleteScheduleRequest, DescribeScheduleRequest,
        UpdateScheduleRequest,
    },
};

use super::{
    Named,
    spec::{Manner, When},
};
use crate::{
    client::{Client, fresh_id},
    input::{Pair, payload_map},
    output::View,
    workflow::{Start, search_attributes},
};

/// What can be said to `create`.
#[derive(Debug, clap::Args)]
pub(super) struct CreateArgs {
    #[command(flatten)]
    which: Named,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    start: Start,

    /// A note that is kept with the schedule itself, as key=JSON; may be repeated
    #[arg(long, value_name = "KEY=JSON")]
    schedule_memo: Vec<Pair>,

    /// An attribute to search schedules by, as name=JSON; may be repeated
    #[arg(long, value_name = "NAME=JSON")]
    schedule_search_attribute: Vec<Pair>,
}

/// What can be said to `update`.
#[derive(Debug, clap::Args)]
pub(super) struct UpdateArgs {
    #[command(flatten)]
    which: Named,
    #[command(flatten)]
    when: When,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    start: Start,
}

pub(super) async fn create(args: &CreateArgs, client: &Client, view: &View) -> Result<()> {
    let id = args.which.schedule_id.clone();
    let memo = &args.schedule_memo;
    let request = CreateScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        schedule: Some(schedule(&args.when, &args.manner, &args.start, &id)?),
        identity: client.identity.clone(),
        request_id: fresh_id(),
        memo: (!memo.is_empty()).then(|| Memo { fields: payload_map(memo) }),
        search_attributes: search_attributes(&args.schedule_search_attribute),
        ..CreateScheduleRequest::default()
    };
    client.answer(client.workflow.clone().create_schedule(request)).await?;
    view.answer_value(&json!({ "scheduleId": id }), || format!("made schedule {id}"))
}

pub(super) async fn update(args: &UpdateArgs, client: &Client, view: &View) -> Result<()> {
    let id = args.which.schedule_id.clone();
    let request =
        DescribeScheduleRequest { namespace: client.namespace.clone(), schedule_id: id.clone() };
    let before = client.answer(client.workflow.clone().describe_schedule(request)).await?;
    let request = UpdateScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        schedule: Some(schedule(&args.when, &args.manner, &args.start, &id)?),
        // Whoever changed it meanwhile is not overwritten.
        conflict_token: before.conflict_token,
        identity: client.identity.clone(),
        request_id: fresh_id(),
        ..UpdateScheduleRequest::default()
    };
    client.answer(client.workflow.clone().update_schedule(request)).await?;
    view.answer_value(&json!({ "scheduleId": id }), || format!("changed schedule {id}"))
}

pub(super) async fn delete(id: &str, client: &Client, view: &View) -> Result<()> {
    let request = DeleteScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.to_owned(),
        identity: client.identity.clone(),
    };
    client.answer(client.workflow.clone().delete_schedule(request)).await?;
    view.answer_value(&json!({ "scheduleId": id }), || format!("removed schedule {id}"))
}

fn schedule(when: &When, manner: &Manner, start: &Start, id: &str) -> Result<Schedule> {
    let mut workflow = start.info()?;
    if start.workflow_id.is_none() {
        workflow.workflow_id = format!("{id}-workflow");
    }
    Ok(Schedule {
        spec: Some(when.wire()?),
        action: Some(ScheduleAction { action: Some(Action::StartWorkflow(workflow)) }),
        policies: Some(manner.policies()),
        state: Some(manner.state()),
    })
}
