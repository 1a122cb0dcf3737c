//! The commands as a user meets them: the real binary against a real server.

mod activities;
mod codec;
mod dev;
mod failures;
mod rig;
mod rust_sdk;
mod rust_sdk_crashes;
mod rust_sdk_lost;
mod rust_sdk_more;
mod rust_sdk_told;
mod schedules;
mod server;
mod troubles;
mod worker;
mod workflows;
