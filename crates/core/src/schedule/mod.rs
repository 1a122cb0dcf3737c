//! Schedules: when to start a workflow, and what to do when the last one still runs.
//!
//! ```text
//!   spec as asked ──▶ canonical ──▶ Times: next(after) ──▶ nominal time, due time
//!                                                            │
//!   Input, now ─────▶ Schedule::apply ◀──────────────────────┘
//!                          │
//!                          └──▶ new state, starts and requests that are to be sent
//! ```
//!
//! Like everything here it is pure: the time is an argument, jitter comes from the schedule's name,
//! and what is to be done is part of the state until somebody says that it is done. So it can be
//! sent twice, and counts once.

mod calendar;
mod field;
mod invalid;
mod machine;
mod outcome;
mod overlap;
mod seconds;
mod spec;
mod state;
mod text;
mod times;
mod turns;

pub use invalid::Invalid;
pub use machine::{Closed, Input, Refused, Schedule};
pub use spec::canonical;
pub use state::{Backfill, Closing, Pending, ScheduleState};
pub use times::{Times, Turn};
pub use turns::catchup_window;
