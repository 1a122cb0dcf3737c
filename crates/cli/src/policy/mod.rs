//! `steadfast policy`: what policies mean, and those that operators keep on a server.
//!
//! ```text
//!   explain, simulate, diff ─ of files: nothing is called
//!   put, list, get, apply ─── on a server (stored)
//! ```

mod diff;
mod draw;
mod explain;
mod occasion;
mod simulate;
mod stored;

use anyhow::Result;

use self::{
    diff::Side,
    explain::ExplainArgs,
    simulate::SimulateArgs,
    stored::{ApplyArgs, AskArgs, NameArgs, PutArgs, named},
};
use crate::{caller::Caller, family::HttpOptions, file};

/// Say what retry policies mean, and keep those of operators on a server
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: HttpOptions,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Draw the attempts of a policy, how long an outage it outlives, and what looks wrong with it
    Explain(Box<ExplainArgs>),
    /// Ask the server what would become of a failure: which rule decides, from which layer
    Ask(Box<AskArgs>),
    /// Play an outage with everyone under a policy, or under several side by side
    Simulate(SimulateArgs),
    /// Say what changes from one policy to another
    Diff(DiffArgs),
    /// Put a policy on the server, as its next version; it holds for every failure from now on
    Put(PutArgs),
    /// List the policies on the server
    List,
    /// Tell all about a policy on the server
    Get(NameArgs),
    /// List the versions of a policy on the server
    Versions(NameArgs),
    /// Have errors that are being retried or parked follow a policy, in place of their own
    Apply(Box<ApplyArgs>),
    /// Remove a policy from the server
    Delete(NameArgs),
}

#[derive(Debug, clap::Args)]
struct DiffArgs {
    /// The policy before: a JSON or YAML file, or one on the server, as name@version; the version
    /// that holds is name@
    before: String,
    /// The policy after, likewise
    after: String,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (caller, view) = args.options.open()?;
    match &args.command {
        Command::Explain(args) => explain::run(args, view),
        Command::Ask(args) => stored::ask(args, &caller, view).await,
        Command::Simulate(args) => simulate::run(args, view),
        Command::Diff(args) => {
            let before = side(&args.before, &caller).await?;
            diff::run(&before, &side(&args.after, &caller).await?, view)
        }
        Command::Put(args) => stored::put(args, &caller, view).await,
        Command::List => stored::list(&caller, view).await,
        Command::Get(args) => stored::get(args, &caller, view).await,
        Command::Versions(args) => stored::versions(args, &caller, view).await,
        Command::Apply(args) => stored::apply(args, &caller, view).await,
        Command::Delete(args) => stored::delete(args, &caller, view).await,
    }
}

/// A policy that is to be compared, from a file or from the server.
async fn side(name: &str, caller: &Caller) -> Result<Side> {
    let draft = match name.rsplit_once('@') {
        None => file::draft(name)?,
        Some((stored, version)) => named(stored, version, caller).await?,
    };
    Ok(Side { name: name.to_owned(), draft })
}
