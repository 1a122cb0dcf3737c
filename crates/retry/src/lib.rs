//! Retry policies, and the one function that decides about a retry.
//!
//! ```text
//!   policy ──┐
//!   state ───┤
//!   failure ─┼──► decide() ──► RetryAt · Park · Exhausted · Fail
//!   signals ─┤
//!   now ─────┤
//!   seed ────┘
//! ```
//!
//! Everything here is a pure function of its arguments. Time comes in as a [`Timestamp`], chance as a
//! [`Seed`]; nothing reads a clock, draws from a generator, waits, or keeps a secret. So the same code
//! runs in an engine, in a simulator, in a command-line tool and in a test, and says the same.
//!
//! - A [`Draft`] is what somebody writes: [`Rule`]s, a default, limits. A [`Policy`] is the drafts of
//!   all [`Layer`]s, checked and merged.
//! - A [`Backoff`] is a [`Curve`], a cap and a [`Jitter`]; a [`Hint`] is what the other side says.
//! - [`State`] counts failures, deferrals and crashes apart.
//! - [`preset`] has the policies of Temporal, Cadence, Edda, duroxide and `DeltaFi`; [`resume`] has the
//!   policies for work that has failed and is kept.
//! - [`mod@explain`] says what a policy means; [`simulate`] shows what would happen.

mod backoff;
mod code;
mod decide;
mod decision;
pub mod explain;
mod failure;
pub mod header;
mod hint;
mod jitter;
mod layer;
mod matcher;
mod number;
mod parts;
pub mod pattern;
mod policy;
pub mod preset;
pub mod range;
pub mod resume;
mod rule;
mod seed;
pub mod simulate;
pub mod span;
mod state;
mod time;

pub use backoff::{Backoff, Curve, Then};
pub use code::{Class, CodePattern};
pub use decide::{Held, HeldBy, Signals, decide};
pub use decision::{Counted, Decision, Reason, RetryState, RuleRef, Why};
pub use failure::{Cause, Failure, TimeoutKind};
pub use hint::{Beyond, Hint, HintMode, HintScope, Hints};
pub use jitter::{Draw, Jitter};
pub use layer::Layer;
pub use matcher::{CauseDepth, Matcher, Occasion, Place};
pub use parts::FailureParts;
pub use policy::{Draft, Fault, Idempotency, Invalid, Policy};
pub use rule::{Action, Behaviour, Ending, Limits, Overlay, PlacedRule, Rule, RuleId};
pub use seed::{Seed, Unit};
pub use state::State;
pub use time::Timestamp;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
