//! The doors of the engine.
//!
//! ```text
//!  official SDKs ──▶ listen ──▶ grpc ──▶ Engine
//! ```
//!
//! The gRPC door speaks the public Temporal API. It is thin: the engine takes and gives the public
//! messages itself; what is done here is what a wire needs (sizes, compression, error details,
//! deadlines) and who may come in.

mod grpc;
mod listen;
mod server;

pub use grpc::{OPERATOR, Right, Rpc, Rpcs, State, WORKFLOW};
pub use listen::{BindError, Listener};
pub use server::{Options, Server};
