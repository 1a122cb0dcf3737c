//! `activity reset`.

use anyhow::Result;
use steadfast_proto::workflowservice::{ResetActivityRequest, reset_activity_request::Activity};

use super::{Which, changed};
use crate::{client::Client, output::View, target::One, time::Span};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    run: One,
    #[command(flatten)]
    which: Which,

    /// Forget what it reported with its heartbeats
    #[arg(long)]
    reset_heartbeats: bool,

    /// Leave it paused if it is
    #[arg(long)]
    keep_paused: bool,

    /// Wait a random time before the next attempt, at most this long
    #[arg(long, value_name = "DURATION")]
    jitter: Option<Span>,

    /// Take back what `activity update-options` has changed
    #[arg(long)]
    restore_original_options: bool,
}

pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let activity = match (&args.which.activity_id, &args.which.activity_type) {
        (Some(id), _) => Activity::Id(id.clone()),
        (None, Some(kind)) => Activity::Type(kind.clone()),
        (None, None) => Activity::MatchAll(true),
    };
    let request = ResetActivityRequest {
        namespace: client.namespace.clone(),
        execution: Some(args.run.execution()),
        identity: client.identity.clone(),
        reset_heartbeat: args.reset_heartbeats,
        keep_paused: args.keep_paused,
        jitter: args.jitter.map(Span::wire),
        restore_original_options: args.restore_original_options,
        activity: Some(activity),
    };
    client.answer(client.workflow.clone().reset_activity(request)).await?;
    changed(view, &args.run, "reset", &args.which.told())
}
