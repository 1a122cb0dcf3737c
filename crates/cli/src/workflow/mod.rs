//! `steadfast workflow`: start, look at and steer workflows.

mod cancel;
mod close;
mod delete;
mod describe;
mod events;
mod history;
mod list;
mod new;
mod query;
mod reset;
mod result;
mod show;
mod signal;
mod start;
mod terminate;
mod update;

pub(crate) use describe::{activities_table, describe};
pub(crate) use new::{Restart, Retry, Start, search_attributes};

use anyhow::Result;

use crate::family::Family;

/// Start, look at and steer workflows
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: Family<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Start a workflow
    Start(start::Args),
    /// Start a workflow and wait for its result
    Execute(start::Args),
    /// List workflows, newest first
    List(list::Args),
    /// Count workflows
    Count(list::CountArgs),
    /// Tell everything about one run: state, pending activities, children
    Describe(describe::Args),
    /// Print a run's history, one line an event
    Show(show::Args),
    /// Wait for a workflow to end and print its result
    Result(result::Args),
    /// Send a signal
    Signal(signal::Args),
    /// Send a signal, starting the workflow first if it does not run
    SignalWithStart(signal::WithStartArgs),
    /// Ask running workflow code a question
    Query(query::Args),
    /// Call an update handler of a workflow
    #[command(subcommand)]
    Update(update::Command),
    /// Ask a workflow to cancel itself
    Cancel(cancel::Args),
    /// End a workflow at once
    Terminate(terminate::Args),
    /// Run a workflow again from a point in its history
    Reset(reset::Args),
    /// Remove a run and its history
    Delete(delete::Args),
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (client, view, command) = args.family.open().await?;
    match command {
        Command::Start(args) => start::run(args, &client, view).await,
        Command::Execute(args) => start::execute(args, &client, view).await,
        Command::List(args) => list::run(args, &client, view).await,
        Command::Count(args) => list::count(args, &client, view).await,
        Command::Describe(args) => describe::run(args, &client, view).await,
        Command::Show(args) => show::run(args, &client, view).await,
        Command::Result(args) => result::run(args, &client, view).await,
        Command::Signal(args) => signal::run(args, &client, view).await,
        Command::SignalWithStart(args) => signal::with_start(args, &client, view).await,
        Command::Query(args) => query::run(args, &client, view).await,
        Command::Update(command) => update::run(command, &client, view).await,
        Command::Cancel(args) => cancel::run(args, &client, view).await,
        Command::Terminate(args) => terminate::run(args, &client, view).await,
        Command::Reset(args) => reset::run(args, &client, view).await,
        Command::Delete(args) => delete::run(args, &client, view).await,
    }
}
