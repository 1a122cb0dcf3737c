//! A copy of an application's file.

use std::path::PathBuf;

use super::App;

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The application is in memory, or at a server.
    #[error("this application has no file of its own to copy: it was not made on `sqlite:`")]
    NoFile,
    /// The file cannot be read, or the copy cannot be written.
    #[error(transparent)]
    Store(#[from] steadfast_store::Error),
}

impl App {
    /// Copies everything that is durable by now to a new file, while work goes on. There is either a whole
    /// copy at `path` afterwards, of which every page was read and found well, or none; a file that is
    /// there already is left as it is, and is an error.
    ///
    /// An application on the copy goes on from the moment that it was made at. Do not run it beside this one:
    /// what was under way then would be done by both.
    ///
    /// ```no_run
    /// # async fn f(app: steadfast::App) -> Result<(), steadfast::BackupError> {
    /// app.backup_to("orders-monday.db").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`BackupError::NoFile`] if the application is not on `sqlite:`, and whatever the disk says.
    pub async fn backup_to(&self, path: impl Into<PathBuf>) -> Result<(), BackupError> {
        let file = self.own.as_ref().and_then(|own| own.file.as_ref());
        Ok(file.ok_or(BackupError::NoFile)?.backup_to(path).await?)
    }
}
