//! What is said to a schedule that is there: rest, go on, act now, make up for the past.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    enums::ScheduleOverlapPolicy,
    schedule::{BackfillRequest, SchedulePatch, TriggerImmediatelyRequest},
    workflowservice::PatchScheduleRequest,
};

use super::{Named, spec::overlap};
use crate::{
    client::{Client, fresh_id},
    output::View,
    target::reason_or_default,
    time::Moment,
};

/// What can be said to `pause` and `unpause`.
#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    which: Named,

    /// Why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

/// What can be said to `toggle`.
#[derive(Debug, clap::Args)]
pub(super) struct ToggleArgs {
    #[command(flatten)]
    pause_args: PauseArgs,

    /// Let it rest
    #[arg(long, required_unless_present = "unpause", conflicts_with = "unpause")]
    pause: bool,

    /// Let it go on
    #[arg(long)]
    unpause: bool,
}

/// What can be said to `trigger`.
#[derive(Debug, clap::Args)]
pub(super) struct TriggerArgs {
    #[command(flatten)]
    which: Named,

    /// What to do while what it started still runs; without it, as the schedule says
    #[arg(long, value_name = "POLICY", value_parser = overlap)]
    overlap_policy: Option<ScheduleOverlapPolicy>,
}

/// What can be said to `backfill`.
#[derive(Debug, clap::Args)]
pub(super) struct BackfillArgs {
    #[command(flatten)]
    which: Named,

    /// From when
    #[arg(long, value_name = "TIME")]
    start_time: Moment,

    /// Until when
    #[arg(long, value_name = "TIME")]
    end_time: Moment,

    /// What to do while what it started still runs; without it, as the schedule says
    #[arg(long, value_name = "POLICY", value_parser = overlap)]
    overlap_policy: Option<ScheduleOverlapPolicy>,
}

pub(super) async fn pause(args: &PauseArgs, client: &Client, view: &View) -> Result<()> {
    let pause = reason_or_default(&args.reason, client);
    let patch = SchedulePatch { pause, ..SchedulePatch::default() };
    send(&args.which, patch, "paused", client, view).await
}

pub(super) async fn unpause(args: &PauseArgs, client: &Client, view: &View) -> Result<()> {
    let unpause = reason_or_default(&args.reason, client);
    let patch = SchedulePatch { unpause, ..SchedulePatch::default() };
    send(&args.which, patch, "unpaused", client, view).await
}

pub(super) async fn toggle(args: &ToggleArgs, client: &Client, view: &View) -> Result<()> {
    if args.pause {
        pause(&args.pause_args, client, view).await
    } else {
        unpause(&args.pause_args, client, view).await
    }
}

pub(super) async fn trigger(args: &TriggerArgs, client: &Client, view: &View) -> Result<()> {
    let now = TriggerImmediatelyRequest {
        overlap_policy: args.overlap_policy.unwrap_or_default().into(),
        scheduled_time: None,
    };
    let patch = SchedulePatch { trigger_immediately: Some(now), ..SchedulePatch::default() };
    send(&args.which, patch, "triggered", client, view).await
}

pub(super) async fn backfill(args: &BackfillArgs, client: &Client, view: &View) -> Result<()> {
    let past = BackfillRequest {
        start_time: Some(args.start_time.wire()),
        end_time: Some(args.end_time.wire()),
        overlap_policy: args.overlap_policy.unwrap_or_default().into(),
    };
    let patch = SchedulePatch { backfill_request: vec![past], ..SchedulePatch::default() };
    send(&args.which, patch, "backfilled", client, view).await
}

async fn send(
    which: &Named,
    patch: SchedulePatch,
    done: &str,
    client: &Client,
    view: &View,
) -> Result<()> {
    let id = which.schedule_id.clone();
    let request = PatchScheduleRequest {
        namespace: client.namespace.clone(),
        schedule_id: id.clone(),
        patch: Some(patch),
        identity: client.identity.clone(),
        request_id: fresh_id(),
    };
    client.answer(client.workflow.clone().patch_schedule(request)).await?;
    view.answer_value(&json!({ "scheduleId": id }), || format!("{done} schedule {id}"))
}
