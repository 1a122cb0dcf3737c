//! The engine through its public calls, on virtual time. One file a theme.
#![cfg(test)]

mod attempts;
mod children;
mod common;
mod ids;
mod life;
mod reading;
mod retries;
mod workflow_retries;
