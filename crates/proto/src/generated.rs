//! All of the protocol, every package under its full name, as the build generates it.

#![expect(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    reason = "generated, and documented where the protocol is"
)]
#![cfg_attr(
    feature = "clients",
    expect(unused_qualifications, reason = "clients are generated for any place")
)]

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
include!(concat!(env!("OUT_DIR"), "/attributes.rs"));
