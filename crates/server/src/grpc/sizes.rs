//! The words in which SDKs expect to hear that a message is too large.
//!
//! The transport refuses such a message with a code that SDKs take for passing trouble, so they
//! would send it again and again. Here its answer gets the code and the text that they know.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, HeaderValue, Request, Response};
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

/// The largest request that is read, after decompression.
pub(crate) const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

/// Says "too large" as SDKs expect it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes;

impl<S> Layer<S> for Sizes {
    type Service = Sized<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Sized { inner }
    }
}

/// A service whose "too large" is the one that SDKs expect.
#[derive(Clone, Debug)]
pub(super) struct Sized<S> {
    inner: S,
}

impl<S, B, R> Service<Request<B>> for Sized<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Future: Send + 'static,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let answer = self.inner.call(request);
        Box::pin(async move {
            let mut response = answer.await?;
            reword(response.headers_mut());
            Ok(response)
        })
    }
}

/// An answer without a message has its status among its headers.
fn reword(headers: &mut HeaderMap) {
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
