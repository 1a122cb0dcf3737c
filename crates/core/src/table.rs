//! Pending things by key, remembering what one transition changed.
//!
//! A table knows the original of every row touched since the last [`Table::accept`], so that a
//! transition can be taken back whole, and so that a commit writes only the rows that changed:
//! the cost of a step does not depend on how many things are pending.

use std::collections::BTreeMap;

/// Something kept in a [`Table`], perhaps with a name that is unique among the pending ones.
pub trait Row: Clone {
    /// The name that the workflow gave it; empty if it has none.
    #[expect(clippy::unnecessary_literal_bound, reason = "rows with a name lend their own")]
    fn name(&self) -> &str {
        ""
    }
}

/// Rows by key, with an undo log.
#[derive(Clone, Debug)]
pub struct Table<K, V> {
    rows: BTreeMap<K, V>,
    names: BTreeMap<String, K>,
    originals: BTreeMap<K, Option<V>>,
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), names: BTreeMap::new(), originals: BTreeMap::new() }
    }
}

impl<K: Ord + Clone, V: Row> Table<K, V> {
    /// The row with this key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.rows.get(key)
    }

    /// The key of the row with this name.
    pub fn named(&self, name: &str) -> Option<&K> {
        self.names.get(name)
    }

    /// All rows, by key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.rows.iter()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The row with this key, to be changed. Its name must stay.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let row = self.rows.get_mut(key)?;
        self.originals.entry(key.clone()).or_insert_with(|| Some(row.clone()));
        Some(row)
    }

    /// Puts a row, in place of the one that had the key.
    pub(crate) fn insert(&mut self, key: K, row: V) {
        if !row.name().is_empty() {
            self.names.insert(row.name().to_owned(), key.clone());
        }
        let old = self.rows.insert(key.clone(), row);
        self.originals.entry(key).or_insert(old);
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        let row = self.rows.remove(key)?;
        self.names.remove(row.name());
        self.originals.entry(key.clone()).or_insert_with(|| Some(row.clone()));
        Some(row)
    }

    /// Takes all rows out.
    pub(crate) fn clear(&mut self) {
        let keys: Vec<K> = self.rows.keys().cloned().collect();
        for key in keys {
            self.remove(&key);
        }
    }

    /// Puts a row that is already stored.
    pub(crate) fn restore(&mut self, key: K, row: V) {
        if !row.name().is_empty() {
            self.names.insert(row.name().to_owned(), key.clone());
        }
        self.rows.insert(key, row);
    }

    /// Takes back every change since the last [`accept`](Self::accept).
    pub(crate) fn roll_back(&mut self) {
        for (key, original) in std::mem::take(&mut self.originals) {
            if let Some(row) = self.rows.remove(&key) {
                self.names.remove(row.name());
            }
            if let Some(row) = original {
                self.restore(key, row);
            }
        }
    }

    /// The keys touched since the last [`accept`](Self::accept).
    pub(crate) fn changed(&self) -> impl Iterator<Item = &K> {
        self.originals.keys()
    }

    /// Makes the changes final and gives them: each key touched, with its row if it is still there
    /// (a row that came and went in between is not mentioned).
    pub(crate) fn accept(&mut self) -> impl Iterator<Item = (K, Option<&V>)> {
        let originals = std::mem::take(&mut self.originals);
        let rows = &self.rows;
        originals.into_iter().filter_map(|(key, original)| {
            let row = rows.get(&key);
            (original.is_some() || row.is_some()).then_some((key, row))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Row for &'static str {
        fn name(&self) -> &str {
            self
        }
    }

    fn table() -> Table<i64, &'static str> {
        let mut table = Table::default();
        table.restore(1, "one");
        table.restore(2, "two");
        table
    }

    #[test]
    fn rolling_back_restores_rows_and_names() {
        let mut table = table();
        table.remove(&1);
        table.insert(1, "uno");
        table.insert(3, "three");
        table.remove(&2);
        table.roll_back();
        assert_eq!(table.iter().collect::<Vec<_>>(), [(&1, &"one"), (&2, &"two")]);
        assert_eq!(table.named("one"), Some(&1));
        assert_eq!(table.named("uno"), None);
        assert_eq!(table.accept().count(), 0);
    }

    #[test]
    fn accepting_gives_what_changed_and_nothing_else() {
        let mut table = table();
        table.remove(&1);
        table.insert(3, "three");
        table.insert(4, "four");
        table.remove(&4);
        assert_eq!(table.accept().collect::<Vec<_>>(), [(1, None), (3, Some(&"three"))]);
        assert_eq!(table.accept().count(), 0);
    }
}
