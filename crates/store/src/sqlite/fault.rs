//! What an error of the database means to the caller of the store.

use std::path::Path;

use rusqlite::{ErrorCode, ffi};

use crate::error::Error;

/// Why a piece of work failed: the database said no, or we did.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    Store(Error),
}

impl Fault {
    /// Whether a row was in the way of another one.
    pub(super) fn is_conflict(&self) -> bool {
        self.code() == Some(ErrorCode::ConstraintViolation)
    }

    /// Whether there was no room.
    pub(super) fn is_full(&self) -> bool {
        self.code() == Some(ErrorCode::DiskFull)
    }

    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Sql(error) => error.sqlite_error_code(),
            Self::Store(_) => None,
        }
    }

    /// Whether somebody else has the shards.
    pub(super) fn is_fenced(&self) -> bool {
        matches!(self, Self::Store(Error::Fenced { .. }))
    }

    /// The same with `other` in its place if a row was in the way.
    pub(super) fn on_conflict(self, other: impl FnOnce() -> Error) -> Self {
        if self.is_conflict() { Self::Store(other()) } else { self }
    }

    /// A value in the file that no release ever wrote.
    pub(super) fn unreadable(column: &str, value: i64) -> Self {
        Self::Sql(rusqlite::Error::FromSqlConversionFailure(
            0,
            rusqlite::types::Type::Integer,
            format!("{column} has the value {value}").into(),
        ))
    }

    /// What the caller is told about a failure with the database at `path`.
    pub(super) fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Store(error) => error,
            Self::Sql(rusqlite::Error::SqliteFailure(code, message)) => {
                let message = message.unwrap_or_else(|| code.to_string());
                from_code(code, message, path)
            }
            Self::Sql(rusqlite::Error::SqlInputError { error, msg, .. }) => {
                from_code(error, msg, path)
            }
            // The database did what it was asked to; what it gave back makes no sense.
            Self::Sql(error) => damaged(path, error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

/// The error for a file that cannot be used.
pub(super) fn damaged(path: &Path, reason: impl Into<String>) -> Error {
    Error::Damaged { path: path.display().to_string(), reason: reason.into() }
}

fn from_code(code: ffi::Error, message: String, path: &Path) -> Error {
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Error::Busy(message),
        ErrorCode::DiskFull => Error::Full(message),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(path, message),
        // `Unknown` is the generic code: a statement that the database will not run.
        ErrorCode::ConstraintViolation
        | ErrorCode::TooBig
        | ErrorCode::TypeMismatch
        | ErrorCode::ParameterOutOfRange
        | ErrorCode::Unknown => Error::Rejected(message),
        ErrorCode::SystemIoFailure
        | ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::FileLockingProtocolFailed
        | ErrorCode::OutOfMemory
        | ErrorCode::OperationAborted
        | ErrorCode::OperationInterrupted
        | ErrorCode::SchemaChanged
        | ErrorCode::NotFound
        | ErrorCode::NoLargeFileSupport
        | ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::ApiMisuse
        | ErrorCode::InternalMalfunction
        // Codes to come are treated like a failing disk: the outcome is looked up, not assumed.
        | _ => Error::Io(format!("{message} (code {})", code.extended_code)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::ffi;

    use super::Fault;
    use crate::error::Outcome;

    #[test]
    fn every_code_says_what_became_of_the_write() {
        let table = [
            (ffi::SQLITE_BUSY, Outcome::NotApplied),
            (ffi::SQLITE_BUSY_SNAPSHOT, Outcome::NotApplied),
            (ffi::SQLITE_LOCKED, Outcome::NotApplied),
            (ffi::SQLITE_FULL, Outcome::NotApplied),
            (ffi::SQLITE_IOERR_FSYNC, Outcome::Unknown),
            (ffi::SQLITE_IOERR_WRITE, Outcome::Unknown),
            (ffi::SQLITE_CANTOPEN, Outcome::Unknown),
            (ffi::SQLITE_READONLY, Outcome::Unknown),
            (ffi::SQLITE_CORRUPT, Outcome::Final),
            (ffi::SQLITE_NOTADB, Outcome::Final),
            (ffi::SQLITE_CONSTRAINT_UNIQUE, Outcome::Final),
            (ffi::SQLITE_TOOBIG, Outcome::Final),
        ];
        for (code, expected) in table {
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = Fault::from(failure).into_error(Path::new("x.db"));
            assert_eq!(error.outcome(), expected, "code {code}: {error}");
        }
    }
}
