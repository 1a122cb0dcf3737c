//! The official Rust SDK against a Steadfast server: what the suite in `tests/sdk` runs.

pub mod activities;
pub mod server;
pub mod workflows;
