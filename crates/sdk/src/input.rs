//! Inputs at a call: by value or by reference, and `&str` where a `String` is wanted.

use serde::Serialize;
use steadfast_proto::common::Payloads;

use crate::payload::{CodecError, encode_one};

/// Something that can be given as an input of type `T`.
///
/// ```no_run
/// # use steadfast::{Failure, WorkflowContext};
/// # async fn charge(order: String) -> Result<String, Failure> { Ok(order) }
/// # async fn pay(ctx: WorkflowContext, order: String) -> Result<(), Failure> {
/// ctx.activity(charge, "17").await?;
/// ctx.activity(charge, &order).await?;
/// ctx.activity(charge, order).await?;
/// # Ok(()) }
/// ```
#[diagnostic::on_unimplemented(
    message = "the input should be `{T}`, and is `{Self}`",
    label = "expected `{T}`, or a reference to one"
)]
pub trait Input<T> {
    /// As history keeps it.
    fn encode(&self) -> Result<Option<Payloads>, CodecError>;
}

impl<T: Serialize> Input<T> for T {
    fn encode(&self) -> Result<Option<Payloads>, CodecError> {
        encode_one(self)
    }
}

impl<T: Serialize> Input<T> for &T {
    fn encode(&self) -> Result<Option<Payloads>, CodecError> {
        encode_one(*self)
    }
}

impl Input<String> for &str {
    fn encode(&self) -> Result<Option<Payloads>, CodecError> {
        encode_one(*self)
    }
}
