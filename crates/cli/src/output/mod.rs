//! How commands answer: tables and cards for people, JSON for scripts.
//!
//! ```text
//!   a message of the API ─┬─ text ──▶ table, card (payload, failure, paint)
//!                         └─ json ──▶ json
//! ```

mod card;
mod paint;
mod payload;
mod progress;
mod table;

pub(crate) use card::Card;
pub(crate) use paint::Paint;
pub(crate) use payload::{cut, show, show_all};
pub(crate) use progress::Progress;
pub(crate) use steadfast_proto::{
    causes::{chain, one_line},
    json::{Payloads, message},
};
pub(crate) use table::Table;

use std::io::{IsTerminal as _, Write as _, stdout};

use anyhow::Result;
use serde_json::Value;
use steadfast_proto::prost::{Message, Name};

/// How answers are to look.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct View {
    /// Tables for people, or JSON for scripts
    #[arg(long, short, global = true, value_enum, default_value_t = Format::Text)]
    output: Format,

    /// Print payloads in JSON as they are on the wire, not decoded
    #[arg(long, global = true)]
    no_json_shorthand_payloads: bool,

    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = When::Auto)]
    color: When,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl View {
    /// Whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.output == Format::Json
    }

    /// How payloads are printed in JSON.
    pub(crate) fn payloads(&self) -> Payloads {
        if self.no_json_shorthand_payloads { Payloads::Raw } else { Payloads::Decoded }
    }

    /// The colours that may be used on standard output.
    pub(crate) fn paint(&self) -> Paint {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Paint::new(match self.color {
            When::Auto => stdout().is_terminal() && !refused,
            When::Always => true,
            When::Never => false,
        })
    }

    /// Answers with a message: as JSON, or as the text made of it.
    pub(crate) fn answer<M: Message + Name>(
        &self,
        answer: &M,
        text: impl FnOnce(&M) -> String,
    ) -> Result<()> {
        if self.is_json() {
            say_json(&message(answer, self.payloads())?)
        } else {
            say(&text(answer))
        }
    }

    /// Answers with several messages: as one JSON list, or as the text made of them.
    pub(crate) fn answer_all<M: Message + Name>(
        &self,
        answers: &[M],
        text: impl FnOnce(&[M]) -> String,
    ) -> Result<()> {
        if !self.is_json() {
            return say(&text(answers));
        }
        let list: Result<Vec<Value>, _> =
            answers.iter().map(|answer| message(answer, self.payloads())).collect();
        say_json(&Value::Array(list?))
    }

    /// Answers with values of our own: as JSON, or as the text made of them.
    pub(crate) fn answer_value(&self, value: &Value, text: impl FnOnce() -> String) -> Result<()> {
        if self.is_json() { say_json(value) } else { say(&text()) }
    }
}

/// Writes a text to standard output, with a line's end.
pub(crate) fn say(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    write!(out, "{text}{line_end}")?;
    out.flush()?;
    Ok(())
}

/// Writes JSON to standard output.
pub(crate) fn say_json(value: &Value) -> Result<()> {
    say(&serde_json::to_string_pretty(value)?)
}
