//! The doors of the engine.
//!
//! ```text
//!  official SDKs ──▶ listen ──▶ grpc ──▶ Engine
//!  operators ──────▶ listen ──▶ http ──▶   │
//!                                 └──▶ metrics
//! ```
//!
//! The gRPC door speaks the public Temporal API. It is thin: the engine takes and gives the public
//! messages itself; what is done here is what a wire needs (sizes, compression, error details,
//! deadlines) and who may come in. The HTTP door tells whether the server is well, and its numbers, and
//! has the JSON API by which operators see and mend what fails.

mod grpc;
mod http;
mod keys;
mod knock;
mod listen;
mod metrics;
mod rpc;
mod server;
mod tls;
mod webhooks;
mod wrong_door;

pub use grpc::{OPERATOR, WORKFLOW};
pub use http::openapi;
pub use keys::{Key, KeyHash, Keys, NoRandomness, NotAHash, new_secret};
pub use listen::BindError;
pub use rpc::{Right, Rpc, Rpcs, State};
pub use server::{Doors, OpenError, Options, Server, Strangers};
pub use tls::{TlsError, TlsFiles};
pub use webhooks::HttpWebhooks;
pub use wrong_door::WRONG_DOOR;
