//! Task queues: workers wait for tasks, tasks wait for workers.
//!
//! A queue is in memory only. What waits in it is derived from runs and is put back when they are
//! loaded again, so nothing is lost with it. A task that is offered says where it comes from and
//! which attempt it is; whether that still holds is decided by its run when a worker takes it. What is
//! known to be in vain before goes to no worker ([graves](Graves)).
//!
//! A queue may have a rate. When it is used up, tasks and workers both wait, and one timer a queue
//! tells workers to look again when the next task may go.

mod bucket;
mod meter;
mod queue;
mod solitude;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use steadfast_core::Timestamp;
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use crate::{
    clock::Clock,
    graves::{Graves, OfferKey},
    hands::{Hands, Worker},
    task::{Taker, Waits},
};
use queue::Queue;
pub(crate) use queue::{Poller, PollerSeen, Stats};
use solitude::Turn;

/// The name of a queue.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct QueueName {
    pub(crate) namespace_id: String,
    pub(crate) name: String,
}

/// All queues of one kind: `T` is what waits in them, `R` what a worker is given. A worker that is
/// given nothing looks again.
#[derive(Debug)]
pub(crate) struct Matching<T, R> {
    queues: Mutex<BTreeMap<QueueName, Queue<T, R>>>,
    /// How many tasks wait in them that need not be alone.
    waiting: AtomicUsize,
    graves: Mutex<Graves>,
    clock: Arc<dyn Clock>,
    hands: Arc<Hands>,
}

/// What a poll finds.
pub(crate) enum Polled<T, R> {
    /// A task that waited.
    Task(T),
    /// Nothing yet: wait here. The number takes the poll back out. One that is dismissed hears
    /// that its slot is gone.
    Wait(u64, oneshot::Receiver<R>),
}

impl<T: Waits + Send + 'static, R: Default + Send + 'static> Matching<T, R> {
    pub(crate) fn new(clock: Arc<dyn Clock>, hands: Arc<Hands>) -> Arc<Self> {
        Arc::new(Self {
            queues: Mutex::default(),
            waiting: AtomicUsize::default(),
            graves: Mutex::default(),
            clock,
            hands,
        })
    }

    /// Offers a task: to a worker that waits, which is out of the queue then, or else to whoever
    /// polls next. Both is one step: a worker that comes in between would wait for ever. Among
    /// tasks that wait, a lower number goes first.
    pub(crate) fn offer(
        self: &Arc<Self>,
        name: &QueueName,
        task: T,
        priority: i32,
    ) -> Option<(Poller<R>, T)> {
        let now = self.clock.now();
        let mut queues = self.lock();
        let queue = queues.entry(name.clone()).or_default();
        queue.count_added(now);
        if task.is_for_alone() {
            return self.offer_for_alone(name, queue, task, now);
        }
        if let Some(poller) = queue.take_poller(now, |taker| self.may_have(name, taker, now)) {
            self.give(name, &task, &poller.taker, now);
            return Some((poller, task));
        }
        if let Some(key) = task.key() {
            self.graves().exhume(&key);
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        queue.push(task, priority, now);
        self.see_to_waking(name, queue, now);
        None
    }

    /// Takes a task, or waits for one.
    pub(crate) fn poll(self: &Arc<Self>, name: &QueueName, taker: &Taker) -> Polled<T, R> {
        let now = self.clock.now();
        let mut queues = self.lock();
        let queue = queues.entry(name.clone()).or_default();
        queue.saw(&taker.identity, now);
        self.hands.heard(&name.namespace_id, &taker.identity, now);
        let task = match self.turn(name, queue, taker, now) {
            Turn::Has(task) => Some(task),
            Turn::HasNone => None,
            Turn::HasNext => self.pop(queue, now),
        };
        if let Some(task) = task {
            self.give(name, &task, taker, now);
            return Polled::Task(task);
        }
        let (ticket, answer) = queue.wait(taker);
        self.see_to_waking(name, queue, now);
        Polled::Wait(ticket, answer)
    }

    /// Lets no more than so many tasks a second out of a queue.
    pub(crate) fn set_rate(self: &Arc<Self>, name: &QueueName, rate: f64) {
        let now = self.clock.now();
        let mut queues = self.lock();
        let queue = queues.entry(name.clone()).or_default();
        if queue.set_rate(rate, now) {
            self.see_to_waking(name, queue, now);
        }
    }

    /// Takes a poll back out: its client has gone, or its time is over.
    /// Whether it was still there: if not, a task is on its way to it.
    pub(crate) fn leave(&self, name: &QueueName, ticket: u64) -> bool {
        self.lock().get_mut(name).is_some_and(|queue| queue.leave(ticket))
    }

    /// Ends the polls of a worker that leaves this queue, or all if `queue` is empty.
    pub(crate) fn dismiss(&self, namespace_id: &str, worker: &str, queue: &str) {
        let is_left = |name: &QueueName| {
            name.namespace_id == namespace_id && (queue.is_empty() || name.name == queue)
        };
        let mut queues = self.lock();
        let left = queues.iter_mut().filter(|(name, _)| is_left(name));
        left.for_each(|(_, queue)| queue.dismiss(worker));
    }

    /// Takes a queue away: whoever waits in it hears so, and what waits in it is given back.
    pub(crate) fn close(&self, name: &QueueName) -> Vec<T> {
        let Some(queue) = self.lock().remove(name) else { return Vec::new() };
        self.hands.end_to_wait(queue.waiting_for_alone());
        let waiting = queue.backlog() - queue.waiting_for_alone();
        self.waiting.fetch_sub(waiting, Ordering::Relaxed);
        queue.into_tasks()
    }

    /// Whether a worker waits on the queue, or polled it since then.
    pub(crate) fn is_attended(&self, name: &QueueName, since: Timestamp) -> bool {
        self.lock().get(name).is_some_and(|queue| queue.is_attended(since))
    }

    /// Who polled the queue lately.
    pub(crate) fn pollers(&self, name: &QueueName, since: Timestamp) -> Vec<PollerSeen> {
        self.lock().get(name).map(|queue| queue.pollers(since)).unwrap_or_default()
    }

    /// How long the oldest task has waited.
    pub(crate) fn age(&self, name: &QueueName) -> Duration {
        let now = self.clock.now();
        self.lock().get(name).map(|queue| queue.age(now)).unwrap_or_default()
    }

    /// How much waits, and how much comes and goes.
    pub(crate) fn stats(&self, name: &QueueName) -> Stats {
        let now = self.clock.now();
        let mut queues = self.lock();
        self.tell_apart(&mut queues);
        queues.get(name).map(|queue| queue.stats(now)).unwrap_or_default()
    }

    /// How many tasks wait in all queues together.
    pub(crate) fn backlog(&self) -> usize {
        let mut queues = self.lock();
        self.tell_apart(&mut queues);
        queues.values().map(Queue::backlog).sum()
    }

    /// Forgets queues that nobody has polled since then and nothing waits in; a sticky queue dies
    /// with its worker.
    pub(crate) fn sweep(&self, since: Timestamp) {
        let mut queues = self.lock();
        self.tell_apart(&mut queues);
        queues.retain(|_, queue| queue.backlog() > 0 || queue.is_attended(since));
    }

    /// A run has closed: no worker need be given what waits for it.
    pub(crate) fn bury_run(&self, run: RunNumber) {
        self.bury(|graves| _ = graves.runs.insert(run));
    }

    /// A run has withdrawn what it offered.
    pub(crate) fn bury_offer(&self, key: OfferKey) {
        self.bury(|graves| _ = graves.offers.insert(key));
    }

    /// Whoever asked a query has gone.
    pub(crate) fn bury_query(&self, id: String) {
        self.bury(|graves| _ = graves.queries.insert(id));
    }

    fn bury(&self, bury: impl FnOnce(&mut Graves)) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if waiting == 0 {
            return;
        }
        let are_many = {
            let mut graves = self.graves();
            bury(&mut graves);
            graves.are_many(waiting)
        };
        if are_many {
            self.clear_all(&mut self.lock());
        }
    }

    /// Somebody asks what waits.
    fn tell_apart(&self, queues: &mut BTreeMap<QueueName, Queue<T, R>>) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if self.graves().are_to_be_told_apart(waiting) {
            self.clear_all(queues);
        }
    }

    fn clear_all(&self, queues: &mut BTreeMap<QueueName, Queue<T, R>>) {
        let graves = std::mem::take(&mut *self.graves());
        let gone = queues.values_mut().map(|queue| queue.clear(|task| task.is_dead(&graves))).sum();
        self.waiting.fetch_sub(gone, Ordering::Relaxed);
    }

    /// Takes the next task out of a queue.
    fn pop(&self, queue: &mut Queue<T, R>, now: Timestamp) -> Option<T> {
        let graves = self.graves();
        let mut taken = 0;
        let task = queue.pop(now, |task| {
            taken += 1;
            task.is_dead(&graves)
        });
        self.waiting.fetch_sub(taken, Ordering::Relaxed);
        task
    }

    /// A worker is about to be given a task.
    fn give(&self, name: &QueueName, task: &T, taker: &Taker, now: Timestamp) {
        if let Some(place) = task.watched() {
            let worker = Worker::new(&name.namespace_id, &taker.identity);
            self.hands.give(place, worker, task.is_for_alone(), now);
        }
    }

    /// Starts the queue's timer, if tasks and workers wait only for the next task to be allowed.
    fn see_to_waking(self: &Arc<Self>, name: &QueueName, queue: &mut Queue<T, R>, now: Timestamp) {
        let Some((timer, wait)) = queue.start_timer(now) else { return };
        let clock = Arc::clone(&self.clock);
        tokio::spawn(keep_waking(Arc::downgrade(self), clock, name.clone(), timer, wait));
    }

    fn wake(&self, name: &QueueName, timer: u64) -> Option<Duration> {
        let now = self.clock.now();
        self.lock().get_mut(name).and_then(|queue| queue.wake(timer, now))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<QueueName, Queue<T, R>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locked after the queues, if both are.
    fn graves(&self) -> MutexGuard<'_, Graves> {
        self.graves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The timer of a queue that has used up its rate.
async fn keep_waking<T: Waits + Send + 'static, R: Default + Send + 'static>(
    matching: Weak<Matching<T, R>>,
    clock: Arc<dyn Clock>,
    name: QueueName,
    timer: u64,
    mut wait: Duration,
) {
    loop {
        clock.sleep(wait).await;
        let Some(next) = matching.upgrade().and_then(|matching| matching.wake(&name, timer)) else {
            return;
        };
        wait = next;
    }
}
