//! The policies of five worlds, each with its own fields, rules and words, as policies of ours.

pub mod cadence;
pub mod deltafi;
pub mod duroxide;
pub mod edda;
pub mod temporal;
