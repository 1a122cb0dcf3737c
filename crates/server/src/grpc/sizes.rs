//! The words in which SDKs expect to hear that a message is too large.
//!
//! The transport refuses such a message with a code that SDKs take for passing trouble, so they
//! would send it again and again. Here its answer gets the code and the text that they know.

use http::{HeaderMap, HeaderValue};
use tonic::{Code, Status};

/// The largest request that is read, after decompression.
pub(crate) const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

/// Says "too large" as SDKs expect it. An answer without a message has its status among its
/// headers.
pub(super) fn reword(headers: &mut HeaderMap) {
    if !headers.contains_key(Status::GRPC_STATUS) {
        return;
    }
    let Some(status) = Status::from_header_map(headers) else { return };
    let Some(text) = too_large(&status) else { return };
    let Ok(text) = HeaderValue::from_str(&text) else { return };
    headers.insert(Status::GRPC_STATUS, HeaderValue::from(i32::from(Code::ResourceExhausted)));
    headers.insert(Status::GRPC_MESSAGE, text);
}

fn too_large(status: &Status) -> Option<String> {
    let message = status.message();
    if status.code() == Code::OutOfRange {
        let found = message.strip_prefix("Error, decoded message length too large: found ")?;
        let length = found.split(' ').next()?;
        return Some(format!(
            "grpc: received message larger than max ({length} vs. {LARGEST_REQUEST})"
        ));
    }
    let bomb = status.code() == Code::ResourceExhausted
        && message.starts_with("Error decompressing: size limit");
    bomb.then(|| {
        format!("grpc: received message after decompression larger than max ({LARGEST_REQUEST})")
    })
}
