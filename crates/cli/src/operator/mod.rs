//! `steadfast operator`: the server itself.

mod cluster;
mod search_attribute;

pub(crate) use search_attribute::kind;

use anyhow::Result;

use crate::{family::Family, namespace};

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

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    match &args.command {
        Command::SearchAttribute(family) => {
            let (client, view, command) = family.open().await?;
            search_attribute::run(command, &client, view).await
        }
        Command::Cluster(family) => {
            let (client, view, command) = family.open().await?;
            cluster::run(command, &client, view).await
        }
        Command::Namespace(args) => namespace::run(args).await,
    }
}
