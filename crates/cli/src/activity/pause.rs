//! `activity pause` and `activity unpause`.

use anyhow::Result;
use steadfast_proto::workflowservice::{
    PauseActivityRequest, UnpauseActivityRequest, pause_activity_request as paused,
    unpause_activity_request as unpaused,
};

use super::{Named, Which, changed};
use crate::{
    client::{Client, fresh_id},
    output::View,
    target::One,
    time::Span,
};

#[derive(Debug, clap::Args)]
pub(super) struct PauseArgs {
    #[command(flatten)]
    run: One,
    #[command(flatten)]
    which: Named,

    /// Why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    reason: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct UnpauseArgs {
    #[command(flatten)]
    run: One,
    #[command(flatten)]
    which: Which,

    /// Count attempts from one again
    #[arg(long)]
    reset_attempts: bool,

    /// Forget what it reported with its heartbeats
    #[arg(long)]
    reset_heartbeats: bool,

    /// Wait a random time before the next attempt, at most this long
    #[arg(long, value_name = "DURATION")]
    jitter: Option<Span>,
}

pub(super) async fn pause(args: &PauseArgs, client: &Client, view: &View) -> Result<()> {
    let activity = match (&args.which.activity_id, &args.which.activity_type) {
        (Some(id), _) => paused::Activity::Id(id.clone()),
        (None, kind) => paused::Activity::Type(kind.clone().unwrap_or_default()),
    };
    let request = PauseActivityRequest {
        namespace: client.namespace.clone(),
        execution: Some(args.run.execution()),
        identity: client.identity.clone(),
        reason: args.reason.clone(),
        request_id: fresh_id(),
        activity: Some(activity),
    };
    client.answer(client.workflow.clone().pause_activity(request)).await?;
    changed(view, &args.run, "paused", &args.which.told())
}

pub(super) async fn unpause(args: &UnpauseArgs, client: &Client, view: &View) -> Result<()> {
    let activity = match (&args.which.activity_id, &args.which.activity_type) {
        (Some(id), _) => unpaused::Activity::Id(id.clone()),
        (None, Some(kind)) => unpaused::Activity::Type(kind.clone()),
        (None, None) => unpaused::Activity::UnpauseAll(true),
    };
    let request = UnpauseActivityRequest {
        namespace: client.namespace.clone(),
        execution: Some(args.run.execution()),
        identity: client.identity.clone(),
        reset_attempts: args.reset_attempts,
        reset_heartbeat: args.reset_heartbeats,
        jitter: args.jitter.map(Span::wire),
        activity: Some(activity),
    };
    client.answer(client.workflow.clone().unpause_activity(request)).await?;
    changed(view, &args.run, "unpaused", &args.which.told())
}
