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
    trouble::Trouble,
    workflow::{Restart, Start, search_attributes},
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
    start: Restart,
}

pub(super) async fn create(args: &CreateArgs, client: &Client, view: &View) -> Result<()> {
    let id = args.which.schedule_id.clone();
    let memo = &args.schedule_memo;
    let request = CreateScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        schedule: Some(new(args)?),
        identity: client.identity.clone(),
        request_id: fresh_id(),
        memo: (!memo.is_empty()).then(|| Memo { fields: payload_map(memo) }),
        search_attributes: search_attributes(&args.schedule_search_attribute),
        ..CreateScheduleRequest::default()
    };
    let request = client.encoded(request).await?;
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
        schedule: Some(changed(before.schedule.unwrap_or_default(), args)?),
        // Whoever changed it meanwhile is not overwritten.
        conflict_token: before.conflict_token,
        identity: client.identity.clone(),
        request_id: fresh_id(),
        ..UpdateScheduleRequest::default()
    };
    let request = client.encoded(request).await?;
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

fn new(args: &CreateArgs) -> Result<Schedule> {
    let mut workflow = args.start.info()?;
    if args.start.particulars.workflow_id.is_none() {
        workflow.workflow_id = format!("{}-workflow", args.which.schedule_id);
    }
    let action = ScheduleAction { action: Some(Action::StartWorkflow(workflow)) };
    let mut schedule = Schedule { action: Some(action), ..Schedule::default() };
    args.when.change(schedule.spec.get_or_insert_default())?;
    args.manner.change_policies(schedule.policies.get_or_insert_default());
    args.manner.change_state(schedule.state.get_or_insert_default());
    Ok(schedule)
}

/// What was not named stays as it was.
fn changed(mut schedule: Schedule, args: &UpdateArgs) -> Result<Schedule> {
    args.when.change(schedule.spec.get_or_insert_default())?;
    args.manner.change_policies(schedule.policies.get_or_insert_default());
    args.manner.change_state(schedule.state.get_or_insert_default());
    let action = schedule.action.as_mut().and_then(|action| action.action.as_mut());
    let Some(Action::StartWorkflow(workflow)) = action else {
        return Err(Trouble::usage("this schedule starts no workflow that could be changed"));
    };
    args.start.change(workflow)?;
    Ok(schedule)
}
