//! The policies of five worlds, each with its own fields, rules and words, as policies of ours.

pub mod temporal;
