//! A call: one message, one answer.
//!
//! Workers and clients make thousands of them a second, so a message is read from where it arrived,
//! an answer is written once, and nothing else is set up on the way.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{HeaderMap, HeaderValue, Request, Response, header::CONTENT_TYPE};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use steadfast_proto::prost::Message;
use tonic::Status;

use super::{
    door::Door,
    frame::{self, ENCODING, Framed, GZIP},
};

/// What carries out an RPC.
pub(super) type Handler = fn(Door, Request<Incoming>) -> Coming;

/// What is to be answered: a status at the worst, never nothing.
pub(super) type Answered = Result<Response<Answer>, Infallible>;

/// An answer to come.
pub(super) type Coming = Pin<Box<dyn Future<Output = Answered> + Send>>;

/// The body of an answer.
#[derive(Debug)]
pub(super) enum Answer {
    /// A message, and after it the word that all went well.
    Message(Bytes),
    Trailers,
    /// All has been said.
    End,
    /// From a service that is not ours.
    Other(tonic::body::Body),
}

/// Waits for what is asked.
pub(super) async fn asked<Q: Message + Default>(
    headers: &HeaderMap,
    body: Incoming,
) -> Result<Q, Status> {
    Framed::receive(body).await?.read(headers)
}

/// Says how it went to whoever asked with these headers.
pub(super) fn say<A: Message>(answer: Result<A, Status>, asked: &HeaderMap) -> Response<Answer> {
    let framed = answer.and_then(|answer| frame::send(&answer, asked));
    match framed {
        Ok((message, is_packed)) => well(message, is_packed),
        Err(status) => status.into_http().map(|()| Answer::End),
    }
}

fn well(message: Bytes, is_packed: bool) -> Response<Answer> {
    let mut response = Response::new(Answer::Message(message));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, GRPC);
    if is_packed {
        headers.insert(&ENCODING, HeaderValue::from_static(GZIP));
    }
    response
}

/// That all went well is said after the message.
fn trailers() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(Status::GRPC_STATUS, OK);
    trailers
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let next = match &mut *self {
            Self::Other(body) => return Pin::new(body).poll_frame(context),
            Self::Message(message) => Frame::data(std::mem::take(message)),
            Self::Trailers => Frame::trailers(trailers()),
            Self::End => return Poll::Ready(None),
        };
        *self = if next.is_data() { Self::Trailers } else { Self::End };
        Poll::Ready(Some(Ok(next)))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Other(body) => body.is_end_stream(),
            Self::End => true,
            Self::Message(_) | Self::Trailers => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Other(body) => body.size_hint(),
            // A message of known length would be announced as content-length, which gRPC has not.
            Self::Message(_) | Self::Trailers => SizeHint::new(),
            Self::End => SizeHint::with_exact(0),
        }
    }
}

const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const OK: HeaderValue = HeaderValue::from_static("0");
