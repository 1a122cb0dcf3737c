//! An error that says of itself that trying again cannot help.

use super::Failure;

/// The type that it has in history.
const TYPE: &str = "TerminalError";

/// An error that is never retried: the order does not exist, the card is declined.
///
/// ```
/// use steadfast::{Failure, TerminalError};
///
/// fn find(order: &str) -> Result<(), Failure> {
///     Err(TerminalError::new(format!("Order {order} not found")).into())
/// }
/// let failure = find("17").unwrap_err();
/// assert!(failure.is_non_retryable());
/// assert_eq!(failure.error_type(), "TerminalError");
/// ```
#[derive(Clone, Debug)]
pub struct TerminalError {
    failure: Failure,
}

impl TerminalError {
    /// An error that says this.
    pub fn new(message: impl Into<String>) -> Self {
        Self { failure: Failure::new(message).of_type(TYPE).non_retryable() }
    }

    /// What an activity failed with, by its own word for good.
    pub(crate) fn of(failure: Failure) -> Self {
        Self { failure }
    }

    /// What happened, for people.
    pub fn message(&self) -> &str {
        self.failure.message()
    }

    /// All that is known about it.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    pub(crate) fn to_failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl std::fmt::Display for TerminalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.failure.message())
    }
}

impl std::error::Error for TerminalError {}
