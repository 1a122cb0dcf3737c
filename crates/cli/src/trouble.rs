//! What went wrong, sorted by what a script can do about it.
//!
//! Any error ends a command with code 1; a [`Trouble`] has a code of its own.

use std::process::ExitCode;

/// An error whose kind can be told from the exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Trouble {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Usage,
    NotFound,
    Unreachable,
    NotCompleted,
}

impl Trouble {
    /// A flag was given that cannot be right.
    pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
        Self { kind: Kind::Usage, message: message.into() }.into()
    }

    /// What the command is about is not there.
    pub(crate) fn not_found(message: impl Into<String>) -> anyhow::Error {
        Self { kind: Kind::NotFound, message: message.into() }.into()
    }

    /// Nobody answers.
    pub(crate) fn unreachable(message: impl Into<String>) -> anyhow::Error {
        Self { kind: Kind::Unreachable, message: message.into() }.into()
    }

    /// A workflow or an update ended, and not well.
    pub(crate) fn not_completed(message: impl Into<String>) -> anyhow::Error {
        Self { kind: Kind::NotCompleted, message: message.into() }.into()
    }
}

/// The code that an error ends the process with.
pub(crate) fn exit_code(error: &anyhow::Error) -> ExitCode {
    let code = match error.downcast_ref::<Trouble>().map(|trouble| trouble.kind) {
        None => 1,
        Some(Kind::Usage) => 2,
        Some(Kind::NotFound) => 3,
        Some(Kind::Unreachable) => 4,
        Some(Kind::NotCompleted) => 5,
    };
    ExitCode::from(code)
}

/// Whether the reader of the output went away, as `| head` does: nobody is left to be told.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
}

/// The codes, for `--help`.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  it did what was asked, or was asked to stop and stopped
  1  it could not; the reason is on standard error
  2  the arguments were wrong; nothing was done
  3  what it was asked about is not there
  4  the server cannot be reached, or did not answer in time
  5  the workflow, update or resume job that was waited for did not complete: it failed, was
     cancelled or terminated, or ran out of time";
