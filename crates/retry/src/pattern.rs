//! Text that matches text: exact names, globs and regular expressions, read once and kept ready.

use std::fmt;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// A name in a rule: `CardDeclined`, `Http*` or `/^Http(4|5)/`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum NamePattern {
    /// This very name, case and all.
    Exact(String),
    /// `*` stands for any run of characters, `?` for one.
    Glob(String),
    /// A regular expression, searched for.
    Regex(Regex),
}

/// A piece of a message in a rule: `deadlock detected` or `/deadlock (detected|found)/`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum TextPattern {
    /// Found anywhere in the message.
    Substring(String),
    /// Found in the first 64 KiB of the message.
    Regex(Regex),
}

/// A pattern that cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("not a regular expression: /{text}/: {source}")]
pub struct Error {
    /// What stood between the slashes.
    pub text: String,
    /// What is wrong with it.
    pub source: regex::Error,
}

impl NamePattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, Error> {
        Ok(match slashed(text) {
            Some(inner) => Self::Regex(compile(inner)?),
            None if text.contains(['*', '?']) => Self::Glob(text.to_owned()),
            None => Self::Exact(text.to_owned()),
        })
    }

    /// Whether `name` is one of these.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Glob(glob) => glob_matches(glob, name),
            Self::Regex(regex) => regex.is_match(clip(name)),
        }
    }

    /// Whether surely every name that `other` takes is one of these.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(name)) => self.matches(name),
            (Self::Glob(mine), Self::Glob(theirs)) => glob_covers(mine, theirs),
            (Self::Glob(mine), Self::Regex(_)) => mine.chars().all(|c| c == '*'),
            (Self::Regex(mine), Self::Regex(theirs)) => mine.as_str() == theirs.as_str(),
            (Self::Exact(_) | Self::Regex(_), _) => false,
        }
    }
}

impl TextPattern {
    /// Reads a pattern.
    pub fn new(text: &str) -> Result<Self, Error> {
        Ok(match slashed(text) {
            Some(inner) => Self::Regex(compile(inner)?),
            None => Self::Substring(text.to_owned()),
        })
    }

    /// Whether `message` contains it.
    #[must_use]
    pub fn matches(&self, message: &str) -> bool {
        match self {
            Self::Substring(part) => message.contains(part.as_str()),
            Self::Regex(regex) => regex.is_match(clip(message)),
        }
    }

    /// Whether surely every message that `other` takes contains it.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Substring(mine), Self::Substring(theirs)) => theirs.contains(mine.as_str()),
            (Self::Regex(mine), Self::Regex(theirs)) => mine.as_str() == theirs.as_str(),
            (Self::Substring(mine), Self::Regex(_)) => mine.is_empty(),
            (Self::Regex(_), Self::Substring(_)) => false,
        }
    }
}

/// The longest piece of text that a regular expression is shown: matching is linear in it.
pub const REGEX_INPUT_MAX: usize = 64 * 1024;

fn clip(text: &str) -> &str {
    let mut end = text.len().min(REGEX_INPUT_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

fn slashed(text: &str) -> Option<&str> {
    text.strip_prefix('/')?.strip_suffix('/')
}

fn compile(inner: &str) -> Result<Regex, Error> {
    Regex::new(inner).map_err(|source| Error { text: inner.to_owned(), source })
}

/// The usual two-finger walk: on a mismatch, let the last star take one character more.
fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name) = (glob.as_bytes(), name.as_bytes());
    let (mut g, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some(b'*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(&byte) if byte == b'?' || byte == name[n] => {
                g += 1;
                n += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                g = at + 1;
                n = taken + 1;
            }
        }
    }
    glob[g..].iter().all(|byte| *byte == b'*')
}

/// Certain for equal globs and for `prefix*`; for the rest we do not claim it.
fn glob_covers(mine: &str, theirs: &str) -> bool {
    let literal = |glob: &str| glob.find(['*', '?']).unwrap_or(glob.len());
    let prefix = &mine[..literal(mine)];
    let is_prefix_glob = mine[literal(mine)..].chars().all(|c| c == '*') && mine.ends_with('*');
    mine == theirs || is_prefix_glob && theirs[..literal(theirs)].starts_with(prefix)
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(text) | Self::Glob(text) => f.write_str(text),
            Self::Regex(regex) => write!(f, "/{regex}/"),
        }
    }
}

impl fmt::Display for TextPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Substring(text) => write!(f, "{text:?}"),
            Self::Regex(regex) => write!(f, "/{regex}/"),
        }
    }
}

impl PartialEq for NamePattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(mine), Self::Exact(theirs)) | (Self::Glob(mine), Self::Glob(theirs)) => {
                mine == theirs
            }
            (Self::Regex(mine), Self::Regex(theirs)) => mine.as_str() == theirs.as_str(),
            _ => false,
        }
    }
}

impl PartialEq for TextPattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Substring(mine), Self::Substring(theirs)) => mine == theirs,
            (Self::Regex(mine), Self::Regex(theirs)) => mine.as_str() == theirs.as_str(),
            _ => false,
        }
    }
}

impl TryFrom<String> for NamePattern {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::new(&text)
    }
}

impl TryFrom<String> for TextPattern {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        Self::new(&text)
    }
}

impl From<NamePattern> for String {
    fn from(pattern: NamePattern) -> Self {
        pattern.to_string()
    }
}

impl From<TextPattern> for String {
    fn from(pattern: TextPattern) -> Self {
        match pattern {
            TextPattern::Substring(text) => text,
            TextPattern::Regex(regex) => format!("/{regex}/"),
        }
    }
}
