//! Schedules between the core, the store and the public messages.
//!
//! A schedule is kept like a run: it has a number, a state row with a due time, and a row for
//! lists. It lives in a space of its own beside the runs of its namespace, so that neither finds
//! the other (decision 9).

mod action;
mod cache;
mod checked;
mod listed;
mod outcome;
mod row;

pub(crate) use action::{identity, started};
pub(crate) use cache::{Entry, Name, Schedules};
pub(crate) use checked::{checked, checked_patch};
pub(crate) use listed::{describe, entry};
pub(crate) use outcome::closed;
pub(crate) use row::{is_schedule, read, space, write};
