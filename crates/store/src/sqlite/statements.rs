//! The statements of one transaction.
//!
//! A commit writes hundreds of rows with a dozen statements. To find one by its text costs a tenth of
//! what the row does, so a transaction finds each of them once.

use std::ptr;

use rusqlite::{CachedStatement, Connection};

/// Statements that a transaction has used.
pub(super) struct Statements<'tx> {
    tx: &'tx Connection,
    used: Vec<(&'static str, CachedStatement<'tx>)>,
}

impl<'tx> Statements<'tx> {
    pub(super) fn of(tx: &'tx Connection) -> Self {
        Self { tx, used: Vec::new() }
    }

    /// The statement with this text, as it is written in one place.
    pub(super) fn get(
        &mut self,
        sql: &'static str,
    ) -> Result<&mut CachedStatement<'tx>, rusqlite::Error> {
        let found = self.used.iter().position(|(used, _)| ptr::eq(*used, sql));
        if found.is_none() {
            self.used.push((sql, self.tx.prepare_cached(sql)?));
        }
        let place = found.unwrap_or(self.used.len() - 1);
        Ok(&mut self.used[place].1)
    }
}
