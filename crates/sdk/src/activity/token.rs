//! The name of one attempt of an activity, by which it can be ended from elsewhere.

use std::{fmt, num::ParseIntError, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The name of one attempt of an activity, by which it can be ended from elsewhere. Written as text, it
/// fits into an address.
///
/// ```
/// use steadfast::ActivityToken;
///
/// let token: ActivityToken = "00ff10".parse()?;
/// assert_eq!(token.to_string(), "00ff10");
/// assert!("not hex".parse::<ActivityToken>().is_err());
/// # Ok::<(), steadfast::InvalidToken>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ActivityToken(Vec<u8>);

/// A text that is no token.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{given:?} is not the token of an activity: it must be an even number of hex digits")]
pub struct InvalidToken {
    given: String,
}

impl ActivityToken {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.clone()
    }
}

impl fmt::Display for ActivityToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ActivityToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let invalid = || InvalidToken { given: text.to_owned() };
        if text.is_empty() || text.len() % 2 == 1 || !text.bytes().all(|it| it.is_ascii_hexdigit())
        {
            return Err(invalid());
        }
        let byte = |at: usize| u8::from_str_radix(&text[at..at + 2], 16);
        let bytes: Result<Vec<u8>, ParseIntError> = (0..text.len()).step_by(2).map(byte).collect();
        bytes.map(Self).map_err(|_| invalid())
    }
}

impl Serialize for ActivityToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ActivityToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
