//! Ranges in rules: which attempts, and how long after the first one.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::span::{self, Span};

/// Attempts `first` to `last`, both included: `1..3`, `4..`, `..5`, `2`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "RawAttempts", into = "String")]
pub struct Attempts {
    /// The first attempt, from 1.
    pub first: u32,
    /// The last attempt, or none.
    pub last: Option<u32>,
}

/// Time since the first attempt: `<10m` or `>=10m`.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Elapsed {
    /// Strictly less.
    Below(Duration),
    /// This much or more.
    AtLeast(Duration),
}

/// A range that cannot be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a range of attempts.
    #[error("not a range of attempts: {text:?} (write 1..3, 4.. or 2)")]
    Attempts {
        /// What was written.
        text: String,
    },
    /// Not a bound on the time.
    #[error("not a bound on the elapsed time: {text:?} (write <10m or >=1h)")]
    Elapsed {
        /// What was written.
        text: String,
    },
}

impl Attempts {
    /// Whether this attempt is in the range.
    #[must_use]
    pub fn contains(&self, attempt: u32) -> bool {
        self.first <= attempt && self.last.is_none_or(|last| attempt <= last)
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        let to_the_end = match (self.last, other.last) {
            (None, _) => true,
            (Some(mine), Some(theirs)) => theirs <= mine,
            (Some(_), None) => false,
        };
        self.first.max(1) <= other.first.max(1) && to_the_end
    }
}

impl Elapsed {
    /// Whether this much time is within the bound.
    #[must_use]
    pub fn contains(self, elapsed: Duration) -> bool {
        match self {
            Self::Below(bound) => elapsed < bound,
            Self::AtLeast(bound) => elapsed >= bound,
        }
    }

    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::Below(mine), Self::Below(theirs)) => theirs <= mine,
            (Self::AtLeast(mine), Self::AtLeast(theirs)) => mine <= theirs,
            (Self::AtLeast(mine), Self::Below(_)) => mine.is_zero(),
            (Self::Below(_), Self::AtLeast(_)) => false,
        }
    }
}

impl fmt::Display for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.last {
            Some(last) if last == self.first => write!(f, "{last}"),
            Some(last) => write!(f, "{}..{last}", self.first),
            None => write!(f, "{}..", self.first),
        }
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(bound) => write!(f, "<{}", Span(*bound)),
            Self::AtLeast(bound) => write!(f, ">={}", Span(*bound)),
        }
    }
}

/// People write `attempts: 2` and `attempts: 1..3` alike.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawAttempts {
    Number(u32),
    Text(String),
}

impl TryFrom<RawAttempts> for Attempts {
    type Error = Error;

    fn try_from(raw: RawAttempts) -> Result<Self, Error> {
        match raw {
            RawAttempts::Number(only) => Ok(Self { first: only, last: Some(only) }),
            RawAttempts::Text(text) => Self::try_from(text),
        }
    }
}

impl TryFrom<String> for Attempts {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        let number = |part: &str| part.trim().parse::<u32>().ok();
        let range = match text.split_once("..") {
            Some((first, "")) => number(first).map(|first| Self { first, last: None }),
            Some(("", last)) => number(last).map(|last| Self { first: 1, last: Some(last) }),
            Some((first, last)) => number(first)
                .zip(number(last))
                .map(|(first, last)| Self { first, last: Some(last) }),
            None => number(&text).map(|only| Self { first: only, last: Some(only) }),
        };
        range.ok_or(Error::Attempts { text })
    }
}

impl TryFrom<String> for Elapsed {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        let bound = |rest: &str| span::parse(rest).ok();
        let elapsed = if let Some(rest) = text.strip_prefix(">=") {
            bound(rest).map(Self::AtLeast)
        } else if let Some(rest) = text.strip_prefix('<') {
            bound(rest).map(Self::Below)
        } else {
            None
        };
        elapsed.ok_or(Error::Elapsed { text })
    }
}

impl From<Attempts> for String {
    fn from(range: Attempts) -> Self {
        range.to_string()
    }
}

impl From<Elapsed> for String {
    fn from(bound: Elapsed) -> Self {
        bound.to_string()
    }
}

impl From<RangeInclusive<u32>> for Attempts {
    fn from(range: RangeInclusive<u32>) -> Self {
        Self { first: *range.start(), last: Some(*range.end()) }
    }
}
