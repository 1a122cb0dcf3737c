//! Calls of any RPC with any bytes.

use std::time::Duration;

use steadfast_proto::prost::{
    Message,
    bytes::{Buf, BufMut, Bytes},
};
use tonic::{
    Request, Response, Status, Streaming,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::Channel,
};

/// Calls `/service/method` with `message` as it is.
pub(crate) async fn call(
    channel: &Channel,
    path: String,
    message: impl Into<Bytes>,
) -> Result<Response<Bytes>, Status> {
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(usize::MAX);
    grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let path = path.try_into().expect("a path");
    grpc.unary(Request::new(message.into()), path, AsItIs).await
}

/// Calls `/service/method` as somebody who waits for `span`.
pub(crate) async fn call_within(
    channel: &Channel,
    path: String,
    message: impl Into<Bytes>,
    span: Duration,
) -> Result<Response<Bytes>, Status> {
    let mut grpc = Grpc::new(channel.clone()).max_decoding_message_size(usize::MAX);
    grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let mut request = Request::new(message.into());
    request.set_timeout(span);
    grpc.unary(request, path.try_into().expect("a path"), AsItIs).await
}

/// Calls `/service/method` and does not read the answer's message.
pub(crate) async fn call_unread(
    channel: &Channel,
    path: String,
    message: &impl Message,
) -> Result<Streaming<Bytes>, Status> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let request = Request::new(Bytes::from(message.encode_to_vec()));
    let answer = grpc.server_streaming(request, path.try_into().expect("a path"), AsItIs).await?;
    Ok(answer.into_inner())
}

/// Messages that are not looked into.
#[derive(Clone, Copy, Debug, Default)]
struct AsItIs;

impl Codec for AsItIs {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for AsItIs {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for AsItIs {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
