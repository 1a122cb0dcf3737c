//! `operator cluster`: whether the server is well, and what it can do.

use anyhow::{Result, bail};
use serde_json::json;
use steadfast_proto::{
    clients::health::{HealthCheckRequest, health_check_response::ServingStatus},
    workflowservice::{GetClusterInfoRequest, GetSystemInfoRequest, GetSystemInfoResponse},
};

use crate::{
    client::Client,
    output::{Card, View, message},
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Ask whether it serves; the exit code says so too
    Health,
    /// Tell its version and what it can do
    System,
    /// Tell its name, id and stores
    Describe,
}

pub(super) async fn run(command: &Command, client: &Client, view: &View) -> Result<()> {
    match command {
        Command::Health => health(client, view).await,
        Command::System => system(client, view).await,
        Command::Describe => describe(client, view).await,
    }
}

async fn health(client: &Client, view: &View) -> Result<()> {
    let request =
        HealthCheckRequest { service: "temporal.api.workflowservice.v1.WorkflowService".into() };
    let answer = client.answer(client.health.clone().check(request)).await?;
    if answer.status() != ServingStatus::Serving {
        bail!("the server does not serve");
    }
    view.answer_value(&json!({ "status": "SERVING" }), || "SERVING".to_owned())
}

async fn system(client: &Client, view: &View) -> Result<()> {
    let mut call = client.workflow.clone();
    let answer = client.answer(call.get_system_info(GetSystemInfoRequest {})).await?;
    let abilities = abilities(&answer)?;
    view.answer(&answer, |answer| {
        let mut card = Card::default();
        card.line("Version", answer.server_version.clone());
        for ability in &abilities {
            card.line("Can", ability.clone());
        }
        card.text()
    })
}

async fn describe(client: &Client, view: &View) -> Result<()> {
    let mut call = client.workflow.clone();
    let answer = client.answer(call.get_cluster_info(GetClusterInfoRequest {})).await?;
    view.answer(&answer, |answer| {
        let mut card = Card::default();
        card.line("Name", answer.cluster_name.clone())
            .line("Id", answer.cluster_id.clone())
            .line("Version", answer.server_version.clone())
            .line("Store", answer.persistence_store.clone())
            .line("Visibility", answer.visibility_store.clone())
            .line("Shards", answer.history_shard_count.to_string());
        card.text()
    })
}

/// The names of the capabilities that are true.
fn abilities(answer: &GetSystemInfoResponse) -> Result<Vec<String>> {
    let json = message(answer, crate::output::Payloads::Decoded)?;
    let flags = json["capabilities"].as_object().into_iter().flatten();
    Ok(flags.filter(|(_, value)| *value == true).map(|(name, _)| name.clone()).collect())
}
