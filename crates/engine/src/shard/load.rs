//! Runs that are not in memory are read, while the shard goes on with others.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use steadfast_core::{Run, Stored};
use steadfast_store::{Lookup, Order, Outcome, RunIdentity, RunNumber, RunRows};

use super::{
    Entry, Shard, Shared,
    job::{Address, Job},
    mail::{Content, LoadError, Loaded, Mail},
};
use crate::{
    error::{Code, Error},
    rows, schedules,
    waking::Woken,
};

impl Shard {
    /// Has a run read. What came of it is in the mail later.
    pub(super) fn load(&self, address: Address) {
        let shared = Arc::clone(&self.shared);
        let number = self.number;
        let evictions = self.cache.evictions();
        let durable = self.durable.get();
        tokio::spawn(async move {
            let outcome = read_patiently(&shared, &address).await;
            let loaded = Loaded { address, evictions, durable, outcome };
            shared.mail(number, Mail::Loaded(Box::new(loaded)));
        });
    }

    /// Whether there is surely no such workflow. Only for those who create it then: they hear it if
    /// another engine has the data, and has created it.
    pub(super) fn is_new(&self, address: &Address) -> bool {
        let is_new = |(namespace, id)| self.shared.known_ids.is_new(namespace, id);
        address.workflow().is_some_and(is_new)
    }

    /// Takes a run in that was read, and does the jobs that waited for it.
    pub(super) fn take_loaded(&mut self, loaded: Loaded) {
        let jobs = self.pending.remove(&loaded.address.key()).unwrap_or_default();
        let absent = match loaded.outcome {
            Err(error) => return self.refuse(jobs, &loaded.address, &error),
            Ok(None) => {
                self.shared.known_ids.was_in_vain(self.shared.numbers.given());
                true
            }
            Ok(Some((rows, content))) => {
                let is_known = self.find(&Address::Number(rows.run)).is_some();
                // A run that was let go of in between may have changed since it was read.
                if !is_known && self.cache.may_have_evicted(rows.run, loaded.evictions) {
                    for job in jobs {
                        self.dispatch(job);
                    }
                    return;
                }
                if !is_known && self.is_too_early(rows.run, loaded.durable) {
                    let wait = self.shared.limits.commit_retry.0;
                    for job in jobs {
                        self.try_later(job, wait);
                    }
                    return;
                }
                match content {
                    _ if is_known => {}
                    Content::Run(run) => self.take_run(&rows, *run),
                    Content::Schedule(entry) => {
                        self.due.set(rows.run, None, entry.schedule.next_due());
                        self.schedules.insert(rows.run, *entry);
                    }
                }
                if matches!(loaded.address, Address::Current { .. }) {
                    self.cache.set_current(rows.run);
                }
                false
            }
        };
        for job in jobs {
            match self.find(job.address()) {
                Some(number) => self.perform_when_settled(job, number),
                None if absent && *job.address() == loaded.address => self.perform(job, None),
                None => self.dispatch(job),
            }
        }
    }

    /// Whether a run was read before the store knew the last of it.
    fn is_too_early(&mut self, number: RunNumber, durable: u64) -> bool {
        let Some(until) = self.quarantined.get(&number) else { return false };
        if *until > durable {
            return true;
        }
        self.quarantined.remove(&number);
        false
    }

    fn refuse(
        &self,
        jobs: impl IntoIterator<Item = Box<dyn Job>>,
        address: &Address,
        error: &LoadError,
    ) {
        tracing::error!(%error, ?address, "a run could not be read");
        let answer = if error.may_pass() {
            Error::unavailable(error.to_string())
        } else {
            Error::new(Code::Internal, format!("the run cannot be read: {error}"))
        };
        // A damaged page may be mended by an operator, and work that must be done waits for it.
        let can_wait = matches!(error, LoadError::Store(_));
        for job in jobs {
            if can_wait && job.must_be_done() {
                self.try_later(job, self.shared.limits.commit_retry.1);
            } else {
                job.fail(answer.clone());
            }
        }
    }

    pub(super) fn try_later(&self, job: Box<dyn Job>, wait: Duration) {
        let shared = Arc::clone(&self.shared);
        let number = self.number;
        tokio::spawn(async move {
            shared.clock.sleep(wait).await;
            shared.mail(number, Mail::Job(job));
        });
    }

    fn take_run(&mut self, rows: &RunRows, run: Run) {
        let namespace = self.shared.namespaces.with_id(&rows.identity.namespace);
        let limits = namespace.map_or_else(
            |_| Arc::new(self.shared.limits.run.clone()),
            |namespace| Arc::clone(&namespace.limits),
        );
        let woken = Woken::loaded(rows.state.waking(), &run);
        self.due.set(rows.run, None, woken.by.due);
        let mut entry = Entry::loaded(rows.run, run, woken, limits);
        entry.weight = entry.weigh();
        self.cache.insert(entry, false);
    }
}

/// Storage has its bad moments: they are waited out, for a while.
async fn read_patiently(
    shared: &Shared,
    address: &Address,
) -> Result<Option<(RunRows, Content)>, LoadError> {
    let (mut wait, longest) = shared.limits.commit_retry;
    for _ in 0..READ_TRIES {
        match read(shared, address).await {
            Err(LoadError::Store(error)) if error.outcome() != Outcome::Final => {
                tracing::warn!(%error, "a run could not be read; trying again");
            }
            outcome => return outcome,
        }
        shared.clock.sleep(wait).await;
        wait = (wait * 2).min(longest);
    }
    read(shared, address).await
}

/// Reads a run. One that is deleted between the reads that this takes is not there.
async fn read(shared: &Shared, address: &Address) -> Result<Option<(RunRows, Content)>, LoadError> {
    loop {
        let Some(rows) = shared.store.load(lookup(address)).await? else { return Ok(None) };
        match content(shared, &rows).await {
            Ok(content) => return Ok(Some((rows, content))),
            Err(LoadError::Unreadable(error)) => {
                if shared.store.load(Lookup::Number(rows.run)).await?.is_some() {
                    return Err(error.into());
                }
            }
            Err(error @ LoadError::Store(_)) => return Err(error),
        }
    }
}

async fn content(shared: &Shared, rows: &RunRows) -> Result<Content, LoadError> {
    if schedules::is_schedule(&rows.identity) {
        return Ok(Content::Schedule(Box::new(schedules::read(rows)?)));
    }
    let namespace = shared.namespaces.with_id(&rows.identity.namespace);
    let name = namespace.map(|namespace| namespace.name.clone()).unwrap_or_default();
    let stored = rows::read(rows, &name)?;
    Ok(Content::Run(Box::new(with_events(shared, rows, stored).await?)))
}

async fn with_events(shared: &Shared, rows: &RunRows, stored: Stored) -> Result<Run, LoadError> {
    let needed = stored.events_needed();
    let mut missing: BTreeSet<i64> = needed.clone();
    let mut events = std::collections::BTreeMap::new();
    while let Some(id) = missing.pop_first() {
        let batches = shared.store.history(rows.run, id, id, 1, Order::Forward).await?;
        let found = rows::pick(rows::decode_events(&batches)?, &needed);
        missing.retain(|id| !found.contains_key(id));
        events.extend(found);
    }
    Ok(stored.into_run(&events).map_err(rows::Unreadable::from)?)
}

fn lookup(address: &Address) -> Lookup {
    match address {
        Address::Number(number) => Lookup::Number(*number),
        Address::Current { namespace_id, workflow_id } => {
            Lookup::Current { namespace: namespace_id.clone(), workflow_id: workflow_id.clone() }
        }
        Address::Run { namespace_id, workflow_id, run_id } => Lookup::Run(RunIdentity {
            namespace: namespace_id.clone(),
            workflow_id: workflow_id.clone(),
            run_id: run_id.clone(),
        }),
    }
}

const READ_TRIES: usize = 5;
