//! Tasks that are to be the only ones that their worker has in hand, because they may end it.
//!
//! Such a task waits for a worker with empty hands, and that worker is given nothing else until it is
//! done. If all are busy, one of them is given nothing new until its hands are empty; but not the only
//! one there is. If none is found in time, the task goes to whoever asks next: nothing waits for ever.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use steadfast_core::Timestamp;

use super::{Matching, Poller, QueueName, queue::Queue};
use crate::{
    hands::Worker,
    task::{Taker, Waits},
};

/// What a worker that asks may have.
pub(super) enum Turn<T> {
    /// This.
    Has(T),
    /// What is next.
    HasNext,
    /// Nothing for now.
    HasNone,
}

impl<T: Waits + Send + 'static, R: Default + Send + 'static> Matching<T, R> {
    /// Offers a task that is to be alone: to a worker that waits with empty hands.
    pub(super) fn offer_for_alone(
        self: &Arc<Self>,
        name: &QueueName,
        queue: &mut Queue<T, R>,
        task: T,
        now: Timestamp,
    ) -> Option<(Poller<R>, T)> {
        let is_idle = |taker: &Taker| self.hands.is_idle(&name.namespace_id, &taker.identity);
        if let Some(poller) = queue.take_any_poller(now, is_idle) {
            self.give(name, &task, &poller.taker, now);
            return Some((poller, task));
        }
        queue.push_for_alone(task, now);
        self.hands.begin_to_wait();
        let newest = queue.takers().next().map(|taker| taker.identity.clone());
        if let Some(identity) = newest {
            choose(queue, &identity, now);
        }
        tokio::spawn(hurry_later(Arc::downgrade(self), Arc::clone(&self.clock), name.clone()));
        None
    }

    /// What a worker that asks may have.
    pub(super) fn turn(
        &self,
        name: &QueueName,
        queue: &mut Queue<T, R>,
        taker: &Taker,
        now: Timestamp,
    ) -> Turn<T> {
        if !self.hands.is_anybody_alone() {
            return Turn::HasNext;
        }
        let Taker { identity, .. } = taker;
        if !self.hands.may_have_more(&name.namespace_id, identity, now) {
            return Turn::HasNone;
        }
        let Some(since) = queue.for_alone_since() else { return Turn::HasNext };
        let is_late = now.since(since) >= WAIT_MAX;
        if is_late || self.hands.is_idle(&name.namespace_id, identity) {
            return self.take_out(queue, now).map_or(Turn::HasNext, Turn::Has);
        }
        choose(queue, identity, now);
        if queue.emptying.as_ref() == Some(identity) { Turn::HasNone } else { Turn::HasNext }
    }

    /// Whether a worker that waits may have a task that others may be beside.
    pub(super) fn may_have(&self, name: &QueueName, taker: &Taker, now: Timestamp) -> bool {
        self.hands.may_have_more(&name.namespace_id, &taker.identity, now)
    }

    /// A worker has empty hands, or may have more again: if something waits for it, it looks again.
    pub(crate) fn look_again(&self, worker: &Worker) {
        if !self.hands.is_anybody_alone() && self.backlog() == 0 {
            return;
        }
        let mut queues = self.lock();
        let first = QueueName { namespace_id: worker.namespace_id.clone(), name: String::new() };
        let of_namespace = queues
            .range_mut(first..)
            .take_while(|(name, _)| name.namespace_id == worker.namespace_id);
        for (_, queue) in of_namespace.filter(|(_, queue)| queue.backlog() > 0) {
            queue.look_again(usize::MAX, |taker| taker.identity == worker.identity);
        }
    }

    /// Whether a worker waits for a task of this kind.
    pub(crate) fn is_waiting(&self, worker: &Worker) -> bool {
        let queues = self.lock();
        let first = QueueName { namespace_id: worker.namespace_id.clone(), name: String::new() };
        let mut of_namespace =
            queues.range(first..).take_while(|(name, _)| name.namespace_id == worker.namespace_id);
        of_namespace.any(|(_, queue)| queue.takers().any(|taker| taker.identity == worker.identity))
    }

    /// Takes the first task out; whoever made room for it may have others again.
    fn take_out(&self, queue: &mut Queue<T, R>, now: Timestamp) -> Option<T> {
        let task = queue.pop_for_alone(now)?;
        self.hands.end_to_wait(1);
        if let Some(who) = queue.emptying.take() {
            queue.look_again(usize::MAX, |taker| taker.identity == who);
        }
        Some(task)
    }

    /// If the first task has waited for too long, somebody who waits is told to look again.
    fn hurry(&self, name: &QueueName) {
        let now = self.clock.now();
        let mut queues = self.lock();
        let Some(queue) = queues.get_mut(name) else { return };
        if queue.for_alone_since().is_some_and(|since| now.since(since) >= WAIT_MAX) {
            queue.look_again(1, |taker| self.may_have(name, taker, now));
        }
    }
}

/// Has a worker empty its hands, unless one does so already or there is no other one.
fn choose<T, R: Default>(queue: &mut Queue<T, R>, identity: &str, now: Timestamp) {
    let since = Timestamp(now.nanos().saturating_sub(SEEN_LATELY));
    if queue.emptying.is_none() && queue.has_several_workers(since) {
        queue.emptying = Some(identity.to_owned());
    }
}

async fn hurry_later<T: Waits + Send + 'static, R: Default + Send + 'static>(
    matching: Weak<Matching<T, R>>,
    clock: Arc<dyn crate::clock::Clock>,
    name: QueueName,
) {
    clock.sleep(WAIT_MAX).await;
    if let Some(matching) = matching.upgrade() {
        matching.hurry(&name);
    }
}

/// How long a task waits for a worker with empty hands.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How long after its last poll a worker counts as there, in nanoseconds.
const SEEN_LATELY: i64 = 70_000_000_000;
