//! The description of the API.

/// The description of the API, for clients that ask a server what it speaks, and for JSON.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/described.bin"));
