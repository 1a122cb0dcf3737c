//! A copy of the file while it is in use.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};
use tokio::sync::oneshot;

use super::{
    crew::no_thread,
    fault::Fault,
    file::{failed, sync_folder, verify, with_suffix},
    packed::Packed,
    schema,
};
use crate::{error::Error, store::Answer};

/// Copies `source` to `target` on a thread of its own, so that reads do not wait for it.
pub(super) fn backup<'a>(source: &Path, target: PathBuf) -> Answer<'a, ()> {
    let (answer, answered) = oneshot::channel();
    let source = source.to_owned();
    let work = move || _ = answer.send(copy(&source, &target));
    let started = thread::Builder::new().name("store-backup".to_owned()).spawn(work);
    Box::pin(async move {
        started.map_err(|error| no_thread(&error))?;
        answered.await.map_err(|_| Error::Io("the backup was lost in a panic".to_owned()))?
    })
}

/// Copies `source` to `target`. Blocks.
pub(super) fn copy(source: &Path, target: &Path) -> Result<(), Error> {
    if target.exists() {
        return Err(Error::Rejected(format!("{} is there already", target.display())));
    }
    let part = with_suffix(target, ".part");
    // Of a process that was killed while it made one.
    _ = fs::remove_file(&part);
    let copied = copy_pages(source, &part)
        .map_err(|fault| fault.into_error(source))
        .and_then(|()| publish(&part, target).map_err(|error| failed(target, &error)));
    if copied.is_err() {
        // Half a copy is of no use; if it cannot be removed either, its name says what it is.
        _ = fs::remove_file(&part);
    }
    copied
}

fn copy_pages(source: &Path, part: &Path) -> Result<(), Fault> {
    let source = Connection::open_with_flags(source, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    source.busy_timeout(PATIENCE)?;
    let mut copy = Connection::open(part)?;
    // All in one step is one snapshot: a commit in the meantime is not in it, and does not make it
    // begin again.
    let ended = Backup::new(&source, &mut copy)?.step(-1)?;
    if ended != StepResult::Done {
        return Err(Error::Busy(format!("the file could not be read: {ended:?}")).into());
    }
    // Whoever opens the copy with other tools finds all of it in the tables.
    if schema::version(&copy)? == schema::VERSION {
        Packed::new(0).unpack_all(&mut copy)?;
    }
    verify(&copy)?;
    copy.close().map_err(|(_, error)| error.into())
}

fn publish(part: &Path, target: &Path) -> io::Result<()> {
    fs::File::open(part)?.sync_all()?;
    fs::rename(part, target)?;
    sync_folder(target)
}

/// How long to wait for a process that is about to open or close the file.
const PATIENCE: Duration = Duration::from_secs(5);
