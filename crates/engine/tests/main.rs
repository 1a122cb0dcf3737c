//! The engine through its public calls, on virtual time. One file a theme.
#![cfg(test)]

mod adoption;
mod asides;
mod attempts;
mod batches;
mod children;
mod common;
mod delivery;
mod errors;
mod failures;
mod faults;
mod going_on;
mod ids;
mod life;
mod listing;
mod multi;
mod namespaces;
mod operator;
mod own_workers;
mod peers;
mod policies;
mod queries;
mod queues;
mod reading;
mod refusals;
mod resets;
mod retries;
mod schedule_overlaps;
mod schedules;
mod system;
mod updates;
mod waiting;
mod workers;
mod workflow_retries;
