//! Task queues: workers wait for tasks, tasks wait for workers.
//!
//! A queue is in memory only. What waits in it is derived from runs and is put back when they are
//! loaded again, so nothing is lost with it. A task that is offered says where it comes from and
//! which attempt it is; whether that still holds is decided by its run when a worker takes it.

mod queue;

use std::{collections::BTreeMap, sync::Mutex};

use steadfast_core::Timestamp;
use tokio::sync::oneshot;

use queue::Queue;
pub(crate) use queue::{Poller, PollerSeen};

/// The name of a queue.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct QueueName {
    pub(crate) namespace_id: String,
    pub(crate) name: String,
}

/// All queues of one kind: `T` is what waits in them, `R` what a worker is given.
#[derive(Debug)]
pub(crate) struct Matching<T, R> {
    queues: Mutex<BTreeMap<QueueName, Queue<T, R>>>,
}

/// What a poll finds.
pub(crate) enum Polled<T, R> {
    /// A task that waited.
    Task(T),
    /// Nothing yet: wait here. The number takes the poll back out.
    Wait(u64, oneshot::Receiver<R>),
}

impl<T, R> Default for Matching<T, R> {
    fn default() -> Self {
        Self { queues: Mutex::new(BTreeMap::new()) }
    }
}

impl<T, R> Matching<T, R> {
    /// Offers a task: to a worker that waits, which is out of the queue then, or else to whoever
    /// polls next. Both is one step: a worker that comes in between would wait for ever.
    pub(crate) fn offer(&self, name: &QueueName, task: T) -> Option<(Poller<R>, T)> {
        let mut queues = self.lock();
        let queue = queues.entry(name.clone()).or_default();
        if let Some(poller) = queue.take_poller() {
            return Some((poller, task));
        }
        queue.push(task);
        None
    }

    /// Takes a task, or waits for one as `poller`.
    pub(crate) fn poll(
        &self,
        name: &QueueName,
        identity: &str,
        request_id: &str,
        now: Timestamp,
    ) -> Polled<T, R> {
        let mut queues = self.lock();
        let queue = queues.entry(name.clone()).or_default();
        queue.saw(identity, now);
        queue.pop().map_or_else(
            || {
                let (ticket, answer) = queue.wait(identity, request_id);
                Polled::Wait(ticket, answer)
            },
            Polled::Task,
        )
    }

    /// Takes a poll back out: its client has gone, or its time is over.
    /// Whether it was still there: if not, a task is on its way to it.
    pub(crate) fn leave(&self, name: &QueueName, ticket: u64) -> bool {
        self.lock().get_mut(name).is_some_and(|queue| queue.leave(ticket))
    }

    /// Whether a worker waits on the queue, or polled it since then.
    pub(crate) fn is_attended(&self, name: &QueueName, since: Timestamp) -> bool {
        self.lock().get(name).is_some_and(|queue| queue.is_attended(since))
    }

    /// Who polled the queue lately.
    pub(crate) fn pollers(&self, name: &QueueName, since: Timestamp) -> Vec<PollerSeen> {
        self.lock().get(name).map(|queue| queue.pollers(since)).unwrap_or_default()
    }

    /// How many tasks wait.
    pub(crate) fn backlog(&self, name: &QueueName) -> usize {
        self.lock().get(name).map_or(0, Queue::backlog)
    }

    /// Forgets queues that nobody has polled since then and nothing waits in; a sticky queue dies
    /// with its worker.
    pub(crate) fn sweep(&self, since: Timestamp) {
        self.lock().retain(|_, queue| queue.backlog() > 0 || queue.is_attended(since));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<QueueName, Queue<T, R>>> {
        self.queues.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
