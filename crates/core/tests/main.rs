//! The rules of one run, told as scripts and the histories they leave. One file a theme.
#![cfg(test)]

mod activities;
mod activity_answers;
mod buffering;
mod cancel;
mod children;
mod commands;
mod common;
mod continuing;
mod cron;
mod every_pair;
mod external;
mod fuzz;
mod keys;
mod limits;
mod operator;
mod own_workers;
mod parking;
mod poison;
mod properties;
mod queries;
mod resetting;
mod rulebook;
mod run_resume;
mod schedule_times;
mod schedules;
mod signals;
mod speculation;
mod tasks;
mod terminate;
mod timeouts;
mod timers;
mod updates;
