//! `workflow show`: a history, one line an event.

use anyhow::Result;
use serde_json::{Value, json};
use steadfast_proto::history::{History, HistoryEvent};

use super::{close::Close, events::Teller, history};
use crate::{
    client::Client,
    output::{Payloads, View, message, say, say_json},
    target::One,
};

/// What can be said to `show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    run: One,

    /// Wait for new events until the run has closed
    #[arg(long, short)]
    follow: bool,
}

/// `workflow show`.
pub(super) async fn run(args: &Args, client: &Client, view: &View) -> Result<()> {
    if view.is_json() { json_history(args, client).await } else { text(args, client, view).await }
}

async fn text(args: &Args, client: &Client, view: &View) -> Result<()> {
    let run = args.run.execution();
    let mut teller = Teller::new(view.paint());
    let mut next = None;
    history::each(client, &run, args.follow, |event| {
        say(&teller.line(&event)?)?;
        if let Some(Close::GoesOn { run_id }) = Close::of(event) {
            next = Some(run_id);
        }
        Ok(())
    })
    .await?;
    next.map_or(Ok(()), |run_id| say(&format!("goes on as run {run_id}")))
}

/// The history as SDKs read it for a replay, so payloads are as they are on the wire. A history
/// that is followed is printed event by event, one a line.
async fn json_history(args: &Args, client: &Client) -> Result<()> {
    let run = args.run.execution();
    let mut events: Vec<HistoryEvent> = Vec::new();
    history::each(client, &run, args.follow, |event| {
        if args.follow {
            return say(&message(&event, Payloads::Raw)?.to_string());
        }
        events.push(event);
        Ok(())
    })
    .await?;
    if args.follow {
        return Ok(());
    }
    let mut history = message(&History { events }, Payloads::Raw)?;
    if history.get("events").is_none_or(Value::is_null) {
        history["events"] = json!([]);
    }
    say_json(&history)
}
