//! The official Rust SDK, unchanged, against a Steadfast server.
//!
//! `STEADFAST_BIN` names the server's binary.

mod activities;
mod crash;
mod messages;
mod replay;
mod rig;
mod runs;
