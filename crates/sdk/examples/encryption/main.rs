//! What workflows say is encrypted before it leaves the process: neither the file nor a server can
//! be read without the key.
#![expect(clippy::print_stdout, reason = "an example tells what it does")]

mod aes;

use std::{error::Error, fs, path::Path};

use serde::{Deserialize, Serialize};
use steadfast::{
    App, AppBuilder, Failure, WorkflowContext,
    proto::{common::Payload, history::history_event::Attributes},
};

use crate::aes::{Aes, KEY};

#[derive(Clone, Deserialize, Serialize)]
struct Card {
    number: String,
    euros: u32,
}

async fn charge(card: Card) -> Result<String, Failure> {
    Ok(format!("{} has paid {} euros", card.number, card.euros))
}

async fn pay(ctx: WorkflowContext, card: Card) -> Result<String, Failure> {
    let by: String = ctx.signals("approve").receive().await?;
    Ok(format!("{}, as {by} allowed", ctx.activity(charge, &card).await?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    // A program of yours has them from a vault, or from its environment.
    let (spring, autumn) = ([7; 32], [8; 32]);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("payments.db");

    // A payment begins with one key.
    let app = program(&file).payload_codec(Aes::new("spring", &spring)?).start().await?;
    let card = Card { number: NUMBER.to_owned(), euros: 12 };
    app.client().start(pay, card).id("payment-1").await?;
    app.shutdown().await;

    // It ends with another: what is new is encrypted with the new key, and the old one still reads.
    let keys = Aes::new("autumn", &autumn)?.and_old("spring", &spring)?;
    let app = program(&file).payload_codec(keys).start().await?;
    let payment = app.client().workflow::<String>("payment-1");
    payment.signal("approve", &"Ada").await?;
    println!("with the keys: {}", payment.result().await?);
    app.shutdown().await;

    // Whoever has none sees how long it is, and whom to ask.
    let app = App::builder(format!("sqlite:{}", file.display())).start().await?;
    for event in app.client().workflow::<String>("payment-1").history().await? {
        if let Some((what, said)) = event.attributes.as_ref().and_then(said) {
            let key = String::from_utf8_lossy(said.metadata.get(KEY).unwrap_or_default());
            println!("without: {what}, {} bytes, key {key}", said.data.len());
        }
    }
    app.shutdown().await;
    let bytes = fs::read(&file)?;
    let is_there = bytes.windows(NUMBER.len()).any(|window| window == NUMBER.as_bytes());
    println!("the card's number is {} in the file", if is_there { "somewhere" } else { "nowhere" });
    Ok(())
}

fn program(file: &Path) -> AppBuilder {
    App::builder(format!("sqlite:{}", file.display())).workflow(pay).activity(charge)
}

/// The first thing that is said in an event.
fn said(event: &Attributes) -> Option<(&str, &Payload)> {
    let (what, said) = if let Attributes::WorkflowExecutionStartedEventAttributes(it) = event {
        ("input", &it.input)
    } else if let Attributes::WorkflowExecutionSignaledEventAttributes(it) = event {
        ("signal", &it.input)
    } else if let Attributes::WorkflowExecutionCompletedEventAttributes(it) = event {
        ("result", &it.result)
    } else {
        return None;
    };
    Some((what, said.as_ref()?.payloads.first()?))
}

const NUMBER: &str = "4929 0000 1234 5678";
