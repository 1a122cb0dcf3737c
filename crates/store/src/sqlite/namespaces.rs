//! Namespaces.

use rusqlite::{Connection, Row};

use super::fault::Fault;
use crate::{check, rows::NamespaceRow};

pub(super) fn put(db: &mut Connection, row: &NamespaceRow) -> Result<(), Fault> {
    let sql = "INSERT INTO namespaces (id, name, data) VALUES (?1, ?2, ?3)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, data = excluded.data";
    db.prepare_cached(sql)?
        .execute((&row.id, &row.name, &row.data))
        .map_err(|error| Fault::from(error).on_conflict(|| check::name_taken(&row.name)))?;
    Ok(())
}

pub(super) fn delete(db: &mut Connection, id: &str) -> Result<(), Fault> {
    db.prepare_cached("DELETE FROM namespaces WHERE id = ?1")?.execute([id])?;
    Ok(())
}

pub(super) fn all(db: &mut Connection) -> Result<Vec<NamespaceRow>, Fault> {
    let mut select = db.prepare_cached("SELECT id, name, data FROM namespaces ORDER BY name")?;
    let rows = select.query_map((), namespace)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn namespace(row: &Row<'_>) -> rusqlite::Result<NamespaceRow> {
    Ok(NamespaceRow { id: row.get(0)?, name: row.get(1)?, data: row.get(2)? })
}
