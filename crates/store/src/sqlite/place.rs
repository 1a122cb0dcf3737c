//! That a file is still where it was opened.
//!
//! A file that is removed or replaced while it is open goes on taking what is written to it, and nobody
//! finds that afterwards. So whoever has written looks whether the file is there, and so is its log,
//! before anything is acknowledged.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::file::with_suffix;
use crate::error::Error;

/// Where the files of a store were when it was opened.
#[derive(Debug)]
pub(super) struct Place(Vec<(PathBuf, Id)>);

/// What tells a file from another one that has its name.
type Id = (u64, u64);

impl Place {
    /// Of the file with this full path, which is open.
    pub(super) fn of(path: &Path) -> Self {
        let files = [path.to_owned(), with_suffix(path, "-wal")];
        let found = files.into_iter().filter_map(|name| {
            let opened = id(&name).ok()??;
            Some((name, opened))
        });
        Self(found.collect())
    }

    /// An error if one of them is there no more.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.0.iter().try_for_each(|(name, opened)| match id(name) {
            Ok(Some(found)) if found == *opened => Ok(()),
            // A system that does not tell them apart, or fails to, has not said that it is gone.
            Ok(None) => Ok(()),
            Err(error) if error.kind() != io::ErrorKind::NotFound => Ok(()),
            Ok(Some(_)) | Err(_) => Err(Error::Gone { path: name.display().to_string() }),
        })
    }
}

#[cfg(unix)]
fn id(name: &Path) -> io::Result<Option<Id>> {
    use std::os::unix::fs::MetadataExt as _;

    std::fs::metadata(name).map(|found| Some((found.dev(), found.ino())))
}

/// An open file cannot be removed.
#[cfg(not(unix))]
fn id(_: &Path) -> io::Result<Option<Id>> {
    Ok(None)
}
