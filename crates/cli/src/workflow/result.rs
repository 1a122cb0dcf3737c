//! `workflow result`: waits for a workflow to end, over all the runs that follow each other.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use steadfast_proto::common::WorkflowExecution;

use super::{
    close::{Close, told},
    describe::describe,
    history,
};
use crate::{
    client::Client,
    output::{Payloads, View, message, say_json, show_all},
    target::One,
    trouble::Trouble,
};

/// What can be said to `result`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: One,
}

/// `workflow result`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    let mut run = args.run.execution();
    if run.run_id.is_empty() {
        // The latest run of now, whatever is started meanwhile.
        let described = describe(&args.run, client).await?;
        let latest = described.workflow_execution_info.and_then(|info| info.execution);
        run = latest.context("the answer names no run")?;
    }
    tell(run, client, view).await
}

/// Waits for a run, and those that follow it, and tells how it ended.
pub(super) async fn tell(mut run: WorkflowExecution, client: &Client, view: &View) -> Result<()> {
    let close = loop {
        let last = history::last(client, &run).await?;
        match Close::of(last).context("the run's last event does not tell of its end")? {
            Close::GoesOn { run_id } => run.run_id = run_id,
            end @ (Close::Completed(_) | Close::Otherwise { .. }) => break end,
        }
    };
    let mut answer = json!({ "workflowId": run.workflow_id, "runId": run.run_id });
    match close {
        Close::Completed(result) => {
            answer["status"] = json!("COMPLETED");
            answer["result"] = match &result {
                Some(result) => single(message(result, view.payloads())?),
                None => Value::Null,
            };
            let shown = show_all(result.as_ref());
            view.answer_value(&answer, || if shown.is_empty() { "null".into() } else { shown })
        }
        Close::Otherwise { status, failure, reason } => {
            if view.is_json() {
                answer["status"] = json!(status);
                answer["reason"] = json!(reason);
                if let Some(failure) = &failure {
                    answer["failure"] = message(&**failure, Payloads::Decoded)?;
                }
                say_json(&answer)?;
            }
            let end = told(status, failure.as_deref(), &reason);
            Err(Trouble::not_completed(format!("workflow {} {end}", run.workflow_id)))
        }
        Close::GoesOn { .. } => unreachable!("the runs are followed to the last one"),
    }
}

/// The one value of a list of one; a result is one in nearly every language.
pub(super) fn single(list: Value) -> Value {
    let only = list.as_array().filter(|values| values.len() == 1).map(|values| values[0].clone());
    only.unwrap_or(list)
}
