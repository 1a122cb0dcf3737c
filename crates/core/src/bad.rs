//! Saying no to a command, with its cause and what is wrong.

use std::time::Duration;

use steadfast_proto::enums::WorkflowTaskFailedCause as FailedCause;

use crate::{
    limits::Limits,
    refused::{BadCommand, Cause},
    span::{NotASpan, checked},
};

/// A command that the workflow cannot have: its task fails.
pub(crate) fn command(cause: FailedCause, detail: impl Into<String>) -> BadCommand {
    BadCommand { cause: Cause(cause), detail: detail.into(), fatal: false }
}

/// A command that is too big to be kept: the run must end, as it would send it again.
pub(crate) fn too_large(cause: FailedCause, what: &str) -> BadCommand {
    let detail = format!("{what} exceeds size limit.");
    BadCommand { cause: Cause(cause), detail, fatal: true }
}

/// A name that must be there and not be too long.
pub(crate) fn check_name(
    cause: FailedCause,
    field: &str,
    name: &str,
    limits: &Limits,
) -> Result<(), BadCommand> {
    if name.is_empty() {
        return Err(command(cause, format!("{field} is not set on command.")));
    }
    check_length(cause, field, name, limits)
}

/// A name that must not be too long.
pub(crate) fn check_length(
    cause: FailedCause,
    field: &str,
    name: &str,
    limits: &Limits,
) -> Result<(), BadCommand> {
    if name.len() > limits.id_bytes_max {
        return Err(command(cause, format!("{field} exceeds length limit.")));
    }
    Ok(())
}

/// A span that must not be negative.
pub(crate) fn check_span(
    cause: FailedCause,
    field: &str,
    wire: Option<&steadfast_proto::prost_types::Duration>,
) -> Result<Duration, BadCommand> {
    checked(wire).map_err(|fault: NotASpan| command(cause, format!("invalid {field}: {fault}")))
}

/// A payload that must not be too big.
pub(crate) fn check_size(
    cause: FailedCause,
    what: &str,
    bytes: usize,
    limits: &Limits,
) -> Result<(), BadCommand> {
    if bytes > limits.blob_bytes_max {
        return Err(too_large(cause, what));
    }
    Ok(())
}

/// One more pending thing of a kind.
pub(crate) fn check_pending(
    cause: FailedCause,
    what: &str,
    pending: usize,
    limits: &Limits,
) -> Result<(), BadCommand> {
    if pending >= limits.pending_max {
        let limit = limits.pending_max;
        let detail = format!(
            "the number of pending {what}, {pending}, has reached the per-workflow limit of {limit}"
        );
        return Err(command(cause, detail));
    }
    Ok(())
}
