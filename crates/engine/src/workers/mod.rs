//! The workers that report about themselves: who they are, how they do, when they were last heard
//! of. In memory only; after a start they are known again with their next heartbeat.

mod attributes;
mod filter;

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use steadfast_core::Timestamp;
use steadfast_proto::worker::WorkerHeartbeat;

pub(crate) use attributes::schema;
pub(crate) use filter::matches;

/// A worker: its namespace's id, and its own key.
type Key = (String, String);

/// All workers that were heard of lately.
#[derive(Debug, Default)]
pub(crate) struct Workers(Mutex<Inside>);

#[derive(Debug, Default)]
struct Inside {
    heard: BTreeMap<Key, (Timestamp, WorkerHeartbeat)>,
    /// Those that said that they shut down, with the queue that they leave, or `""` if they did not
    /// tell: what they ask for there is not for them any more.
    shut_down: BTreeMap<(Key, String), Timestamp>,
}

impl Workers {
    /// A worker reports.
    pub(crate) fn hear(&self, namespace_id: &str, heartbeat: WorkerHeartbeat, now: Timestamp) {
        let key = (namespace_id.to_owned(), heartbeat.worker_instance_key.clone());
        let mut inside = self.lock();
        inside.heard.insert(key, (now, heartbeat));
        if inside.heard.len() > WORKERS_MAX {
            let oldest = inside.heard.iter().min_by_key(|(_, (at, _))| *at);
            let oldest = oldest.map(|(key, _)| key.clone());
            oldest.and_then(|key| inside.heard.remove(&key));
        }
    }

    /// A worker shuts down, and leaves this queue, or all if `queue` is empty.
    pub(crate) fn shut_down(&self, namespace_id: &str, worker: &str, queue: &str, now: Timestamp) {
        let key = (namespace_id.to_owned(), worker.to_owned());
        self.lock().shut_down.insert((key, queue.to_owned()), now);
    }

    /// Whether a worker has shut down, and left this queue.
    pub(crate) fn has_left(&self, namespace_id: &str, worker: &str, queue: &str) -> bool {
        if worker.is_empty() {
            return false;
        }
        let inside = self.lock();
        let key = || (namespace_id.to_owned(), worker.to_owned());
        let has_left = |queue: &str| inside.shut_down.contains_key(&(key(), queue.to_owned()));
        !inside.shut_down.is_empty() && (has_left("") || has_left(queue))
    }

    /// The workers of a namespace with a key behind `after`, by key.
    pub(crate) fn list(
        &self,
        namespace_id: &str,
        after: &str,
        now: Timestamp,
    ) -> Vec<WorkerHeartbeat> {
        let from = (namespace_id.to_owned(), after.to_owned());
        let inside = self.lock();
        let of_namespace =
            inside.heard.range(from..).take_while(|((namespace, _), _)| namespace == namespace_id);
        of_namespace
            .filter(|((_, key), (at, _))| (after.is_empty() || key != after) && is_alive(*at, now))
            .map(|(_, (_, heartbeat))| heartbeat.clone())
            .collect()
    }

    /// One worker.
    pub(crate) fn get(
        &self,
        namespace_id: &str,
        worker: &str,
        now: Timestamp,
    ) -> Option<WorkerHeartbeat> {
        let inside = self.lock();
        let (at, heartbeat) = inside.heard.get(&(namespace_id.to_owned(), worker.to_owned()))?;
        is_alive(*at, now).then(|| heartbeat.clone())
    }

    /// Forgets those that were not heard of for a while.
    pub(crate) fn sweep(&self, now: Timestamp) {
        let mut inside = self.lock();
        inside.heard.retain(|_, (at, _)| is_alive(*at, now));
        inside.shut_down.retain(|_, at| is_alive(*at, now));
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_alive(at: Timestamp, now: Timestamp) -> bool {
    now.since(at) <= REMEMBERED
}

/// How long after its last heartbeat a worker is remembered; they come every minute.
const REMEMBERED: Duration = Duration::from_secs(300);

/// Workers that are remembered at once.
const WORKERS_MAX: usize = 10_000;
