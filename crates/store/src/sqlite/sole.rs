//! One process at a time has a file open.
//!
//! Epochs keep a second owner from harming the data. They do not keep it from taking the data away
//! from a process that is alive, and from doing again what that one is still doing. So whoever opens a
//! file holds a lock beside it (`NAME-lock`), which the system takes back when the process ends,
//! however it ends.
//!
//! The stores of one process share the lock, so that a file can be opened again at once where the
//! last store on it is still on its way out.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

use super::file::{failed, with_suffix};
use crate::error::Error;

/// That no other process has the file open, for as long as this is kept.
#[derive(Debug)]
pub(super) struct Sole {
    path: PathBuf,
}

/// A lock, and how many stores of this process share it.
#[derive(Debug)]
struct Held {
    lock: File,
    name: PathBuf,
    stores: usize,
}

/// The locks that this process holds, by the file beside which they are.
static HELD: Mutex<BTreeMap<PathBuf, Held>> = Mutex::new(BTreeMap::new());

impl Sole {
    /// Of the file with this full path; an error if another process has it open, and still has after a
    /// wait.
    pub(super) fn of(path: PathBuf, patience: Duration) -> Result<Self, Error> {
        let mut all = all();
        if let Some(held) = all.get_mut(&path) {
            held.stores += 1;
        } else {
            all.insert(path.clone(), Held::take(&path, patience)?);
        }
        Ok(Self { path })
    }
}

impl Drop for Sole {
    fn drop(&mut self) {
        let mut all = all();
        let Some(held) = all.get_mut(&self.path) else { return };
        held.stores -= 1;
        if held.stores == 0 {
            held.remove();
            all.remove(&self.path);
        }
    }
}

fn all() -> MutexGuard<'static, BTreeMap<PathBuf, Held>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    fn take(path: &Path, patience: Duration) -> Result<Self, Error> {
        let name = with_suffix(path, "-lock");
        let mut tries = 0;
        loop {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false).open(&name);
            let mut lock = file.map_err(|error| failed(&name, &error))?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    tracing::warn!("{}; waiting for it a little", in_use(path, &name));
                    lock = wait(lock, patience).ok_or_else(|| in_use(path, &name))?;
                }
                Err(TryLockError::Error(error)) => {
                    let path = path.display();
                    tracing::warn!(%path, %error, "{NO_LOCKS}");
                }
            }
            // Whoever had it may have removed it before we locked it: then it keeps nobody out.
            tries += 1;
            if has_name(&lock, &name) || tries == TRIES_MAX {
                // Only for whoever comes next to be told.
                _ = sign(&mut lock);
                return Ok(Self { lock, name, stores: 1 });
            }
        }
    }

    /// Removes the file while it is still locked, so that nobody can lock it who then has nothing.
    fn remove(&self) {
        if has_name(&self.lock, &self.name) {
            // If it stays, it is in nobody's way.
            _ = fs::remove_file(&self.name);
        }
    }
}

/// Writes down whose lock it is.
fn sign(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    write!(lock, "{}", process::id())
}

/// Waits until the lock can be had. Whoever gives up leaves a thread behind, which lets go of the lock as
/// soon as it has it.
fn wait(lock: File, patience: Duration) -> Option<File> {
    let (sender, locked) = mpsc::channel();
    let work = move || {
        if lock.lock().is_ok() {
            // Nobody may be waiting any more.
            _ = sender.send(lock);
        }
    };
    thread::Builder::new().name("store-lock".to_owned()).spawn(work).ok()?;
    locked.recv_timeout(patience).ok()
}

fn in_use(path: &Path, name: &Path) -> Error {
    // Some systems keep what is locked from being read.
    let signed = fs::read_to_string(name).unwrap_or_default();
    Error::InUse { path: path.display().to_string(), process: signed.parse().ok() }
}

/// Whether whoever opens the name finds this very file.
#[cfg(unix)]
fn has_name(file: &File, name: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let place = |found: io::Result<fs::Metadata>| found.ok().map(|it| (it.dev(), it.ino()));
    place(file.metadata()) == place(fs::metadata(name))
}

/// An open file cannot be removed.
#[cfg(not(unix))]
fn has_name(_: &File, _: &Path) -> bool {
    true
}

/// There are file systems on which no file is ever found to be the one that it is.
const TRIES_MAX: u32 = 20;

const NO_LOCKS: &str =
    "files cannot be locked here: make sure that one process alone opens this one";
