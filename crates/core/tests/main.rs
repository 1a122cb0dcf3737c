//! The rules of one run, told as scripts and the histories they leave. One file a theme.
#![cfg(test)]

mod activities;
mod buffering;
mod cancel;
mod children;
mod commands;
mod common;
mod continuing;
mod cron;
mod external;
mod limits;
mod operator;
mod properties;
mod queries;
mod resetting;
mod signals;
mod tasks;
mod terminate;
mod timeouts;
mod timers;
mod updates;
