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
//! Beside it, a small fixed world is run once for each of its writes to the disk, with the plug pulled
//! just before or just after it (`cuts`).
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
mod cuts;
mod faults;
mod hook;
mod host;
mod ledger;
mod log;
mod medium;
mod oracle;
mod program;
mod scenario;
mod simulate;
mod store;
mod trace;
mod watch;
mod wire;
mod world;

pub use cuts::{Outcome, pull_the_plug, writes};
pub use faults::Cut;
pub use ledger::Fault;
pub use scenario::{Disk, Part, Scenario};
pub use simulate::{Report, simulate, simulate_in};
pub use trace::show as show_engine;
