//! What operators do about errors: resume, acknowledge, cancel, give up, park, retry now.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_engine::failures::{Acted, Resume};
use utoipa::ToSchema;

use super::{
    call::Call,
    changing::Different,
    fault::{Explained, Fault},
    input::Body,
    wire::{Select, Span, payload_map},
};

/// Which errors, and why.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Act {
    pub(super) select: Select,
    /// Why, for the record of changes.
    pub(super) reason: Option<String>,
}

/// Which errors go on, and how.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ResumeBody {
    select: Select,
    /// Why, for the record of changes.
    reason: Option<String>,
    /// How they go on, if not as they are.
    resume: Option<How>,
}

/// How parked work is to go on.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schema(as = ResumeHow)]
pub(super) struct How {
    /// A second resume with the same id changes nothing.
    request_id: Option<String>,
    /// Its policy counts anew.
    reset_attempts: Option<bool>,
    /// It forgets how far it had come.
    reset_heartbeat: Option<bool>,
    /// It has a new idempotency key from now on: for work that is resumed when whoever it calls has
    /// forgotten the old one.
    rekey: Option<bool>,
    /// The starts are spread over so long.
    spread: Option<Span>,
    /// Header fields for the next attempt alone.
    #[schema(value_type = Option<BTreeMap<String, Object>>)]
    metadata: Option<BTreeMap<String, Value>>,
    /// What is to become different, from now on.
    change: Option<Different>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(super) struct Outcomes {
    /// For how many it was done.
    done: usize,
    /// For how many it was not.
    refused: usize,
    /// For each error.
    #[serde(rename = "outcomes")]
    each: Vec<Outcome>,
}

/// What came of it for one error.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    id: String,
    workflow_id: String,
    run_id: String,
    /// The run that goes on in its place, if it was reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_run_id: Option<String>,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Explained>,
}

/// Has parked activities go on, and failed runs.
pub(super) async fn resume(call: Call, Body(body): Body<ResumeBody>) -> Result<Outcomes, Fault> {
    let resume = body.resume.unwrap_or_default().engine(&call, body.reason)?;
    let selection = body.select.engine()?;
    Ok(call.engine.resume_errors(&call.namespace, selection, &resume).await?.into())
}

/// Notes that somebody has seen to errors.
pub(super) async fn acknowledge(call: Call, Body(act): Body<Act>) -> Result<Outcomes, Fault> {
    let (who, selection) = (call.who(act.reason), act.select.engine()?);
    Ok(call.engine.acknowledge_errors(&call.namespace, selection, &who).await?.into())
}

/// Cancels the workflows that errors belong to.
pub(super) async fn cancel(call: Call, Body(act): Body<Act>) -> Result<Outcomes, Fault> {
    let (who, selection) = (call.who(act.reason), act.select.engine()?);
    Ok(call.engine.cancel_errors(&call.namespace, selection, &who).await?.into())
}

/// Lets parked activities fail into their workflows.
pub(super) async fn fail(call: Call, Body(act): Body<Act>) -> Result<Outcomes, Fault> {
    let (who, selection) = (call.who(act.reason), act.select.engine()?);
    Ok(call.engine.give_up_errors(&call.namespace, selection, &who).await?.into())
}

/// Parks what is being retried.
pub(super) async fn park(call: Call, Body(act): Body<Act>) -> Result<Outcomes, Fault> {
    let (who, selection) = (call.who(act.reason), act.select.engine()?);
    Ok(call.engine.park_errors(&call.namespace, selection, &who).await?.into())
}

/// Has what waits for its next attempt be tried at once.
pub(super) async fn retry_now(call: Call, Body(act): Body<Act>) -> Result<Outcomes, Fault> {
    let (who, selection) = (call.who(act.reason), act.select.engine()?);
    Ok(call.engine.retry_errors_now(&call.namespace, selection, &who).await?.into())
}

impl How {
    /// As the engine has it.
    pub(super) fn engine(self, call: &Call, reason: Option<String>) -> Result<Resume, Fault> {
        Ok(Resume {
            who: call.who(reason),
            request_id: self.request_id.unwrap_or_default(),
            reset_attempts: self.reset_attempts.unwrap_or_default(),
            reset_heartbeat: self.reset_heartbeat.unwrap_or_default(),
            rekey: self.rekey.unwrap_or_default(),
            spread: self.spread.map(|span| span.0).unwrap_or_default(),
            metadata: self.metadata.as_ref().map(payload_map).unwrap_or_default(),
            change: self
                .change
                .map(|it| it.engine("resume.change"))
                .transpose()?
                .unwrap_or_default(),
        })
    }
}

impl From<Vec<Acted>> for Outcomes {
    fn from(acted: Vec<Acted>) -> Self {
        let done = acted.iter().filter(|it| it.outcome.is_ok()).count();
        let refused = acted.len() - done;
        Self { done, refused, each: acted.into_iter().map(Outcome::from).collect() }
    }
}

impl From<Acted> for Outcome {
    fn from(acted: Acted) -> Self {
        let (new_run_id, error) = match acted.outcome {
            Ok(run_id) => (Some(run_id).filter(|id| !id.is_empty()), None),
            Err(error) => (None, Some(Fault::from(error).explained())),
        };
        Self {
            id: acted.id.to_string(),
            workflow_id: acted.workflow_id,
            run_id: acted.run_id,
            new_run_id,
            error,
        }
    }
}
