//! Values on their way into history and back: JSON, labelled as the official SDKs label it.
//!
//! `()` and `None` are the null that every SDK knows. What cannot be read back is an error of its
//! own, never a panic.

use serde::{Serialize, de::DeserializeOwned};
use steadfast_proto::{
    common::{Payload, Payloads},
    sdk::UserMetadata,
};

const ENCODING: &str = "encoding";
const JSON: &[u8] = b"json/plain";
const NULL: &[u8] = NULL_NAME.as_bytes();
const NULL_NAME: &str = "binary/null";

/// A value that cannot be turned into what history keeps, or history that is not such a value.
///
/// ```no_run
/// # use steadfast::{ClientError, CodecError, WorkflowHandle};
/// # async fn f(order: WorkflowHandle<String>) -> Result<(), ClientError> {
/// match order.query::<u32>("votes", &()).await {
///     Err(ClientError::Codec(CodecError::Decode { expected, .. })) => println!("no {expected}"),
///     votes => println!("{}", votes?),
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// The value has no JSON form: a map whose keys are no strings, say.
    #[error("a {expected} cannot be written as JSON: {error}")]
    Encode {
        /// The type of the value.
        expected: &'static str,
        /// Why not.
        error: serde_json::Error,
    },
    /// What is there is not of the wanted type.
    #[error("a {expected} was expected: {error}")]
    Decode {
        /// The wanted type.
        expected: &'static str,
        /// Why not.
        error: serde_json::Error,
    },
    /// What is there is labelled with an encoding that is not JSON.
    #[error("a {expected} was expected, but the payload is encoded as {encoding:?}")]
    Encoding {
        /// The wanted type.
        expected: &'static str,
        /// What its label says.
        encoding: String,
    },
}

/// One value.
pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Payload, CodecError> {
    let expected = std::any::type_name::<T>();
    let data = serde_json::to_vec(value).map_err(|error| CodecError::Encode { expected, error })?;
    if data == b"null" {
        return Ok(null());
    }
    Ok(Payload::json(data))
}

/// One value, as the list of arguments that the wire has everywhere.
pub(crate) fn encode_one<T: Serialize + ?Sized>(value: &T) -> Result<Option<Payloads>, CodecError> {
    Ok(Some(Payloads { payloads: vec![encode(value)?] }))
}

/// The value of a payload.
pub(crate) fn decode<T: DeserializeOwned>(payload: &Payload) -> Result<T, CodecError> {
    let expected = std::any::type_name::<T>();
    let encoding = payload.metadata.get(ENCODING);
    let data = match encoding {
        Some(NULL) => b"null",
        Some(JSON) => payload.data.as_slice(),
        other => {
            let encoding = String::from_utf8_lossy(other.unwrap_or_default()).into_owned();
            return Err(CodecError::Encoding { expected, encoding });
        }
    };
    serde_json::from_slice(data).map_err(|error| CodecError::Decode { expected, error })
}

/// The first value of a list; none at all is a null.
pub(crate) fn decode_one<T: DeserializeOwned>(
    payloads: Option<&Payloads>,
) -> Result<T, CodecError> {
    match payloads.and_then(|list| list.payloads.first()) {
        Some(payload) => decode(payload),
        None => decode(&null()),
    }
}

/// A line that people see beside something.
pub(crate) fn summary(text: &str) -> Option<UserMetadata> {
    let summary = encode(text).ok()?;
    Some(UserMetadata { summary: Some(summary), ..UserMetadata::default() })
}

fn null() -> Payload {
    Payload::encoded(NULL_NAME, Vec::new())
}
