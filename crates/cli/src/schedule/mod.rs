//! `steadfast schedule`: workflows that start by the clock.

mod change;
mod describe;
mod list;
mod patch;
mod spec;

use anyhow::Result;

use crate::family::Family;

/// Start workflows by the clock
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    family: Family<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Make a schedule
    Create(change::CreateArgs),
    /// Tell about a schedule: what it does, when, and what it did
    Describe(Named),
    /// List schedules
    List(list::Args),
    /// Replace what a schedule does and when
    Update(change::UpdateArgs),
    /// Let a schedule rest
    Pause(patch::PauseArgs),
    /// Let a schedule go on
    Unpause(patch::PauseArgs),
    /// The same as pause and unpause
    #[command(hide = true)]
    Toggle(patch::ToggleArgs),
    /// Do it once, now
    Trigger(patch::TriggerArgs),
    /// Do what would have been done in a span of time
    Backfill(patch::BackfillArgs),
    /// Remove a schedule; what it started goes on
    Delete(Named),
}

#[derive(Clone, Debug, clap::Args)]
struct Named {
    /// The schedule's id
    #[arg(long, short, value_name = "ID")]
    schedule_id: String,
}

/// Does it.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let (client, view, command) = args.family.open().await?;
    match command {
        Command::Create(args) => change::create(args, &client, view).await,
        Command::Describe(args) => describe::run(&args.schedule_id, &client, view).await,
        Command::List(args) => list::run(args, &client, view).await,
        Command::Update(args) => change::update(args, &client, view).await,
        Command::Pause(args) => patch::pause(args, &client, view).await,
        Command::Unpause(args) => patch::unpause(args, &client, view).await,
        Command::Toggle(args) => patch::toggle(args, &client, view).await,
        Command::Trigger(args) => patch::trigger(args, &client, view).await,
        Command::Backfill(args) => patch::backfill(args, &client, view).await,
        Command::Delete(args) => change::delete(&args.schedule_id, &client, view).await,
    }
}
