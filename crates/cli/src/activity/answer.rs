//! `activity complete` and `activity fail`: answers that a person gives instead of a worker.

use anyhow::Result;
use steadfast_proto::{
    common::Payloads,
    failure::{ApplicationFailureInfo, Failure, failure::FailureInfo},
    workflowservice::{
        RespondActivityTaskCompletedByIdRequest, RespondActivityTaskFailedByIdRequest,
    },
};

use super::changed;
use crate::{client::Client, input::json_payload, output::View, target::One};

#[derive(Debug, clap::Args)]
pub(super) struct CompleteArgs {
    #[command(flatten)]
    run: One,

    /// The activity's id
    #[arg(long, short, value_name = "ID")]
    activity_id: String,

    /// Its result, as JSON
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    result: String,
}

#[derive(Debug, clap::Args)]
pub(super) struct FailArgs {
    #[command(flatten)]
    run: One,

    /// The activity's id
    #[arg(long, short, value_name = "ID")]
    activity_id: String,

    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// More about it, as JSON
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    detail: Option<String>,

    /// Do not try again, whatever the policy says
    #[arg(long)]
    non_retryable: bool,
}

pub(super) async fn complete(args: &CompleteArgs, client: &Client, view: &View) -> Result<()> {
    let result = json_payload("--result", &args.result)?;
    let request = RespondActivityTaskCompletedByIdRequest {
        namespace: client.namespace.clone(),
        workflow_id: args.run.workflow_id.clone(),
        run_id: args.run.run_id.clone(),
        activity_id: args.activity_id.clone(),
        result: Some(Payloads { payloads: vec![result] }),
        identity: client.identity.clone(),
        ..RespondActivityTaskCompletedByIdRequest::default()
    };
    let request = client.encoded(request).await?;
    client.answer(client.workflow.clone().respond_activity_task_completed_by_id(request)).await?;
    changed(view, &args.run, "completed", &format!("activity {}", args.activity_id))
}

pub(super) async fn fail(args: &FailArgs, client: &Client, view: &View) -> Result<()> {
    let detail = args.detail.as_ref().map(|text| json_payload("--detail", text)).transpose()?;
    let info = ApplicationFailureInfo {
        non_retryable: args.non_retryable,
        details: detail.map(|detail| Payloads { payloads: vec![detail] }),
        ..ApplicationFailureInfo::default()
    };
    let failure = Failure {
        message: args.reason.clone(),
        source: "CLI".to_owned(),
        failure_info: Some(FailureInfo::ApplicationFailureInfo(info)),
        ..Failure::default()
    };
    let request = RespondActivityTaskFailedByIdRequest {
        namespace: client.namespace.clone(),
        workflow_id: args.run.workflow_id.clone(),
        run_id: args.run.run_id.clone(),
        activity_id: args.activity_id.clone(),
        failure: Some(failure),
        identity: client.identity.clone(),
        ..RespondActivityTaskFailedByIdRequest::default()
    };
    let request = client.encoded(request).await?;
    client.answer(client.workflow.clone().respond_activity_task_failed_by_id(request)).await?;
    changed(view, &args.run, "failed", &format!("activity {}", args.activity_id))
}
