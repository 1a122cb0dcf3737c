//! Finding runs: what can be asked about them, and what is answered.
//!
//! ```text
//!   query text ──▶ lexer ──▶ query ──▶ Filter ──▶ store
//!                              │ typing: operators and literals, by attribute
//!   payloads ────▶ values ─────┤                      │
//!                              │ schema: names ──▶ types
//!   answer  ◀──── info ◀───────┴───────── rows ◀──────┘
//! ```
//!
//! Nothing here reads a clock or the store: a text, payloads or rows go in with the [`Schema`] of
//! their namespace, and a [`Filter`](steadfast_store::Filter), values or messages come out.

mod division;
mod info;
mod lexer;
mod literal;
mod query;
pub(crate) mod schema;
#[cfg(test)]
mod tests;
mod typing;
mod values;

pub(crate) use division::without_internal;
pub(crate) use info::{count_response, execution_info};
pub(crate) use literal::instant_text;
pub(crate) use query::{parse_count, parse_list};
pub(crate) use schema::Schema;
pub(crate) use values::{known_values, payload, search_values, with_types};
