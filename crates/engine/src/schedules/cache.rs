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
    /// What it takes in the store, and about as much here.
    bytes: usize,
}

/// The schedules of a shard that are in memory.
#[derive(Debug)]
pub(crate) struct Schedules<W> {
    entries: BTreeMap<RunNumber, Entry<W>>,
    /// By space and id.
    by_name: BTreeMap<(String, String), RunNumber>,
    uses: u64,
    /// What all of them take.
    bytes: usize,
}

impl<W> Default for Schedules<W> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), by_name: BTreeMap::new(), uses: 0, bytes: 0 }
    }
}

impl<W> Entry<W> {
    pub(crate) fn new(name: Name, schedule: Schedule, bytes: usize) -> Self {
        Self { name, schedule, last_work: 0, waiting: Vec::new(), used: 0, bytes }
    }
}

impl<W> Schedules<W> {
    pub(crate) fn named(&self, space: &str, schedule_id: &str) -> Option<RunNumber> {
        self.by_name.get(&(space.to_owned(), schedule_id.to_owned())).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
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
        self.bytes += entry.bytes;
        self.entries.insert(number, entry);
    }

    pub(crate) fn remove(&mut self, number: RunNumber) -> Option<Entry<W>> {
        let entry = self.entries.remove(&number)?;
        self.bytes -= entry.bytes;
        let name = (space(&entry.name.namespace_id), entry.name.schedule_id.clone());
        if self.by_name.get(&name) == Some(&number) {
            self.by_name.remove(&name);
        }
        Some(entry)
    }

    /// A schedule takes so many bytes now.
    pub(crate) fn wrote(&mut self, number: RunNumber, bytes: usize) {
        if let Some(entry) = self.entries.get_mut(&number) {
            self.bytes = self.bytes - entry.bytes + bytes;
            entry.bytes = bytes;
        }
    }

    /// Lets those go that were not used for longest and that nobody needs, if there are more than
    /// `entries_max` or they take more than `bytes_max`. Gives their numbers and the last work that
    /// changed each.
    pub(crate) fn evict(
        &mut self,
        entries_max: usize,
        bytes_max: usize,
        durable: u64,
    ) -> Vec<(RunNumber, u64)> {
        if self.fits(entries_max, bytes_max) {
            return Vec::new();
        }
        let idle = |entry: &Entry<W>| entry.last_work <= durable && entry.waiting.is_empty();
        let mut idle: Vec<(u64, RunNumber)> = self
            .entries
            .iter()
            .filter(|(_, entry)| idle(entry))
            .map(|(number, entry)| (entry.used, *number))
            .collect();
        idle.sort_unstable();
        let mut gone = Vec::new();
        for (_, number) in idle {
            // Some more than needed, so that it is not done for each one.
            if self.fits(entries_max - entries_max / 4, bytes_max - bytes_max / 4) {
                break;
            }
            gone.extend(self.remove(number).map(|entry| (number, entry.last_work)));
        }
        gone
    }

    fn fits(&self, entries_max: usize, bytes_max: usize) -> bool {
        self.entries.len() <= entries_max && self.bytes <= bytes_max
    }
}
