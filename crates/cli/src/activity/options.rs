//! `activity update-options`.

use anyhow::Result;
use steadfast_proto::{
    activity::ActivityOptions,
    prost_types::FieldMask,
    taskqueue::TaskQueue,
    workflowservice::{UpdateActivityOptionsRequest, update_activity_options_request::Activity},
};

use super::Which;
use crate::{
    client::Client,
    output::{Card, View},
    target::One,
    time::{self, Span},
    trouble::Trouble,
    workflow::Retry,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    run: One,
    #[command(flatten)]
    which: Which,

    /// The task queue
    #[arg(long, short, value_name = "NAME")]
    task_queue: Option<String>,

    /// How long it may take with all its attempts
    #[arg(long, value_name = "DURATION")]
    schedule_to_close_timeout: Option<Span>,

    /// How long an attempt may wait for a worker
    #[arg(long, value_name = "DURATION")]
    schedule_to_start_timeout: Option<Span>,

    /// How long an attempt may take
    #[arg(long, value_name = "DURATION")]
    start_to_close_timeout: Option<Span>,

    /// How long an attempt may be silent
    #[arg(long, value_name = "DURATION")]
    heartbeat_timeout: Option<Span>,

    #[command(flatten)]
    retry: Retry,

    /// Take all changes back
    #[arg(long)]
    restore_original_options: bool,
}

pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let paths = changed_paths(args);
    if paths.is_empty() && !args.restore_original_options {
        return Err(Trouble::usage("nothing to change; give an option, such as --task-queue"));
    }
    let activity = match (&args.which.activity_id, &args.which.activity_type) {
        (Some(id), _) => Activity::Id(id.clone()),
        (None, Some(kind)) => Activity::Type(kind.clone()),
        (None, None) => Activity::MatchAll(true),
    };
    let request = UpdateActivityOptionsRequest {
        namespace: client.namespace.clone(),
        execution: Some(args.run.execution()),
        identity: client.identity.clone(),
        activity_options: Some(options(args)),
        update_mask: Some(FieldMask { paths }),
        restore_original: args.restore_original_options,
        activity: Some(activity),
    };
    let answer = client.answer(client.workflow.clone().update_activity_options(request)).await?;
    view.answer(&answer, |answer| card(answer.activity_options.as_ref()))
}

fn options(args: &Args) -> ActivityOptions {
    let name = args.task_queue.clone();
    ActivityOptions {
        task_queue: name.map(|name| TaskQueue { name, ..TaskQueue::default() }),
        schedule_to_close_timeout: args.schedule_to_close_timeout.map(Span::wire),
        schedule_to_start_timeout: args.schedule_to_start_timeout.map(Span::wire),
        start_to_close_timeout: args.start_to_close_timeout.map(Span::wire),
        heartbeat_timeout: args.heartbeat_timeout.map(Span::wire),
        retry_policy: args.retry.policy(),
        ..ActivityOptions::default()
    }
}

/// Only what was given is changed.
fn changed_paths(args: &Args) -> Vec<String> {
    let retry = &args.retry;
    let given = [
        (args.task_queue.is_some(), "task_queue.name"),
        (args.schedule_to_close_timeout.is_some(), "schedule_to_close_timeout"),
        (args.schedule_to_start_timeout.is_some(), "schedule_to_start_timeout"),
        (args.start_to_close_timeout.is_some(), "start_to_close_timeout"),
        (args.heartbeat_timeout.is_some(), "heartbeat_timeout"),
        (retry.initial_interval.is_some(), "retry_policy.initial_interval"),
        (retry.maximum_interval.is_some(), "retry_policy.maximum_interval"),
        (retry.backoff_coefficient.is_some(), "retry_policy.backoff_coefficient"),
        (retry.maximum_attempts.is_some(), "retry_policy.maximum_attempts"),
    ];
    given.iter().filter(|(is_given, _)| *is_given).map(|(_, path)| (*path).to_owned()).collect()
}

fn card(options: Option<&ActivityOptions>) -> String {
    let options = options.cloned().unwrap_or_default();
    let mut card = Card::default();
    card.line("Task queue", options.task_queue.unwrap_or_default().name)
        .line("Schedule to close", time::lasting(options.schedule_to_close_timeout.as_ref()))
        .line("Schedule to start", time::lasting(options.schedule_to_start_timeout.as_ref()))
        .line("Start to close", time::lasting(options.start_to_close_timeout.as_ref()))
        .line("Heartbeat", time::lasting(options.heartbeat_timeout.as_ref()));
    if let Some(policy) = options.retry_policy {
        let most = match policy.maximum_attempts {
            0 => "no limit".to_owned(),
            most => most.to_string(),
        };
        card.line("Retry after", time::lasting(policy.initial_interval.as_ref()))
            .line("Backoff", policy.backoff_coefficient.to_string())
            .line("Longest wait", time::lasting(policy.maximum_interval.as_ref()))
            .line("Attempts", most);
    }
    card.text()
}
