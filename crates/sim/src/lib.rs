//! The engine on virtual time, with workers that crash and stores that fail.
//!
//! ```text
//!                      ┌─ clients ───────┐            ┌─ crashes, stops, clock jumps
//!  seed ─▶ world ─────▶│  workers        │──▶ engine ◀┘
//!                      └─ activity workers          │
//!                              │                    ▼
//!                              ▼               faulty store ──▶ memory
//!                           ledger ──▶ oracle ◀── histories, descriptions, listings
//! ```
//!
//! A seed decides everything: what is asked for, who misbehaves and when, what breaks. Faults stop
//! after a while, the world gets time to come to rest, and then the oracle compares what the
//! engine says with what it had promised. The same seed gives the same run, byte for byte.
#![expect(clippy::print_stdout, reason = "telling what happened is what this program is for")]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "programs and judges look at the few events that concern them"
)]

mod actor;
mod chance;
mod clock;
mod faults;
mod host;
mod ledger;
mod log;
mod oracle;
mod program;
mod simulate;
mod store;
mod trace;
mod wire;
mod world;

pub use ledger::Fault;
pub use simulate::{Disk, Report, Scenario, simulate, simulate_in};
pub use trace::show as show_engine;
pub use world::Steward;
