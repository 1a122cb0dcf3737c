//! The file: making it, looking at it before it is used, connecting to it.
//!
//! A file appears under its name only when it is complete, so an empty one was not left by us. All
//! reading goes through the database library: closing the file in any other way would drop the
//! locks that this process holds on it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig, functions::FunctionFlags};

use super::{
    Check, Options, Synchronous,
    fault::{Fault, damaged},
    schema,
};
use crate::{compare::has_words, error::Error};

/// What a connection is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Role {
    Writer,
    Reader,
    Checkpoint,
}

/// Files up to this size are checked page by page after a crash.
const CRASHED_MAX: u64 = 256 * 1024 * 1024;

/// Files up to this size are checked page by page always.
const CLOSED_MAX: u64 = 16 * 1024 * 1024;

/// The log may keep this much of the disk when it begins anew.
const LOG_BYTES_KEPT: i64 = 64 * 1024 * 1024;

/// Makes sure that there is a healthy file of ours, making one if there is none. Gives its full
/// path.
pub(super) fn prepare(path: &Path, options: &Options) -> Result<PathBuf, Error> {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path)?,
        Err(_) | Ok(_) => look_at(path, options.check)?,
    }
    path.canonicalize().map_err(|error| failed(path, &error))
}

/// Makes sure that this is a healthy file of ours.
pub(super) fn look_at(path: &Path, check: Check) -> Result<(), Error> {
    match fs::metadata(path) {
        Err(error) => Err(failed(path, &error)),
        Ok(found) if !found.is_file() => Err(damaged(path, "it is not a file")),
        Ok(found) if found.len() == 0 => {
            Err(damaged(path, "it is empty; remove it to begin a new one"))
        }
        Ok(found) => examine(path, found.len(), check).map_err(|fault| unusable(fault, path)),
    }
}

/// Opens a connection to a file that was prepared.
pub(super) fn connect(path: &Path, role: Role, options: &Options) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(options.busy_timeout)?;
    db.set_prepared_statement_cache_capacity(64);
    // Otherwise a statement with a limit is prepared anew for each limit that it is given.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    let cache = match role {
        Role::Writer => options.writer_cache_kib,
        Role::Reader => options.reader_cache_kib,
        Role::Checkpoint => 0,
    };
    db.pragma_update(None, "cache_size", -i64::from(cache))?;
    db.pragma_update(None, "temp_store", "MEMORY")?;
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    db.pragma_update(None, "synchronous", options.synchronous.name())?;
    if let (Role::Writer, Some(bytes)) = (role, options.file_bytes_max) {
        let page: u32 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = u32::try_from(bytes / u64::from(page)).unwrap_or(u32::MAX - 1);
        db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    if role == Role::Reader {
        db.pragma_update(None, "query_only", true)?;
        add_functions(&db)?;
    }
    Ok(db)
}

/// Reads every page.
pub(super) fn verify(db: &Connection) -> Result<(), Fault> {
    let found: String = db.query_row("PRAGMA quick_check(1)", (), |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(refused(db, found)) }
}

/// The file beside `path` with this at the end of its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes a new name in the folder of `path` durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    // Other systems cannot open a folder, and make names durable without being asked.
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

fn create(path: &Path) -> Result<(), Error> {
    static CREATED: AtomicU64 = AtomicU64::new(0);
    // A log without its file would be taken for the log of the new one.
    if with_suffix(path, "-wal").exists() {
        return Err(damaged(path, "the file is missing, but its write-ahead log is there"));
    }
    let number = CREATED.fetch_add(1, Ordering::Relaxed);
    let new = with_suffix(path, &format!(".new-{}-{number}", process::id()));
    let created = fill(&new)
        .map_err(|fault| fault.into_error(path))
        .and_then(|()| publish(&new, path).map_err(|error| failed(path, &error)));
    _ = fs::remove_file(&new);
    created
}

fn fill(new: &Path) -> Result<(), Fault> {
    let mut db = Connection::open(new)?;
    db.pragma_update(None, "synchronous", "FULL")?;
    schema::migrate(&mut db)?;
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.close().map_err(|(_, error)| error.into())
}

/// Gives the new file its name. If another process was faster, its file is as good.
fn publish(new: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(new, path) {
        Ok(()) => (),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (),
        // Not every file system has links.
        Err(_) => fs::rename(new, path)?,
    }
    sync_folder(path)
}

/// Looks at a file without changing it.
fn examine(path: &Path, bytes: u64, check: Check) -> Result<(), Fault> {
    let crashed = fs::metadata(with_suffix(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    identify(&db)?;
    if !crashed {
        complete(&db, bytes)?;
    }
    let every_page = match check {
        Check::Auto if crashed => bytes <= CRASHED_MAX,
        Check::Auto => bytes <= CLOSED_MAX,
        Check::Always => true,
        Check::Never => false,
    };
    probe(&db)?;
    if every_page { verify(&db) } else { Ok(()) }
}

/// Nothing was asked for that a healthy file could refuse.
fn unusable(fault: Fault, path: &Path) -> Error {
    let error = fault.into_error(path);
    if let Error::Rejected(reason) = error { damaged(path, reason) } else { error }
}

fn identify(db: &Connection) -> Result<(), Fault> {
    let id: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id != schema::APPLICATION_ID {
        return Err(refused(db, "it is a database, but not one of Steadfast"));
    }
    let found = schema::version(db)?;
    if found > schema::VERSION {
        return Err(Error::TooNew { found, known: schema::VERSION }.into());
    }
    if found == 0 {
        return Err(refused(db, "it has no schema"));
    }
    Ok(())
}

/// Without a log, every page must be in the file. (With one, some may be in the log only.)
fn complete(db: &Connection, bytes: u64) -> Result<(), Fault> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    let expected = u64::from(number("page_count")?) * u64::from(number("page_size")?);
    if bytes < expected {
        return Err(refused(db, format!("it should have {expected} bytes and has {bytes}")));
    }
    Ok(())
}

/// Reads a little of every table, whatever the size of the file.
fn probe(db: &Connection) -> Result<(), Fault> {
    for table in schema::tables(schema::version(db)?) {
        let sql = format!("SELECT count(*) FROM (SELECT * FROM {table} LIMIT 10)");
        db.query_row(&sql, (), |_| Ok(())).map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::Unknown) => refused(db, format!("the table {table} is missing")),
            Some(_) | None => error.into(),
        })?;
    }
    Ok(())
}

fn refused(db: &Connection, reason: impl Into<String>) -> Fault {
    damaged(Path::new(db.path().unwrap_or_default()), reason).into()
}

fn add_functions(db: &Connection) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    Ok(db.create_scalar_function("has_words", 2, flags, |given| {
        let text = |index| given.get_raw(index).as_str().unwrap_or_default();
        Ok(has_words(text(0), text(1)))
    })?)
}

pub(super) fn failed(path: &Path, error: &io::Error) -> Error {
    Error::Io(format!("{}: {error}", path.display()))
}

impl Synchronous {
    fn name(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
            Self::Off => "OFF",
        }
    }
}
