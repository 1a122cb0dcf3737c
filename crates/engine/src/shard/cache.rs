//! The runs of a shard that are in memory, and how they are found.

use std::collections::{BTreeMap, VecDeque};

use steadfast_store::RunNumber;

use super::{entry::Entry, job::Address};

/// The runs of a shard that are in memory.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    /// Boxed: they are long, and a map moves what it holds.
    entries: BTreeMap<RunNumber, Box<Entry>>,
    /// The newest run of each workflow of which it is in memory.
    current: BTreeMap<String, BTreeMap<String, RunNumber>>,
    by_run_id: BTreeMap<String, RunNumber>,
    /// Oldest use first.
    by_use: BTreeMap<u64, RunNumber>,
    uses: u64,
    /// What all of them take, about.
    bytes: usize,
    evictions: u64,
    /// The last few runs that were let go.
    evicted: VecDeque<RunNumber>,
    /// Runs that have closed, oldest first: they are the least likely to be used again.
    closed: VecDeque<RunNumber>,
}

impl Cache {
    /// The run, if it is in memory.
    pub(crate) fn find(&self, address: &Address) -> Option<RunNumber> {
        match address {
            Address::Number(number) => self.entries.contains_key(number).then_some(*number),
            Address::Current { namespace_id, workflow_id } => {
                self.current.get(namespace_id)?.get(workflow_id).copied()
            }
            Address::Run { namespace_id, workflow_id, run_id } => {
                let number = *self.by_run_id.get(run_id)?;
                let identity = self.entries.get(&number)?.run.identity();
                let same =
                    identity.workflow_id == *workflow_id && identity.namespace_id == *namespace_id;
                same.then_some(number)
            }
        }
    }

    pub(crate) fn get(&self, number: RunNumber) -> Option<&Entry> {
        self.entries.get(&number).map(AsRef::as_ref)
    }

    /// The run, marked as used.
    pub(crate) fn get_mut(&mut self, number: RunNumber) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(&number)?;
        if entry.used != self.uses {
            self.uses += 1;
            self.by_use.remove(&entry.used);
            entry.used = self.uses;
            self.by_use.insert(self.uses, number);
        }
        Some(entry)
    }

    /// Takes a run in. `is_current` if it is the newest of its workflow.
    pub(crate) fn insert(&mut self, mut entry: Entry, is_current: bool) {
        self.uses += 1;
        entry.used = self.uses;
        self.by_use.insert(self.uses, entry.number);
        let identity = entry.run.identity();
        self.by_run_id.insert(identity.run_id.clone(), entry.number);
        if is_current {
            let workflows = self.current.entry(identity.namespace_id.clone()).or_default();
            workflows.insert(identity.workflow_id.clone(), entry.number);
        }
        self.bytes += entry.weight.bytes;
        self.entries.insert(entry.number, Box::new(entry));
    }

    /// So many bytes were written of a run.
    pub(crate) fn wrote(&mut self, number: RunNumber, bytes: usize) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.weight.bytes += bytes;
        self.bytes += bytes;
        if entry.weight.is_doubtful() {
            self.weigh(number);
        }
    }

    /// Counts a run with what it really takes.
    fn weigh(&mut self, number: RunNumber) {
        let Some(entry) = self.entries.get_mut(&number) else { return };
        self.bytes -= entry.weight.bytes;
        entry.weight = entry.weigh();
        self.bytes += entry.weight.bytes;
    }

    /// Remembers that a run is the newest of its workflow, unless a newer one is known.
    pub(crate) fn set_current(&mut self, number: RunNumber) {
        let Some(entry) = self.entries.get(&number) else { return };
        let identity = entry.run.identity();
        let workflows = self.current.entry(identity.namespace_id.clone()).or_default();
        workflows.entry(identity.workflow_id.clone()).or_insert(number);
    }

    /// Lets a run go.
    pub(crate) fn remove(&mut self, number: RunNumber) -> Option<Box<Entry>> {
        let entry = self.entries.remove(&number)?;
        self.by_use.remove(&entry.used);
        self.bytes -= entry.weight.bytes;
        let identity = entry.run.identity();
        self.by_run_id.remove(&identity.run_id);
        if let Some(workflows) = self.current.get_mut(&identity.namespace_id)
            && workflows.get(&identity.workflow_id) == Some(&number)
        {
            workflows.remove(&identity.workflow_id);
        }
        self.evictions += 1;
        self.evicted.push_back(number);
        if self.evicted.len() > EVICTED_MAX {
            self.evicted.pop_front();
        }
        Some(entry)
    }

    /// Whether a run may have been let go since there were `evictions` of them.
    pub(crate) fn may_have_evicted(&self, number: RunNumber, evictions: u64) -> bool {
        let recent = usize::try_from(self.evictions - evictions).unwrap_or(usize::MAX);
        recent > self.evicted.len()
            || self.evicted.iter().rev().take(recent).any(|it| *it == number)
    }

    /// A run has closed: a few are kept for whoever asks how it went, and then they go.
    pub(crate) fn close(&mut self, number: RunNumber) {
        self.closed.push_back(number);
    }

    /// Lets closed runs go, down to `closed_max`, but for those that are needed.
    pub(crate) fn evict_closed(&mut self, closed_max: usize, durable: u64) {
        for _ in closed_max..self.closed.len() {
            let Some(number) = self.closed.pop_front() else { return };
            match self.entries.get(&number) {
                Some(entry) if entry.is_idle(durable) => _ = self.remove(number),
                // Whoever waits for it comes first; it is looked at again later.
                Some(_) => self.closed.push_back(number),
                None => {}
            }
        }
    }

    /// Lets those go that were not used for longest, until there are `entries_max` and they take
    /// `bytes_max`, but for those that are needed.
    pub(crate) fn evict(&mut self, entries_max: usize, bytes_max: usize, durable: u64) {
        let mut passed_over = 0;
        while !self.fits(entries_max, bytes_max) && passed_over < PASSED_OVER_MAX {
            let Some((_, &number)) = self.by_use.first_key_value() else { return };
            if self.get(number).is_some_and(|entry| entry.is_idle(durable)) {
                if self.entries.len() <= entries_max {
                    // It may take less than is thought.
                    self.weigh(number);
                }
                if !self.fits(entries_max, bytes_max) {
                    self.remove(number);
                }
            } else {
                // The others behind it have their turn before it is looked at again.
                self.get_mut(number);
                passed_over += 1;
            }
        }
    }

    fn fits(&self, entries_max: usize, bytes_max: usize) -> bool {
        self.entries.len() <= entries_max && self.bytes <= bytes_max
    }

    /// How many runs there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What they take, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many runs were let go so far.
    pub(crate) fn evictions(&self) -> u64 {
        self.evictions
    }
}

/// Runs that are needed and in the way of those that are not, which a step of a shard looks at: there
/// may be many of them, and more steps will come.
const PASSED_OVER_MAX: usize = 16;
/// Runs that were let go and are remembered for as long as a read takes.
const EVICTED_MAX: usize = 4_096;
