//! The schema, as a list of migrations: version `n` is what the first `n` of them make.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Fault;

/// The schema that this release reads and writes.
pub(super) const VERSION: u32 = 2;

/// "SDFT": what `file` and other tools tell our files by.
pub(super) const APPLICATION_ID: i32 = 0x5344_4654;

/// The tables of the newest schema; a file that lacks one is damaged.
pub(super) const TABLES: [&str; 12] = [
    "attempt_counts",
    "attempts",
    "commits",
    "events",
    "items",
    "namespaces",
    "runs",
    "search_attributes",
    "settings",
    "shards",
    "visibility",
    "sqlite_schema",
];

/// Never change one that was released: add another.
const MIGRATIONS: [&str; 2] =
    [include_str!("schema/0001_initial.sql"), include_str!("schema/0002_retried.sql")];

/// Brings the file to [`VERSION`], all of it or nothing.
pub(super) fn migrate(db: &mut Connection) -> Result<(), Fault> {
    if version(db)? == VERSION {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have migrated in the meantime.
    let done = usize::try_from(version(&tx)?).unwrap_or(usize::MAX);
    for migration in MIGRATIONS.iter().skip(done) {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "user_version", VERSION)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(tx.commit()?)
}

/// The schema that the file has; 0 if it has none.
pub(super) fn version(db: &Connection) -> Result<u32, Fault> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::{MIGRATIONS, VERSION};

    #[test]
    fn there_is_one_migration_a_version() {
        assert_eq!(u32::try_from(MIGRATIONS.len()), Ok(VERSION));
    }
}
