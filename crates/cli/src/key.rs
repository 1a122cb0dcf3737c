//! `steadfast key`: keys for whoever may come in.

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use steadfast_server::{KeyHash, new_secret};

/// Make keys for clients and workers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key; it is shown once and kept nowhere
    Create {
        /// The namespace that it opens; `*` for all of them
        #[arg(long, short)]
        namespace: String,
        /// What may be done with it
        #[arg(long)]
        right: Right,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Right {
    /// Look
    Read,
    /// Start, work, change; and look
    Write,
    /// Set up namespaces; and all else
    Admin,
}

/// Does what was asked.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Command::Create { namespace, right } = &args.command;
    let secret = new_secret()?;
    let hash = KeyHash::of(secret.as_bytes());
    let right = match right {
        Right::Read => "read",
        Right::Write => "write",
        Right::Admin => "admin",
    };
    let line = format!("{right}:{namespace}:{hash}");
    println!("key          {secret}");
    println!("config file  keys = [{line:?}]");
    println!("environment  STEADFAST_KEYS='{line}'");
    println!("Give the key to the client; the server needs one of the other lines only.");
    Ok(())
}
