//! Payloads on their way out of this process, and back: encrypted, packed, or kept elsewhere.

use std::{
    fmt, mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use steadfast_engine::{Code, Detail, Error};
use steadfast_proto::{EachPayload, common::Payload};

/// Changes payloads on their way to the engine, and back: to encrypt them, say, so that neither the
/// file nor the server can be read.
///
/// Everything that workflows and activities say goes through it: inputs, results, details of failures
/// and heartbeats, signals, queries, updates, memos, summaries, what is noted in history. What an
/// engine must read does not: ids, names, search attributes, headers, and the messages of failures.
///
/// It is asked for each payload, so it keeps its keys at hand. All that work on the same workflows have
/// to have the same one, in any language: what `encode` gives away is what another SDK's codec gets,
/// with the `encoding` in its metadata saying how to read it. What comes back that this codec has not
/// encoded, from before there was one, is best given on as it is.
///
/// ```
/// use steadfast::{App, PayloadCodec, proto::{common::Payload, prost::Message as _}};
///
/// /// Not for secrets.
/// struct Rot(u8);
///
/// impl PayloadCodec for Rot {
///     fn encode(&self, payload: Payload) -> Result<Payload, Box<dyn std::error::Error + Send + Sync>> {
///         let data = payload.encode_to_vec().into_iter().map(|byte| byte.wrapping_add(self.0));
///         Ok(Payload::encoded("binary/rot", data.collect::<Vec<u8>>()))
///     }
///
///     fn decode(&self, payload: Payload) -> Result<Payload, Box<dyn std::error::Error + Send + Sync>> {
///         if payload.metadata.get("encoding").is_none_or(|it| it != b"binary/rot") {
///             return Ok(payload);
///         }
///         let data: Vec<u8> = payload.data.iter().map(|byte| byte.wrapping_sub(self.0)).collect();
///         Ok(Payload::decode(data.as_slice())?)
///     }
/// }
///
/// let app = App::builder("sqlite:orders.db").payload_codec(Rot(13));
/// ```
///
/// What it cannot decode does not get lost: a workflow waits, and shows why, until a worker comes that
/// can; an activity fails and is tried again by its policy.
pub trait PayloadCodec: Send + Sync + 'static {
    /// What is kept instead.
    fn encode(&self, payload: Payload)
    -> Result<Payload, Box<dyn std::error::Error + Send + Sync>>;

    /// What was there before [`encode`](Self::encode).
    fn decode(&self, payload: Payload)
    -> Result<Payload, Box<dyn std::error::Error + Send + Sync>>;
}

/// The codec, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Codec(Option<Arc<dyn PayloadCodec>>);

impl Codec {
    pub(crate) fn new(codec: impl PayloadCodec) -> Self {
        Self(Some(Arc::new(codec)))
    }

    /// Makes a message ready to leave. After an error it is not to be used.
    pub(crate) fn encode(&self, message: &mut impl EachPayload) -> Result<(), Unchanged> {
        let Some(codec) = &self.0 else { return Ok(()) };
        change(message, "encode", |payload| codec.encode(payload))
    }

    /// Makes a message ready to be read. After an error it is not to be used.
    pub(crate) fn decode(&self, message: &mut impl EachPayload) -> Result<(), Unchanged> {
        let Some(codec) = &self.0 else { return Ok(()) };
        change(message, "decode", |payload| codec.decode(payload))
    }

    /// The same of what an error tells.
    pub(crate) fn decode_error(&self, mut error: Error) -> Error {
        if let Some(Detail::QueryFailed(failure)) = error.detail.as_deref_mut()
            && self.decode(failure.as_mut()).is_err()
        {
            error.detail = None;
        }
        error
    }
}

/// A payload that the codec cannot change.
#[derive(Debug)]
pub(crate) struct Unchanged {
    pub(crate) message: String,
}

impl From<Unchanged> for Error {
    fn from(Unchanged { message }: Unchanged) -> Self {
        Self { code: Code::Internal, message, detail: None }
    }
}

fn change<F>(message: &mut impl EachPayload, doing: &str, change: F) -> Result<(), Unchanged>
where
    F: Fn(Payload) -> Result<Payload, Box<dyn std::error::Error + Send + Sync>>,
{
    let mut wrong = None;
    message.each_payload(&mut |payload| {
        if wrong.is_some() {
            return;
        }
        let taken = mem::take(payload);
        // Whoever asks here is the whole worker: it does not fall with somebody's code.
        match catch_unwind(AssertUnwindSafe(|| change(taken))) {
            Ok(Ok(changed)) => *payload = changed,
            Ok(Err(error)) => wrong = Some(error.to_string()),
            Err(_) => wrong = Some("it panicked".to_owned()),
        }
    });
    wrong.map_or(Ok(()), |error| {
        let message = format!("the payload codec could not {doing} a payload: {error}");
        Err(Unchanged { message })
    })
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Codec" } else { "None" })
    }
}
