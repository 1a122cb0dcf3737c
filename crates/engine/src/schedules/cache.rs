//! The schedules of a shard that are in memory. Most sleep in the store.

use std::collections::BTreeMap;

use steadfast_core::schedule::Schedule;
use steadfast_store::RunNumber;

use super::row::space;

/// The names of a schedule.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Name {
    /// The namespace's id.
    pub(crate) namespace_id: String,
    /// The id that the user gave.
    pub(crate) schedule_id: String,
    /// The id of this schedule among all that ever had that name.
    pub(crate) incarnation: String,
}

/// A schedule in memory. `W` is somebody who waits until it has heard of its starts.
#[derive(Debug)]
pub(crate) struct Entry<W> {
    pub(crate) name: Name,
    pub(crate) schedule: Schedule,
    /// The last work that changed it. Until that is durable it must stay in memory.
    pub(crate) last_work: u64,
    pub(crate) waiting: Vec<W>,
    used: u64,
}

/// The schedules of a shard that are in memory.
#[derive(Debug)]
pub(crate) struct Schedules<W> {
    entries: BTreeMap<RunNumber, Entry<W>>,
    /// By space and id.
    by_name: BTreeMap<(String, String), RunNumber>,
    uses: u64,
}

impl<W> Default for Schedules<W> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), by_name: BTreeMap::new(), uses: 0 }
    }
}

impl<W> Entry<W> {
    pub(crate) fn new(name: Name, schedule: Schedule) -> Self {
        Self { name, schedule, last_work: 0, waiting: Vec::new(), used: 0 }
    }
}

impl<W> Schedules<W> {
    pub(crate) fn named(&self, space: &str, schedule_id: &str) -> Option<RunNumber> {
        self.by_name.get(&(space.to_owned(), schedule_id.to_owned())).copied()
    }

    pub(crate) fn contains(&self, number: RunNumber) -> bool {
        self.entries.contains_key(&number)
    }

    pub(crate) fn get(&self, number: RunNumber) -> Option<&Entry<W>> {
        self.entries.get(&number)
    }

    /// The schedule, marked as used.
    pub(crate) fn get_mut(&mut self, number: RunNumber) -> Option<&mut Entry<W>> {
        let entry = self.entries.get_mut(&number)?;
        self.uses += 1;
        entry.used = self.uses;
        Some(entry)
    }

    pub(crate) fn insert(&mut self, number: RunNumber, mut entry: Entry<W>) {
        self.uses += 1;
        entry.used = self.uses;
        let space = space(&entry.name.namespace_id);
        self.by_name.insert((space, entry.name.schedule_id.clone()), number);
        self.entries.insert(number, entry);
    }

    pub(crate) fn remove(&mut self, number: RunNumber) -> Option<Entry<W>> {
        let entry = self.entries.remove(&number)?;
        let name = (space(&entry.name.namespace_id), entry.name.schedule_id.clone());
        if self.by_name.get(&name) == Some(&number) {
            self.by_name.remove(&name);
        }
        Some(entry)
    }

    /// Lets those go that were not used for longest and that nobody needs, if there are more than
    /// `entries_max`. Gives their numbers and the last work that changed each.
    pub(crate) fn evict(&mut self, entries_max: usize, durable: u64) -> Vec<(RunNumber, u64)> {
        if self.entries.len() <= entries_max {
            return Vec::new();
        }
        let idle = |entry: &Entry<W>| entry.last_work <= durable && entry.waiting.is_empty();
        let mut gone: Vec<(u64, RunNumber)> = self
            .entries
            .iter()
            .filter(|(_, entry)| idle(entry))
            .map(|(number, entry)| (entry.used, *number))
            .collect();
        gone.sort_unstable();
        // Some more than needed, so that it is not done for each one.
        gone.truncate(self.entries.len() - entries_max + entries_max / 4);
        let gone = gone.into_iter();
        gone.filter_map(|(_, number)| Some((number, self.remove(number)?.last_work))).collect()
    }
}
