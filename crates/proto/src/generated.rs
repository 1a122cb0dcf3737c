//! All of the protocol, every package under its full name, as the build generates it.

#![expect(
    missing_docs,
    unused_qualifications,
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::use_self,
    reason = "generated, and documented where the protocol is"
)]
#![cfg_attr(
    feature = "payloads",
    expect(deprecated, reason = "what is deprecated is seen as well")
)]

include!(concat!(env!("OUT_DIR"), "/messages.rs"));
include!(concat!(env!("OUT_DIR"), "/attributes.rs"));
#[cfg(feature = "payloads")]
include!(concat!(env!("OUT_DIR"), "/payloads.rs"));
