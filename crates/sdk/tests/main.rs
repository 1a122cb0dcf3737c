//! The SDK from outside: workflows and activities as a user writes them.

mod backup;
mod basics;
mod cadence;
mod codec;
mod common;
mod drawn;
mod edda;
mod edges;
mod gone;
mod joining;
mod keeping;
mod late;
mod local;
mod memory;
mod metadata;
mod orchestration;
mod pace;
mod patches;
mod peers;
mod plain;
mod properties;
mod refusing;
mod schedules;
mod starting;
mod strangers;
mod workflows;
