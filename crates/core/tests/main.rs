//! The rules of one run, told as scripts and the histories they leave. One file a theme.
#![cfg(test)]

mod activities;
mod buffering;
mod cancel;
mod commands;
mod common;
mod limits;
mod operator;
mod properties;
mod signals;
mod tasks;
mod terminate;
mod timeouts;
mod timers;
