//! Namespaces.

use super::Data;
use crate::{check, error::Error, rows::NamespaceRow};

impl Data {
    pub(super) fn put_namespace(&mut self, row: NamespaceRow) -> Result<(), Error> {
        if self.namespaces.values().any(|other| other.name == row.name && other.id != row.id) {
            return Err(check::name_taken(&row.name));
        }
        self.namespaces.insert(row.id.clone(), row);
        Ok(())
    }

    pub(super) fn delete_namespace(&mut self, id: &str) {
        self.namespaces.remove(id);
    }

    pub(super) fn namespaces(&self) -> Vec<NamespaceRow> {
        let mut rows: Vec<_> = self.namespaces.values().cloned().collect();
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows
    }
}
