//! The harness: a script in words goes in, a history in words comes out.
//!
//! Every line is a time in seconds, a verb and its arguments. After every line the
//! [invariants](invariants) are checked, and a refused line must have changed nothing.
//!
//! ```text
//! 0 start Order                                 1   0.000  WorkflowExecutionStarted Order
//! 0 take-task                                   2   0.000  WorkflowTaskScheduled
//! 0 complete schedule(a,Charge,stc=10s)         …
//! 1 take a
//! 2 finish a "paid"
//! ```
//!
//! `run Order …` is short for the first three lines, and does not show their first four events.
//! This is the only place that knows the API.

pub(crate) mod commands;
pub(crate) mod inputs;
pub(crate) mod invariants;
pub(crate) mod operators;
pub(crate) mod rows;
pub(crate) mod show;
pub(crate) mod words;
pub(crate) mod world;

use steadfast_core::Limits;

pub(crate) use self::world::{Answer, World};

/// Plays a script and tells what came of it.
pub(crate) fn check(script: &str) -> String {
    World::default().play(script).text()
}

/// As [`check`], with other limits.
pub(crate) fn check_within(limits: Limits, script: &str) -> String {
    World::within(limits).play(script).text()
}
