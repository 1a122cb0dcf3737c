//! Commits: first everything that could be refused is looked at, then everything is written.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
};

use super::{Data, Run};
use crate::{
    check,
    error::Error,
    error_rows::ErrorWrite,
    rows::{Batch, ItemWrite, RunIdentity, RunNumber, RunWrite, StateRow, VisibilityRow},
};

impl Data {
    pub(super) fn commit(&mut self, batch: Arc<Batch>) -> Result<(), Error> {
        self.fence(&batch)?;
        if batch.sequence != self.last_commit + 1 {
            return Err(check::out_of_sequence(batch.sequence, self.last_commit));
        }
        check::batch(&batch)?;
        self.check_writes(&batch)?;
        self.last_commit = batch.sequence;
        for write in Arc::unwrap_or_clone(batch).writes {
            match &write.aside {
                None => self.apply(write),
                Some(aside) => aside.refuse(NO_SQL),
            }
        }
        Ok(())
    }

    fn check_writes(&self, batch: &Batch) -> Result<(), Error> {
        let mut freed = BTreeSet::new();
        let mut created = BTreeSet::new();
        for write in &batch.writes {
            let found = self.runs.get(&write.run);
            let elsewhere = found.is_some_and(|run| run.shard != write.shard);
            match (&write.create, found) {
                _ if elsewhere && (write.delete || write.create.is_none()) => {
                    return Err(check::unknown_run(write));
                }
                _ if write.delete => freed.extend(found.map(|run| &run.identity.run_id)),
                (None, None) => return Err(check::unknown_run(write)),
                (None, Some(run)) => check_events(run, write)?,
                (Some(identity), Some(_)) => return Err(check::taken(write, identity)),
                (Some(identity), None) => {
                    let id = &identity.run_id;
                    let held = self.by_run_id.contains_key(id) && !freed.contains(id);
                    if held || !created.insert(id) {
                        return Err(check::taken(write, identity));
                    }
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, write: RunWrite) {
        if write.delete {
            return self.delete(write.run);
        }
        if let Some(identity) = &write.create {
            self.create(&write, identity.as_ref().clone());
        }
        if let Some(state) = write.state {
            self.put_state(write.run, state);
        }
        let run = self.runs.get_mut(&write.run).expect("checked before anything was written");
        for item in write.items {
            run.put_item(item);
        }
        run.events.extend(write.events.into_iter().map(|batch| (batch.first, batch)));
        if let Some(row) = write.visibility {
            run.put_visibility(*row);
        }
        for attempt in write.attempts {
            run.attempts.entry(attempt.activity).or_default().push(attempt);
        }
        for error in write.errors {
            run.put_error(error);
        }
    }

    fn create(&mut self, write: &RunWrite, identity: RunIdentity) {
        self.last_run = self.last_run.max(write.run.0);
        self.by_run_id.insert(identity.run_id.clone(), write.run);
        let name = (identity.namespace.clone(), identity.workflow_id.clone());
        self.by_workflow_id.entry(name).or_default().insert(write.run);
        let run = Run {
            shard: write.shard,
            identity,
            state: StateRow::default(),
            items: BTreeMap::new(),
            events: BTreeMap::new(),
            visibility: None,
            attempts: BTreeMap::new(),
            errors: BTreeMap::new(),
        };
        self.runs.insert(write.run, run);
    }

    fn put_state(&mut self, number: RunNumber, state: StateRow) {
        self.unindex(number);
        let run = self.runs.get_mut(&number).expect("checked before anything was written");
        self.due.extend(state.next_due.map(|due| (run.shard, due, number)));
        if state.has_work {
            self.with_work.insert((run.shard, number));
        }
        run.state = state;
    }

    fn delete(&mut self, number: RunNumber) {
        self.unindex(number);
        let Some(run) = self.runs.remove(&number) else { return };
        self.by_run_id.remove(&run.identity.run_id);
        let name = (run.identity.namespace, run.identity.workflow_id);
        if let Entry::Occupied(mut runs) = self.by_workflow_id.entry(name) {
            runs.get_mut().remove(&number);
            if runs.get().is_empty() {
                runs.remove();
            }
        }
    }

    fn unindex(&mut self, number: RunNumber) {
        let Some(run) = self.runs.get(&number) else { return };
        if let Some(due) = run.state.next_due {
            self.due.remove(&(run.shard, due, number));
        }
        self.with_work.remove(&(run.shard, number));
    }
}

impl Run {
    fn put_item(&mut self, item: ItemWrite) {
        let key = (item.kind, item.key);
        match item.data {
            Some(data) => self.items.insert(key, data),
            None => self.items.remove(&key),
        };
    }

    fn put_error(&mut self, error: ErrorWrite) {
        match error.row {
            Some(row) => self.errors.insert(error.subject, row),
            None => self.errors.remove(&error.subject),
        };
    }

    fn put_visibility(&mut self, mut row: VisibilityRow) {
        row.search_values = check::searchable(&row.search_values);
        row.identity = self.identity.clone();
        self.visibility = Some(row);
    }
}

fn check_events(run: &Run, write: &RunWrite) -> Result<(), Error> {
    let last = run.events.values().next_back().map_or(0, |batch| batch.last);
    match write.events.first() {
        Some(batch) if batch.first <= last => Err(check::event_taken(write, batch.first)),
        Some(_) | None => Ok(()),
    }
}

const NO_SQL: &str = "a store in memory has no tables to write; open one in a SQLite file";
