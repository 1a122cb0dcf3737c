//! Settings: named bytes.

use rusqlite::{Connection, OptionalExtension};

use super::fault::Fault;

pub(super) fn get(db: &mut Connection, name: &str) -> Result<Option<Vec<u8>>, Fault> {
    Ok(db
        .prepare_cached("SELECT value FROM settings WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?)
}

pub(super) fn put(db: &mut Connection, name: &str, value: Option<&[u8]>) -> Result<(), Fault> {
    const PUT: &str = "INSERT OR REPLACE INTO settings (name, value) VALUES (?1, ?2)";
    const DELETE: &str = "DELETE FROM settings WHERE name = ?1";
    match value {
        Some(value) => db.prepare_cached(PUT)?.execute((name, value))?,
        None => db.prepare_cached(DELETE)?.execute([name])?,
    };
    Ok(())
}
