//! Messages as gRPC frames them: whether it is compressed, its length, the message.

use http::{HeaderMap, HeaderName};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Bytes};
use steadfast_proto::prost::{
    Message,
    bytes::{BufMut as _, BytesMut},
};
use tonic::{Status, metadata::MetadataValue};

use super::gzip::{self, Unpackable};

/// The one message of a request, as it came.
#[derive(Debug)]
pub(super) struct Framed {
    is_packed: bool,
    message: Bytes,
}

/// What of a request has come.
#[derive(Debug, Default)]
struct Coming {
    /// All of it, as long as it has come in one piece.
    whole: Bytes,
    pieces: BytesMut,
}

/// What stands before a message.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    is_packed: bool,
    length: usize,
}

impl Framed {
    /// Waits for a request to come.
    pub(super) async fn receive<B>(mut body: B) -> Result<Self, Status>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let mut coming = Coming::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Status::cancelled(error.to_string()))?;
            if let Ok(data) = frame.into_data() {
                coming.add(data)?;
            }
        }
        coming.end()
    }

    /// Reads the message.
    pub(super) fn read<M: Message + Default>(&self, headers: &HeaderMap) -> Result<M, Status> {
        let read = if self.is_packed {
            check_encoding(headers)?;
            let read = gzip::unpack(&self.message, LARGEST_REQUEST, |message| M::decode(message));
            read.map_err(|error| unpackable(&error))?
        } else {
            M::decode(self.message.clone())
        };
        read.map_err(|error| Status::internal(error.to_string()))
    }
}

impl Coming {
    fn add(&mut self, data: Bytes) -> Result<(), Status> {
        if self.whole.is_empty() && self.pieces.is_empty() {
            self.whole = data;
        } else {
            self.pieces.extend_from_slice(&std::mem::take(&mut self.whole));
            self.pieces.extend_from_slice(&data);
        }
        // Whoever announces too much is not listened to any longer.
        match parse(self.bytes())? {
            Some((_, after)) if after.len() > LARGEST_REQUEST => Err(several()),
            _ => Ok(()),
        }
    }

    fn end(self) -> Result<Framed, Status> {
        let Prefix { is_packed, length } = match parse(self.bytes())? {
            None => return Err(Status::internal("a call without a message")),
            Some((prefix, after)) if after.len() < prefix.length => {
                return Err(Status::internal("a call that ended in the middle of its message"));
            }
            Some((prefix, after)) if after.len() > prefix.length => return Err(several()),
            Some((prefix, _)) => prefix,
        };
        let mut whole = if self.whole.is_empty() { self.pieces.freeze() } else { self.whole };
        Ok(Framed { is_packed, message: whole.split_off(whole.len() - length) })
    }

    fn bytes(&self) -> &[u8] {
        if self.whole.is_empty() { &self.pieces } else { &self.whole }
    }
}

/// What is said of a message, if so much has come, and what there is of it.
fn parse(bytes: &[u8]) -> Result<Option<(Prefix, &[u8])>, Status> {
    let Some(([flag, length @ ..], after)) = bytes.split_first_chunk::<PREFIX>() else {
        return Ok(None);
    };
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > LARGEST_REQUEST {
        // These are the words that SDKs look for: told otherwise, they would send it again and again.
        return Err(Status::resource_exhausted(format!(
            "grpc: received message larger than max ({length} vs. {LARGEST_REQUEST})"
        )));
    }
    match flag {
        0 | 1 => Ok(Some((Prefix { is_packed: *flag == 1, length }, after))),
        _ => Err(Status::internal(format!("a message with the compression flag {flag}"))),
    }
}

/// A message to send, compressed if it is long and whoever asked with these headers can read that.
pub(super) fn send<M: Message>(message: &M, asked: &HeaderMap) -> Result<(Bytes, bool), Status> {
    let length = message.encoded_len();
    let is_packed = length >= PACKED_FROM && takes_gzip(asked);
    if is_packed {
        let packed = gzip::pack(&message.encode_to_vec())
            .map_err(|error| Status::internal(format!("an answer was not compressed: {error}")))?;
        let mut framed = prefixed(1, packed.len())?;
        framed.extend_from_slice(&packed);
        return Ok((framed.freeze(), true));
    }
    let mut framed = prefixed(0, length)?;
    message.encode_raw(&mut framed);
    Ok((framed.freeze(), false))
}

fn prefixed(flag: u8, length: usize) -> Result<BytesMut, Status> {
    let said = u32::try_from(length)
        .map_err(|_| Status::resource_exhausted(format!("an answer of {length} bytes")))?;
    let mut framed = BytesMut::with_capacity(PREFIX + length);
    framed.put_u8(flag);
    framed.put_u32(said);
    Ok(framed)
}

/// Whether the sender of these headers can read gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    named.is_some_and(|named| named.split(',').any(|it| it.trim() == GZIP))
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Status> {
    match headers.get(&ENCODING) {
        Some(encoding) if encoding == GZIP => Ok(()),
        Some(encoding) if encoding != "identity" => {
            let mut status = Status::unimplemented(format!(
                "a message compressed with {encoding:?}; send gzip or identity"
            ));
            let accepted = MetadataValue::from_static("gzip,identity");
            status.metadata_mut().insert(ACCEPT_ENCODING, accepted);
            Err(status)
        }
        _ => Err(Status::internal("a compressed message without grpc-encoding")),
    }
}

fn unpackable(error: &Unpackable) -> Status {
    match error {
        Unpackable::TooLarge(most) => Status::resource_exhausted(format!(
            "grpc: received message after decompression larger than max ({most})"
        )),
        Unpackable::Header | Unpackable::Truncated | Unpackable::Checksum | Unpackable::Data => {
            Status::internal(format!("a compressed message could not be read: {error}"))
        }
    }
}

fn several() -> Status {
    Status::internal("a call with more than one message")
}

/// How a message is compressed.
pub(super) static ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: &str = "grpc-accept-encoding";
pub(super) const GZIP: &str = "gzip";

/// The largest request that is read, after decompression.
const LARGEST_REQUEST: usize = 4 * 1024 * 1024;
/// Compressing a message shorter than this costs more than sending it.
const PACKED_FROM: usize = 8 * 1024;
/// Flag and length.
const PREFIX: usize = 5;

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, convert::Infallible};

    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use steadfast_proto::common::WorkflowExecution;
    use tokio_stream::iter;
    use tonic::Code;

    use super::*;

    fn execution() -> WorkflowExecution {
        WorkflowExecution { workflow_id: "order-1".to_owned(), run_id: String::new() }
    }

    fn framed(flag: u8, message: &[u8]) -> Vec<u8> {
        let mut framed = prefixed(flag, message.len()).unwrap();
        framed.extend_from_slice(message);
        framed.to_vec()
    }

    /// What is read of `bytes` that arrive in pieces of `size`.
    async fn read(
        bytes: &[u8],
        size: usize,
        encoding: Option<&'static str>,
    ) -> Result<WorkflowExecution, Status> {
        let pieces: VecDeque<Result<Frame<Bytes>, Infallible>> = bytes
            .chunks(size)
            .map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece))))
            .collect();
        let mut headers = HeaderMap::new();
        if let Some(encoding) = encoding {
            headers.insert(&ENCODING, encoding.parse().unwrap());
        }
        Framed::receive(StreamBody::new(iter(pieces))).await?.read(&headers)
    }

    async fn refused(bytes: &[u8], encoding: Option<&'static str>) -> (Code, String) {
        let status = read(bytes, 7, encoding).await.expect_err("it is refused");
        (status.code(), status.message().to_owned())
    }

    #[tokio::test]
    async fn a_message_is_read_in_whatever_pieces_it_comes() {
        let message = execution().encode_to_vec();
        let packed = gzip::pack(&message).unwrap();
        for size in [1, 4, 5, 6, 1000] {
            assert_eq!(read(&framed(0, &message), size, None).await.unwrap(), execution());
            assert_eq!(read(&framed(1, &packed), size, Some(GZIP)).await.unwrap(), execution());
        }
    }

    #[tokio::test]
    async fn what_is_not_one_whole_message_is_refused() {
        let one = framed(0, &execution().encode_to_vec());
        let two = [one.clone(), one.clone()].concat();
        let cut = &one[..one.len() - 1];
        for (bytes, words) in [
            (&b""[..], "a call without a message"),
            (&one[..3], "a call without a message"),
            (cut, "a call that ended in the middle of its message"),
            (&two, "a call with more than one message"),
            (&framed(2, b"x"), "a message with the compression flag 2"),
            (&framed(1, b"x"), "a compressed message without grpc-encoding"),
        ] {
            assert_eq!(refused(bytes, None).await, (Code::Internal, words.to_owned()));
        }
        let (code, words) = refused(&framed(1, b"not gzip"), Some(GZIP)).await;
        assert_eq!(code, Code::Internal);
        assert!(words.ends_with("it does not begin as gzip does"), "{words}");
    }

    #[tokio::test]
    async fn who_announces_too_much_is_not_waited_for() {
        let announced = [0, 0x7f, 0, 0, 0];
        let words = "grpc: received message larger than max (2130706432 vs. 4194304)";
        let told = refused(&announced, None).await;
        assert_eq!(told, (Code::ResourceExhausted, words.to_owned()));
    }

    #[tokio::test]
    async fn whoever_compresses_in_another_way_is_told_what_is_read() {
        let status = read(&framed(1, b"x"), 9, Some("snappy")).await.expect_err("it is refused");
        assert_eq!(status.code(), Code::Unimplemented);
        let accepted = status.metadata().get(ACCEPT_ENCODING).expect("it is told");
        assert_eq!(accepted, "gzip,identity");
    }
}
