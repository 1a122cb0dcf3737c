//! Error codes, how rules name them, and what they say about a failure.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of trouble a failure is. The coarse answer to "does it help to try again?".
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It may well work the next time.
    Transient,
    /// The other side asks for patience.
    Throttle,
    /// Nobody answered in time; the work may have been done.
    Timeout,
    /// The caller is not allowed.
    Auth,
    /// The input is wrong and will stay wrong.
    Data,
    /// It will never work.
    Permanent,
    /// The process died.
    Crash,
    /// Nobody said.
    #[default]
    Unknown,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 8] = [
        Self::Transient,
        Self::Throttle,
        Self::Timeout,
        Self::Auth,
        Self::Data,
        Self::Permanent,
        Self::Crash,
        Self::Unknown,
    ];

    /// The built-in classes: HTTP status, `grpc:` status and the usual names of network errors.
    ///
    /// ```
    /// # use steadfast_retry::Class;
    /// assert_eq!(Class::of_code("429"), Class::Throttle);
    /// assert_eq!(Class::of_code("grpc:UNAVAILABLE"), Class::Transient);
    /// assert_eq!(Class::of_code("404"), Class::Permanent);
    /// ```
    #[must_use]
    pub fn of_code(code: &str) -> Self {
        match (strip_grpc(code), code.parse::<u16>()) {
            (Some(status), _) => of_grpc(status),
            (None, Ok(status)) => of_http(status),
            (None, Err(_)) => of_name(code),
        }
    }

    /// The class that policies call by this name.
    ///
    /// ```
    /// # use steadfast_retry::Class;
    /// assert_eq!(Class::named("throttle"), Some(Class::Throttle));
    /// assert_eq!(Class::named("sadness"), None);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// Whether trying again can help, by the built-in classes.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        !matches!(self, Self::Auth | Self::Data | Self::Permanent)
    }

    /// The name in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttle => "throttle",
            Self::Timeout => "timeout",
            Self::Auth => "auth",
            Self::Data => "data",
            Self::Permanent => "permanent",
            Self::Crash => "crash",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A code in a rule: `429`, `5xx`, `grpc:UNAVAILABLE` or any other name.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "RawCode", into = "String")]
pub enum CodePattern {
    /// This very code.
    Exact(String),
    /// All HTTP codes that start with this digit: `5xx`.
    Family(u8),
}

impl CodePattern {
    /// Reads a pattern; any text is one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text.as_bytes() {
            [digit @ b'1'..=b'5', b'x' | b'X', b'x' | b'X'] => Self::Family(digit - b'0'),
            _ => Self::Exact(text.to_owned()),
        }
    }

    /// Whether `code` is one of these.
    #[must_use]
    pub fn matches(&self, code: &str) -> bool {
        match self {
            Self::Exact(exact) => exact.eq_ignore_ascii_case(code),
            Self::Family(digit) => {
                code.parse::<u16>().is_ok_and(|status| status / 100 == u16::from(*digit))
            }
        }
    }

    /// Whether every code that `other` takes is one of these.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (_, Self::Exact(code)) => self.matches(code),
            (Self::Family(mine), Self::Family(theirs)) => mine == theirs,
            (Self::Exact(_), Self::Family(_)) => false,
        }
    }
}

impl fmt::Display for CodePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(code) => f.write_str(code),
            Self::Family(digit) => write!(f, "{digit}xx"),
        }
    }
}

impl From<CodePattern> for String {
    fn from(pattern: CodePattern) -> Self {
        pattern.to_string()
    }
}

/// People write `code: 429` and `code: 5xx` alike.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawCode {
    Number(u16),
    Text(String),
}

impl From<RawCode> for CodePattern {
    fn from(raw: RawCode) -> Self {
        match raw {
            RawCode::Number(number) => Self::Exact(number.to_string()),
            RawCode::Text(text) => Self::new(&text),
        }
    }
}

fn strip_grpc(code: &str) -> Option<&str> {
    let (scheme, status) = code.split_once(':')?;
    scheme.eq_ignore_ascii_case("grpc").then_some(status)
}

fn of_http(status: u16) -> Class {
    match status {
        429 => Class::Throttle,
        408 | 425 | 500..=599 => Class::Transient,
        401 | 403 | 407 => Class::Auth,
        400 | 413 | 414 | 415 | 422 => Class::Data,
        402 | 404..=406 | 409..=412 | 416..=424 | 426..=428 | 430..=499 => Class::Permanent,
        _ => Class::Unknown,
    }
}

fn of_grpc(status: &str) -> Class {
    let is = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(status));
    if is(&["UNAVAILABLE", "ABORTED", "INTERNAL"]) {
        Class::Transient
    } else if is(&["RESOURCE_EXHAUSTED"]) {
        Class::Throttle
    } else if is(&["DEADLINE_EXCEEDED"]) {
        Class::Timeout
    } else if is(&["UNAUTHENTICATED", "PERMISSION_DENIED"]) {
        Class::Auth
    } else if is(&["INVALID_ARGUMENT", "OUT_OF_RANGE", "DATA_LOSS"]) {
        Class::Data
    } else if is(&["NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "UNIMPLEMENTED"]) {
        Class::Permanent
    } else {
        Class::Unknown
    }
}

/// A connection refused or reset, a name that does not resolve, a handshake cut short.
fn of_name(code: &str) -> Class {
    const NETWORK: [&str; 8] = [
        "ECONNREFUSED",
        "ECONNRESET",
        "ECONNABORTED",
        "EPIPE",
        "EHOSTUNREACH",
        "ENETUNREACH",
        "EAI_AGAIN",
        "TLS_RESET",
    ];
    match code {
        "ETIMEDOUT" => Class::Timeout,
        "EACCES" | "EPERM" => Class::Auth,
        _ if NETWORK.contains(&code) => Class::Transient,
        _ => Class::Unknown,
    }
}
