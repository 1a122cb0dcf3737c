//! `steadfast namespace`: separate worlds on one server.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    enums::NamespaceState,
    namespace::{NamespaceConfig, UpdateNamespaceInfo},
    operatorservice::DeleteNamespaceRequest,
    workflowservice::{
        DescribeNamespaceRequest, DescribeNamespaceResponse, ListNamespacesRequest,
        RegisterNamespaceRequest, UpdateNamespaceRequest,
    },
};

use crate::{
    client::Client,
    family::Family,
    input::{Pair, texts},
    names,
    output::{Card, Table, View},
    pages,
    target::confirm,
    time::{self, Span},
};

/// List, make and change namespaces
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: Family<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List namespaces
    List,
    /// Tell about a namespace
    Describe(NameArgs),
    /// Make a namespace
    Create(CreateArgs),
    /// Change a namespace
    Update(UpdateArgs),
    /// Remove a namespace and everything in it
    Delete(DeleteArgs),
}

#[derive(Debug, clap::Args)]
struct NameArgs {
    /// The namespace; without it, that of --namespace
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

#[derive(Debug, clap::Args)]
struct Properties {
    /// How long closed runs are kept
    #[arg(long, value_name = "DURATION")]
    retention: Option<Span>,

    /// What it is for
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    description: String,

    /// Whom to write to about it
    #[arg(long, value_name = "ADDRESS", default_value = "", hide_default_value = true)]
    email: String,

    /// Something to remember with it, as key=value; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    data: Vec<Pair>,
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    #[command(flatten)]
    which: NameArgs,
    #[command(flatten)]
    properties: Properties,
}

#[derive(Debug, clap::Args)]
struct UpdateArgs {
    #[command(flatten)]
    which: NameArgs,
    #[command(flatten)]
    properties: Properties,
}

#[derive(Debug, clap::Args)]
struct DeleteArgs {
    #[command(flatten)]
    which: NameArgs,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

impl NameArgs {
    fn name(&self, client: &Client) -> String {
        self.name.clone().unwrap_or_else(|| client.namespace.clone())
    }
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (client, view, command) = args.family.open().await?;
    match command {
        Command::List => list(&client, view).await,
        Command::Describe(args) => describe(args, &client, view).await,
        Command::Create(args) => create(args, &client, view).await,
        Command::Update(args) => update(args, &client, view).await,
        Command::Delete(args) => delete(args, &client, view).await,
    }
}

async fn list(client: &Client, view: &View) -> Result<()> {
    let all = pages::collect(usize::MAX, async |next_page_token, page_size| {
        let request = ListNamespacesRequest {
            page_size,
            next_page_token,
            ..ListNamespacesRequest::default()
        };
        let page = client.answer(client.workflow.clone().list_namespaces(request)).await?;
        Ok((page.namespaces, page.next_page_token))
    })
    .await?;
    view.answer_all(&all, table)
}

async fn describe(args: &NameArgs, client: &Client, view: &View) -> Result<()> {
    let request = DescribeNamespaceRequest {
        namespace: args.name(client),
        ..DescribeNamespaceRequest::default()
    };
    let answer = client.answer(client.workflow.clone().describe_namespace(request)).await?;
    view.answer(&answer, card)
}

async fn create(args: &CreateArgs, client: &Client, view: &View) -> Result<()> {
    let name = args.which.name(client);
    let properties = &args.properties;
    let request = RegisterNamespaceRequest {
        namespace: name.clone(),
        description: properties.description.clone(),
        owner_email: properties.email.clone(),
        workflow_execution_retention_period: Some(match properties.retention {
            Some(span) => span.wire(),
            None => DEFAULT_RETENTION,
        }),
        data: texts(&properties.data),
        ..RegisterNamespaceRequest::default()
    };
    client.answer(client.workflow.clone().register_namespace(request)).await?;
    view.answer_value(&json!({ "namespace": name }), || format!("made namespace {name}"))
}

async fn update(args: &UpdateArgs, client: &Client, view: &View) -> Result<()> {
    let name = args.which.name(client);
    let properties = &args.properties;
    let request = UpdateNamespaceRequest {
        namespace: name.clone(),
        update_info: Some(UpdateNamespaceInfo {
            description: properties.description.clone(),
            owner_email: properties.email.clone(),
            data: texts(&properties.data),
            ..UpdateNamespaceInfo::default()
        }),
        config: properties.retention.map(|span| NamespaceConfig {
            workflow_execution_retention_ttl: Some(span.wire()),
            ..NamespaceConfig::default()
        }),
        ..UpdateNamespaceRequest::default()
    };
    client.answer(client.workflow.clone().update_namespace(request)).await?;
    view.answer_value(&json!({ "namespace": name }), || format!("changed namespace {name}"))
}

async fn delete(args: &DeleteArgs, client: &Client, view: &View) -> Result<()> {
    let name = args.which.name(client);
    if !args.yes {
        confirm(&format!("Remove namespace {name} and everything in it?"))?;
    }
    let request =
        DeleteNamespaceRequest { namespace: name.clone(), ..DeleteNamespaceRequest::default() };
    let answer = client.answer(client.operator.clone().delete_namespace(request)).await?;
    view.answer(&answer, |_| format!("removed namespace {name}"))
}

fn table(all: &[DescribeNamespaceResponse]) -> String {
    let mut table = Table::new(["NAME", "STATE", "RETENTION", "DESCRIPTION"]);
    for namespace in all {
        let info = namespace.namespace_info.clone().unwrap_or_default();
        table.row([info.name, state(info.state), retention(namespace), info.description]);
    }
    table.text_or("no namespaces")
}

fn card(answer: &DescribeNamespaceResponse) -> String {
    let info = answer.namespace_info.clone().unwrap_or_default();
    let mut card = Card::default();
    card.line("Name", info.name)
        .line("Id", info.id)
        .line("State", state(info.state))
        .line("Description", info.description)
        .line("Email", info.owner_email)
        .line("Retention", retention(answer));
    let mut data: Vec<_> = info.data.into_iter().collect();
    data.sort();
    for (key, value) in data {
        card.line("Data", format!("{key} = {value}"));
    }
    card.text()
}

fn retention(namespace: &DescribeNamespaceResponse) -> String {
    let config = namespace.config.as_ref();
    time::lasting(config.and_then(|it| it.workflow_execution_retention_ttl.as_ref()))
}

fn state(number: i32) -> String {
    let state = NamespaceState::try_from(number).unwrap_or_default();
    names::shown(state.as_str_name(), "NAMESPACE_STATE_")
}

/// Three days, as those who come from elsewhere expect.
const DEFAULT_RETENTION: steadfast_proto::prost_types::Duration =
    steadfast_proto::prost_types::Duration { seconds: 3 * 24 * 3_600, nanos: 0 };
