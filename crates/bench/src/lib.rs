//! Benchmarks: what the engine takes for the shapes that workflows have, and how peers compare.
//!
//! ```text
//!  main ──▶ cases ──▶ client ──▶ engine ◀── worker       the same process
//!    │                              │
//!    │                              ▼
//!    │                     a file in a new folder
//!    ├────▶ failures ──▶ the same, with everything in trouble
//!    ├────▶ sdk ──▶ an application, embedded in a program of its own, a process a case
//!    ├────▶ compare ──▶ bench/peers, built and run as a process of its own
//!    └────▶ server ───▶ bench/peers/server, the same; it starts and drives `steadfast serve`
//! ```

pub mod args;
mod build;
pub mod cases;
mod client;
pub mod compare;
pub mod failures;
mod probe;
pub mod report;
mod rig;
pub mod sdk;
pub mod server;
mod shape;
mod usage;
mod worker;
