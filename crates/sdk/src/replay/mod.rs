//! Replay: history in, the code's next commands out. Nothing here waits, and nothing here looks at a
//! clock.
//!
//! ```text
//!  events ─▶ turns ─▶ Execution ─▶ Answer
//!                        │  each event wakes code; each command of the code must be in history
//!                        ▼
//!                    the run's code
//! ```

mod broken;
mod ends;
mod execution;
mod expect;
mod forgotten;
mod local;
mod turns;
mod updates;

pub use broken::{Broken, NonDeterminism};
pub(crate) use execution::{Answer, Execution, Work};
pub(crate) use local::LocalEnd;
