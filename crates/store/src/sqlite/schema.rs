//! The schema, as a list of migrations: version `n` is what the first `n` of them make.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Fault;

/// The schema that this release reads and writes.
pub(super) const VERSION: u32 = 5;

/// "SDFT": what `file` and other tools tell our files by.
pub(super) const APPLICATION_ID: i32 = 0x5344_4654;

/// The tables, each with the schema that brought it; a file that lacks one is damaged.
const TABLES: [(&str, u32); 15] = [
    ("attempt_counts", 1),
    ("attempts", 1),
    ("commits", 1),
    ("errors", 3),
    ("events", 1),
    ("items", 1),
    ("namespace_numbers", 4),
    ("namespaces", 1),
    ("packed_commits", 5),
    ("runs", 1),
    ("search_attributes", 1),
    ("settings", 1),
    ("shards", 1),
    ("visibility", 1),
    ("sqlite_schema", 1),
];

/// Never change one that was released: add another.
const MIGRATIONS: [&str; 5] = [
    include_str!("schema/0001_initial.sql"),
    include_str!("schema/0002_retried.sql"),
    include_str!("schema/0003_errors.sql"),
    include_str!("schema/0004_lists.sql"),
    include_str!("schema/0005_packed.sql"),
];

/// Brings the file to [`VERSION`], all of it or nothing. Says so of one that has data: it may take a
/// while, and there is no way back.
pub(super) fn migrate(db: &mut Connection) -> Result<(), Fault> {
    if version(db)? == VERSION {
        return Ok(());
    }
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again under the lock: another process may have migrated in the meantime.
    let from = version(&tx)?;
    if (1..VERSION).contains(&from) {
        tracing::warn!(
            from,
            to = VERSION,
            "bringing the data to a newer schema, which older releases cannot read; much of it takes a while"
        );
    }
    let done = usize::try_from(from).unwrap_or(usize::MAX);
    for migration in MIGRATIONS.iter().skip(done) {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "user_version", VERSION)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(tx.commit()?)
}

/// The tables that a file of this schema has.
pub(super) fn tables(version: u32) -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().filter(move |(_, since)| *since <= version).map(|(table, _)| table)
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
