//! `operator search-attribute`.

use anyhow::Result;
use serde_json::json;
use steadfast_proto::{
    enums::IndexedValueType,
    operatorservice::{
        AddSearchAttributesRequest, ListSearchAttributesRequest, ListSearchAttributesResponse,
        RemoveSearchAttributesRequest,
    },
};

use crate::{
    client::Client,
    names,
    output::{Table, View},
    target::confirm,
    trouble::Trouble,
};

#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// List them
    List,
    /// Add some
    Create(CreateArgs),
    /// Remove some
    Remove(RemoveArgs),
}

#[derive(Debug, clap::Args)]
pub(super) struct CreateArgs {
    /// The attribute's name; may be repeated
    #[arg(long, value_name = "NAME", required = true)]
    name: Vec<String>,

    /// Its type, one for each name: `Text`, `Keyword`, `Int`, `Double`, `Bool`, `Datetime`,
    /// `KeywordList`
    #[arg(long = "type", value_name = "TYPE", value_parser = kind, required = true)]
    kind: Vec<IndexedValueType>,
}

#[derive(Debug, clap::Args)]
pub(super) struct RemoveArgs {
    /// The attribute's name; may be repeated
    #[arg(long, value_name = "NAME", required = true)]
    name: Vec<String>,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(command: &Command, client: &Client, view: &View) -> Result<()> {
    match command {
        Command::List => list(client, view).await,
        Command::Create(args) => create(args, client, view).await,
        Command::Remove(args) => remove(args, client, view).await,
    }
}

async fn list(client: &Client, view: &View) -> Result<()> {
    let request = ListSearchAttributesRequest { namespace: client.namespace.clone() };
    let answer = client.answer(client.operator.clone().list_search_attributes(request)).await?;
    view.answer(&answer, table)
}

async fn create(args: &CreateArgs, client: &Client, view: &View) -> Result<()> {
    if args.name.len() != args.kind.len() {
        return Err(Trouble::usage("give one --type for each --name"));
    }
    let kinds = args.kind.iter().map(|&kind| i32::from(kind));
    let request = AddSearchAttributesRequest {
        namespace: client.namespace.clone(),
        search_attributes: args.name.iter().cloned().zip(kinds).collect(),
    };
    client.answer(client.operator.clone().add_search_attributes(request)).await?;
    let names = args.name.join(", ");
    view.answer_value(&json!({ "searchAttributes": args.name }), || format!("added {names}"))
}

async fn remove(args: &RemoveArgs, client: &Client, view: &View) -> Result<()> {
    let names = args.name.join(", ");
    if !args.yes {
        confirm(&format!("Remove {names}?"))?;
    }
    let request = RemoveSearchAttributesRequest {
        namespace: client.namespace.clone(),
        search_attributes: args.name.clone(),
    };
    client.answer(client.operator.clone().remove_search_attributes(request)).await?;
    view.answer_value(&json!({ "searchAttributes": args.name }), || format!("removed {names}"))
}

fn table(answer: &ListSearchAttributesResponse) -> String {
    let mut table = Table::new(["NAME", "TYPE", "OF"]);
    for (of, attributes) in
        [("namespace", &answer.custom_attributes), ("system", &answer.system_attributes)]
    {
        let mut sorted: Vec<_> = attributes.iter().collect();
        sorted.sort();
        for (name, kind) in sorted {
            let kind = IndexedValueType::try_from(*kind).unwrap_or_default();
            let kind = names::shown(kind.as_str_name(), "INDEXED_VALUE_TYPE_");
            table.row([name.clone(), kind, of.to_owned()]);
        }
    }
    table.text_or("no search attributes")
}

/// A type of a search attribute that was given as an argument.
pub(crate) fn kind(text: &str) -> Result<IndexedValueType, names::NotAName> {
    names::parse(
        text,
        "INDEXED_VALUE_TYPE_",
        IndexedValueType::from_str_name,
        "Text, Keyword, Int, Double, Bool, Datetime, KeywordList",
    )
}
