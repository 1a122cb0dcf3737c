//! What went wrong, as a rule sees it: borrowed, so that looking costs nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{code::Class, hint::Hint};

/// One failed attempt.
///
/// ```
/// # use steadfast_retry::Failure;
/// let failure = Failure { code: Some("503"), ..Failure::of_type("HttpError", "bad gateway") };
/// assert_eq!(failure.class().name(), "transient");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Failure<'a> {
    /// The author's name for the error. `None` for what the engine itself reports, like a timeout.
    pub error_type: Option<&'a str>,
    /// What it says.
    pub message: &'a str,
    /// `429`, `grpc:UNAVAILABLE`, `ECONNRESET`.
    pub code: Option<&'a str>,
    /// What the author says it is; otherwise the timeout and the code tell.
    pub class: Option<Class>,
    /// Which clock ran out, if one did.
    pub timeout: Option<TimeoutKind>,
    /// The author says that trying again cannot help.
    pub non_retryable: bool,
    /// The work was cancelled or terminated: not a failure, never retried.
    pub cancelled: bool,
    /// The wait that the author asks for.
    pub next_delay: Option<Hint>,
    /// What caused it, outermost first.
    pub causes: &'a [Cause<'a>],
}

/// One link of the chain of causes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cause<'a> {
    /// The author's name for the error.
    pub error_type: Option<&'a str>,
    /// What it says.
    pub message: &'a str,
    /// `429`, `grpc:UNAVAILABLE`, `ECONNRESET`.
    pub code: Option<&'a str>,
}

/// The clocks that can run out on an activity.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutKind {
    /// The attempt took too long.
    StartToClose,
    /// The attempt fell silent.
    Heartbeat,
    /// No worker took the task in time.
    ScheduleToStart,
    /// All attempts together took too long.
    ScheduleToClose,
}

impl<'a> Failure<'a> {
    /// An application error.
    #[must_use]
    pub fn of_type(error_type: &'a str, message: &'a str) -> Self {
        Self { error_type: Some(error_type), message, ..Self::default() }
    }

    /// A clock ran out.
    #[must_use]
    pub fn timed_out(kind: TimeoutKind) -> Self {
        Self { timeout: Some(kind), ..Self::default() }
    }

    /// What kind of trouble this is: as said, else by the clock, else by the code, else unknown.
    #[must_use]
    pub fn class(&self) -> Class {
        match (self.class, self.timeout, self.code) {
            (Some(class), _, _) => class,
            (None, Some(_), _) => Class::Timeout,
            (None, None, Some(code)) => Class::of_code(code),
            (None, None, None) => Class::Unknown,
        }
    }

    /// The outermost link of the chain.
    pub(crate) fn head(&self) -> Cause<'a> {
        Cause { error_type: self.error_type, message: self.message, code: self.code }
    }
}

impl TimeoutKind {
    /// Every kind.
    pub const ALL: [Self; 4] =
        [Self::StartToClose, Self::Heartbeat, Self::ScheduleToStart, Self::ScheduleToClose];

    /// The name in policies.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StartToClose => "start_to_close",
            Self::Heartbeat => "heartbeat",
            Self::ScheduleToStart => "schedule_to_start",
            Self::ScheduleToClose => "schedule_to_close",
        }
    }

    /// Whether another attempt can help: the schedule-to-* clocks span the attempts.
    #[must_use]
    pub const fn is_of_one_attempt(self) -> bool {
        matches!(self, Self::StartToClose | Self::Heartbeat)
    }
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
