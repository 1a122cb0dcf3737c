//! `steadfast operator`: the server itself.

mod cluster;
mod search_attribute;

pub(crate) use search_attribute::kind;

use anyhow::Result;

use crate::{client::Connection, namespace, output::View};

/// Look after the server: search attributes, health, namespaces
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// The attributes that workflows can be searched by
    SearchAttribute(Family<search_attribute::Command>),
    /// The server's health and abilities
    Cluster(Family<cluster::Command>),
    /// The same as `steadfast namespace`
    Namespace(namespace::Args),
}

#[derive(Debug, clap::Args)]
struct Family<C: clap::Subcommand + std::fmt::Debug> {
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    view: View,
    #[command(subcommand)]
    command: C,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::SearchAttribute(family) => {
            let client = family.connection.connect().await?;
            search_attribute::run(&family.command, &client, &family.view).await
        }
        Command::Cluster(family) => {
            let client = family.connection.connect().await?;
            cluster::run(&family.command, &client, &family.view).await
        }
        Command::Namespace(args) => namespace::run(args).await,
    }
}
