//! The engine through its public calls, on virtual time. One file a theme.
#![cfg(test)]

mod common;
mod life;
