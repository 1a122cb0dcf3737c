//! Which runs a command is about: one, or all that a query matches.

use std::io::{BufRead as _, IsTerminal as _, Write as _, stderr, stdin};

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    common::WorkflowExecution,
    workflowservice::{
        CountWorkflowExecutionsRequest, StartBatchOperationRequest,
        start_batch_operation_request::Operation,
    },
};

use crate::{
    client::{Client, fresh_id},
    output::View,
    trouble::Trouble,
};

/// One run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct One {
    /// The workflow's id
    #[arg(long, short, value_name = "ID")]
    pub(crate) workflow_id: String,

    /// The run's id; without it, the latest run
    #[arg(long, short, value_name = "ID", default_value = "", hide_default_value = true)]
    pub(crate) run_id: String,
}

impl One {
    /// As the API has it.
    pub(crate) fn execution(&self) -> WorkflowExecution {
        WorkflowExecution { workflow_id: self.workflow_id.clone(), run_id: self.run_id.clone() }
    }
}

/// One run, or many.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Many {
    /// The workflow's id
    #[arg(
        long,
        short,
        value_name = "ID",
        required_unless_present = "query",
        conflicts_with = "query"
    )]
    workflow_id: Option<String>,

    /// The run's id; without it, the latest run
    #[arg(long, short, value_name = "ID", conflicts_with = "query")]
    run_id: Option<String>,

    /// All runs that a list filter matches, as a batch job
    #[arg(long, short, value_name = "FILTER")]
    query: Option<String>,

    /// Do not ask before a batch job is started
    #[arg(long, short)]
    yes: bool,

    /// How many runs a second the batch job takes; 0 leaves it to the server
    #[arg(long, value_name = "NUMBER", default_value_t = 0.0, hide_default_value = true)]
    rps: f32,
}

/// What was chosen.
#[derive(Debug)]
pub(crate) enum Chosen {
    /// One run.
    One(WorkflowExecution),
    /// All runs that the filter matches.
    All,
}

impl Many {
    /// What was chosen.
    pub(crate) fn chosen(&self) -> Chosen {
        match &self.query {
            Some(_) => Chosen::All,
            None => Chosen::One(WorkflowExecution {
                workflow_id: self.workflow_id.clone().unwrap_or_default(),
                run_id: self.run_id.clone().unwrap_or_default(),
            }),
        }
    }

    /// Starts a batch job on all runs that the filter matches, after asking.
    pub(crate) async fn start_batch(
        &self,
        client: &Client,
        view: &View,
        reason: &str,
        operation: Operation,
    ) -> Result<()> {
        let query = self.query.clone().unwrap_or_default();
        if !self.yes {
            ask(client, &query).await?;
        }
        let job_id = fresh_id();
        let request = StartBatchOperationRequest {
            namespace: client.namespace.clone(),
            visibility_query: query,
            job_id: job_id.clone(),
            reason: reason_or_default(reason, client),
            max_operations_per_second: self.rps,
            operation: Some(operation),
            ..StartBatchOperationRequest::default()
        };
        let request = client.encoded(request).await?;
        client.answer(client.workflow.clone().start_batch_operation(request)).await?;
        view.answer_value(&json!({ "batchJobId": job_id }), || {
            format!(
                "started batch job {job_id}\n\
                 see how it goes: steadfast batch describe --job-id {job_id}"
            )
        })
    }
}

/// The reason that was given, or who it was that gave none.
pub(crate) fn reason_or_default(reason: &str, client: &Client) -> String {
    if reason.is_empty() {
        format!("requested from the command line by {}", client.identity)
    } else {
        reason.to_owned()
    }
}

/// Asks whether all those runs are really meant.
async fn ask(client: &Client, query: &str) -> Result<()> {
    let request = CountWorkflowExecutionsRequest {
        namespace: client.namespace.clone(),
        query: query.to_owned(),
    };
    let count = client.answer(client.workflow.clone().count_workflow_executions(request)).await?;
    confirm(&format!("Start a batch job on about {} runs?", count.count))
}

/// Asks a question that must be answered with yes.
pub(crate) fn confirm(question: &str) -> Result<()> {
    if !stdin().is_terminal() {
        return Err(Trouble::usage(format!("{question} Nobody can answer here; say --yes")));
    }
    write!(stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        Ok(())
    } else {
        Err(Trouble::usage("nothing was done"))
    }
}
