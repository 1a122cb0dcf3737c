//! Pending things by key, remembering what one transition changed and what is not stored yet.
//!
//! A table knows the original of every row that a transition touches, so that the transition can be
//! taken back whole; and it knows which rows were changed since they were last written, so that a
//! commit writes only those. The cost of a step does not depend on how many things are pending.
//!
//! Rows are shared, not held in place: some are thousands of bytes long, most tables have one or two,
//! and a map would have room for eleven. What a transition replaces or takes out is its own original.

use std::{collections::BTreeMap, sync::Arc};

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
    rows: BTreeMap<K, Arc<V>>,
    names: BTreeMap<String, K>,
    /// What the rows were before the transition that is under way.
    originals: BTreeMap<K, Option<Arc<V>>>,
    /// The keys whose rows were changed and not yet written, and whether they were written before.
    unsaved: BTreeMap<K, bool>,
}

impl<K, V> Table<K, V> {
    /// A table without rows.
    pub(crate) const fn new() -> Self {
        Self {
            rows: BTreeMap::new(),
            names: BTreeMap::new(),
            originals: BTreeMap::new(),
            unsaved: BTreeMap::new(),
        }
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord + Clone, V: Row> Table<K, V> {
    /// The row with this key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.rows.get(key).map(AsRef::as_ref)
    }

    /// The key of the row with this name.
    pub fn named(&self, name: &str) -> Option<&K> {
        self.names.get(name)
    }

    /// All rows, by key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.rows.iter().map(|(key, row)| (key, row.as_ref()))
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
        self.originals.entry(key.clone()).or_insert_with(|| Some(Arc::clone(row)));
        Some(Arc::make_mut(row))
    }

    /// Puts a row, in place of the one that had the key.
    pub(crate) fn insert(&mut self, key: K, row: V) {
        if !row.name().is_empty() {
            self.names.insert(row.name().to_owned(), key.clone());
        }
        let old = self.rows.insert(key.clone(), Arc::new(row));
        self.originals.entry(key).or_insert(old);
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, key: &K) -> Option<Arc<V>> {
        let row = self.rows.remove(key)?;
        self.forget_name(key, &row);
        self.originals.entry(key.clone()).or_insert_with(|| Some(Arc::clone(&row)));
        Some(row)
    }

    /// Takes all rows out.
    pub(crate) fn clear(&mut self) {
        let keys: Vec<K> = self.rows.keys().cloned().collect();
        for key in keys {
            self.remove(&key);
        }
    }

    /// The keys that the transition under way has touched.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &K> {
        self.originals.keys()
    }

    /// The row as it was before the transition under way touched it; `None` if it was not there, or
    /// was not touched.
    pub(crate) fn original(&self, key: &K) -> Option<&V> {
        self.originals.get(key)?.as_deref()
    }

    /// Takes back what the transition under way has done. The name of a row that it took out may
    /// have gone to a row that it put in: the new ones leave before the old ones come back.
    pub(crate) fn roll_back(&mut self) {
        let originals = std::mem::take(&mut self.originals);
        for key in originals.keys() {
            if let Some(row) = self.rows.remove(key) {
                self.forget_name(key, &row);
            }
        }
        for (key, original) in originals {
            if let Some(row) = original {
                self.restore(key, row);
            }
        }
    }

    /// Makes the transition under way final.
    pub(crate) fn keep(&mut self) {
        // Most transitions touch one table or two.
        if self.originals.is_empty() {
            return;
        }
        for (key, original) in std::mem::take(&mut self.originals) {
            self.unsaved.entry(key).or_insert_with(|| original.is_some());
        }
    }

    /// Gives what is to be written: each key changed since the last time, with its row if it is
    /// still there. A row that came and went in between is not mentioned.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (K, Option<&V>)> {
        let unsaved = (!self.unsaved.is_empty()).then(|| std::mem::take(&mut self.unsaved));
        let rows = &self.rows;
        unsaved.into_iter().flatten().filter_map(|(key, was_saved)| {
            let row = rows.get(&key).map(AsRef::as_ref);
            (was_saved || row.is_some()).then_some((key, row))
        })
    }

    fn restore(&mut self, key: K, row: Arc<V>) {
        if !row.name().is_empty() {
            self.names.insert(row.name().to_owned(), key.clone());
        }
        self.rows.insert(key, row);
    }

    fn forget_name(&mut self, key: &K, row: &V) {
        if self.names.get(row.name()) == Some(key) {
            self.names.remove(row.name());
        }
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
        table.insert(1, "one");
        table.insert(2, "two");
        table.keep();
        assert_eq!(table.drain().count(), 2);
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
        assert_eq!(table.drain().count(), 0);
    }

    #[test]
    fn rolling_back_gives_a_name_back_that_moved_to_another_row() {
        let mut table = table();
        table.remove(&1);
        table.insert(3, "one");
        assert_eq!(table.named("one"), Some(&3));
        table.roll_back();
        assert_eq!(table.named("one"), Some(&1));
    }

    #[test]
    fn draining_gives_what_changed_and_nothing_else() {
        let mut table = table();
        table.remove(&1);
        table.insert(3, "three");
        table.insert(4, "four");
        table.remove(&4);
        table.keep();
        assert_eq!(table.drain().collect::<Vec<_>>(), [(1, None), (3, Some(&"three"))]);
        assert_eq!(table.drain().count(), 0);
    }

    #[test]
    fn rolling_back_leaves_earlier_transitions_that_are_not_written_yet() {
        let mut table = table();
        table.insert(3, "three");
        table.keep();
        table.remove(&3);
        table.remove(&1);
        table.roll_back();
        assert_eq!(table.named("three"), Some(&3));
        assert_eq!(table.drain().collect::<Vec<_>>(), [(3, Some(&"three"))]);
    }
}
