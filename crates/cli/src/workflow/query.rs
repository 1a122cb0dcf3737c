//! `workflow query`: asks workflow code.

use anyhow::{Result, bail};
use steadfast_proto::{
    enums::QueryRejectCondition, query::WorkflowQuery, workflowservice::QueryWorkflowRequest,
};

use super::list::status;
use crate::{
    client::{Client, patient},
    input::Input,
    names,
    output::{View, show_all},
    target::One,
};

/// What can be said to `query`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: One,

    /// The query's name
    #[arg(long, alias = "type", value_name = "NAME")]
    name: String,

    #[command(flatten)]
    input: Input,

    /// Which runs not to ask: `NotOpen`, `NotCompletedCleanly`
    #[arg(long, value_name = "CONDITION", value_parser = condition)]
    reject_condition: Option<QueryRejectCondition>,
}

/// `workflow query`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let query = WorkflowQuery {
        query_type: args.name.clone(),
        query_args: args.input.payloads()?,
        header: None,
    };
    let request = QueryWorkflowRequest {
        namespace: client.namespace.clone(),
        execution: Some(args.run.execution()),
        query: Some(query),
        query_reject_condition: args.reject_condition.unwrap_or_default().into(),
    };
    let request = client.encoded(request).await?;
    let answer = client.answer(client.workflow.clone().query_workflow(patient(request))).await?;
    if let Some(rejected) = &answer.query_rejected {
        bail!("the query was not asked: the run is {}", status(rejected.status));
    }
    view.answer(&answer, |answer| show_all(answer.query_result.as_ref()))
}

fn condition(text: &str) -> Result<QueryRejectCondition, names::NotAName> {
    names::parse(
        text,
        "QUERY_REJECT_CONDITION_",
        QueryRejectCondition::from_str_name,
        "NotOpen, NotCompletedCleanly",
    )
}
