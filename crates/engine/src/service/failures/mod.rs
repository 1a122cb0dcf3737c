//! Failures: what is failing and why, and what operators do about it.
//!
//! ```text
//!   errors            what is failing, one by one and in groups; every attempt
//!   acting            resume, acknowledge, cancel, give up, park, retry now
//!   changing          another policy, other time limits, another input, with a look ahead
//!   book              settings and retry policies of a namespace
//!   resume_policies   when parked work goes on by itself
//!   sweeping          when what is due is looked for
//!   starting_over     a failed run goes on, by hand or by itself
//!   resume_jobs       many resumed at a chosen pace
//!   posting           whoever wants to know is told
//! ```

mod acting;
mod book;
mod changing;
mod errors;
mod posting;
mod resume_jobs;
mod resume_policies;
mod starting_over;
mod sweeping;

pub use changing::{Change, Moved, Preview};
