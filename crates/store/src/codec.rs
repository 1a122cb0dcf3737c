//! Rows as bytes: a format number, then a protobuf message.
//!
//! ```text
//!  ┌────────┬──────────────────────┐
//!  │ format │ protobuf message ... │
//!  └────────┴──────────────────────┘
//!    1 byte   the rest
//! ```
//!
//! Fields may be added to a message within a format: protobuf skips what it does not know. The
//! format grows only when old code would misread new bytes; a reader refuses what is newer.

use prost::Message;

/// The format that this release writes, and the newest that it reads.
pub const FORMAT: u8 = 1;

/// Why bytes could not be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is not even a format number.
    #[error("the row is empty")]
    Empty,
    /// A newer release wrote it.
    #[error("the row has format {found}, this release reads up to {known}: use a newer release")]
    TooNew {
        /// The format found.
        found: u8,
        /// The newest one known.
        known: u8,
    },
    /// No release ever wrote this format.
    #[error("the row has format {found}, which never existed")]
    Unknown {
        /// The format found.
        found: u8,
    },
    /// What follows the format number is not the message that was expected.
    #[error("the row is damaged: {0}")]
    Damaged(#[from] prost::DecodeError),
}

/// The bytes of `message`, ready to be stored.
pub fn encode<M: Message>(message: &M) -> Vec<u8> {
    // Into bytes that are there already: a vector would look for room at each of them.
    let mut bytes = vec![0; 1 + message.encoded_len()];
    if let Some((format, mut rest)) = bytes.split_first_mut() {
        *format = FORMAT;
        message.encode_raw(&mut rest);
    }
    bytes
}

/// The message in `bytes`. Whatever the bytes are, this answers and does not panic.
pub fn decode<M: Message + Default>(bytes: &[u8]) -> Result<M, Error> {
    match bytes.split_first() {
        None => Err(Error::Empty),
        Some((&FORMAT, message)) => Ok(M::decode(message)?),
        Some((&found, _)) if found > FORMAT => Err(Error::TooNew { found, known: FORMAT }),
        Some((&found, _)) => Err(Error::Unknown { found }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, FORMAT, decode, encode};

    #[test]
    fn what_was_encoded_is_decoded() {
        assert_eq!(decode::<String>(&encode(&"abc".to_owned())), Ok("abc".to_owned()));
    }

    #[test]
    fn a_newer_format_is_refused_by_number() {
        assert_eq!(decode::<String>(&[2, 1]), Err(Error::TooNew { found: 2, known: FORMAT }));
    }

    #[test]
    fn format_zero_never_existed() {
        assert_eq!(decode::<String>(&[0]), Err(Error::Unknown { found: 0 }));
    }

    #[test]
    fn nothing_is_not_a_row() {
        assert_eq!(decode::<String>(&[]), Err(Error::Empty));
    }

    #[test]
    fn every_truncation_is_an_error_or_a_shorter_message() {
        let bytes = encode(&"a longer text".to_owned());
        for length in 2..bytes.len() {
            assert!(
                matches!(decode::<String>(&bytes[..length]), Err(Error::Damaged(_))),
                "{length} of {} bytes",
                bytes.len()
            );
        }
    }
}
