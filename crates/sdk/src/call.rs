//! Typed code, called with what history keeps and giving what history keeps.

use std::pin::Pin;

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::common::Payloads;

use crate::{error::Failure, payload};

/// Code that was called: a workflow's, an activity's, or a handler's.
pub(crate) type Called = Pin<Box<dyn Future<Output = Result<Option<Payloads>, Failure>> + Send>>;

/// Reads the input, calls the code, and writes its result. An input that cannot be read is never
/// tried again: it would be the same.
pub(crate) fn call<I, O, Fut>(input: Option<&Payloads>, code: impl FnOnce(I) -> Fut) -> Called
where
    I: DeserializeOwned,
    O: Serialize,
    Fut: Future<Output = Result<O, Failure>> + Send + 'static,
{
    match payload::decode_one(input) {
        Ok(input) => {
            let running = code(input);
            Box::pin(async move { Ok(payload::encode_one(&running.await?)?) })
        }
        Err(error) => Box::pin(async { Err(Failure::from(error).non_retryable()) }),
    }
}
