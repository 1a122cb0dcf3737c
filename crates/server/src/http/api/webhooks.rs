//! Documents about failures that nobody has taken yet.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use steadfast_engine::Undelivered;
use utoipa::ToSchema;

use super::{
    call::Call,
    fault::Fault,
    input::{Body, Nothing},
    wire::Time,
};

/// Documents that nobody has taken yet, the oldest first.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = UndeliveredDocuments)]
pub(super) struct Documents {
    undelivered: Vec<Document>,
}

/// A document that nobody has taken yet.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = UndeliveredDocument)]
pub(super) struct Document {
    /// Its name, until the server is restarted.
    id: u64,
    state: DocumentState,
    /// The address that it is for.
    url: String,
    workflow_id: String,
    run_id: String,
    /// Attempts that were made.
    attempts: u32,
    /// When the first of them failed.
    since: Time,
    /// Why the last of them failed.
    problem: String,
    /// What it says.
    #[schema(value_type = Object)]
    body: Value,
}

/// Whether a document is still sent.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum DocumentState {
    /// Again and again.
    Retrying,
    /// Not until somebody wants it to be, or the server is restarted.
    SetAside,
}

/// Which documents.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = WhichDocuments)]
pub(super) struct Which {
    /// These. To send again, all if none is named.
    #[serde(default)]
    ids: Vec<u64>,
}

/// How many they were.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = DocumentCount)]
pub(super) struct Count {
    count: usize,
}

/// Lists them.
pub(super) async fn list(call: Call, _: Nothing) -> Result<Documents, Fault> {
    let all = call.engine.list_undelivered(&call.namespace)?;
    Ok(Documents { undelivered: all.into_iter().map(Document::from).collect() })
}

/// Has them sent again.
pub(super) async fn resend(call: Call, Body(which): Body<Which>) -> Result<Count, Fault> {
    Ok(Count { count: call.engine.resend_undelivered(&call.namespace, &which.ids)? })
}

/// Drops them.
pub(super) async fn discard(call: Call, Body(which): Body<Which>) -> Result<Count, Fault> {
    Ok(Count { count: call.engine.drop_undelivered(&call.namespace, &which.ids).await? })
}

impl From<Undelivered> for Document {
    fn from(it: Undelivered) -> Self {
        Self {
            id: it.id,
            state: if it.is_given_up { DocumentState::SetAside } else { DocumentState::Retrying },
            url: it.url,
            workflow_id: it.workflow_id,
            run_id: it.run_id,
            attempts: it.attempts,
            since: Time(it.since),
            problem: it.problem,
            body: serde_json::from_str(&it.body).unwrap_or_default(),
        }
    }
}
