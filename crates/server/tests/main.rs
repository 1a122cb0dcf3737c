//! The doors as clients meet them: over real sockets, with the clients of the public API.

mod api;
mod buttons;
mod common;
mod deadlines;
mod details;
mod failures;
mod forgotten;
mod gone;
mod http;
mod keys;
mod noise;
mod own_worker;
mod pages;
mod refusals;
mod story;
mod table;
mod tls;
mod wire;
mod wrong_door;
