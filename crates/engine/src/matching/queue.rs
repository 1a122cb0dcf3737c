//! One queue: tasks first come first served, the newest waiting worker first.

use std::collections::{BTreeMap, VecDeque};

use steadfast_core::Timestamp;
use tokio::sync::oneshot;

/// A worker that waits.
#[derive(Debug)]
pub(crate) struct Poller<R> {
    /// Who.
    pub(crate) identity: String,
    /// The poll's own id.
    pub(crate) request_id: String,
    /// Where its task goes. Whether anybody still listens shows when it is used.
    pub(crate) slot: oneshot::Sender<R>,
    ticket: u64,
}

/// A worker that polled.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PollerSeen {
    pub(crate) identity: String,
    pub(crate) at: Timestamp,
}

#[derive(Debug)]
pub(super) struct Queue<T, R> {
    tasks: VecDeque<T>,
    pollers: VecDeque<Poller<R>>,
    next_ticket: u64,
    seen: BTreeMap<String, Timestamp>,
}

impl<T, R> Default for Queue<T, R> {
    fn default() -> Self {
        Self {
            tasks: VecDeque::new(),
            pollers: VecDeque::new(),
            next_ticket: 0,
            seen: BTreeMap::new(),
        }
    }
}

impl<T, R> Queue<T, R> {
    /// The newest of those that still listen: the oldest is the likeliest to be gone already.
    pub(super) fn take_poller(&mut self) -> Option<Poller<R>> {
        while let Some(poller) = self.pollers.pop_back() {
            if !poller.slot.is_closed() {
                return Some(poller);
            }
        }
        None
    }

    pub(super) fn push(&mut self, task: T) {
        self.tasks.push_back(task);
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.tasks.pop_front()
    }

    pub(super) fn wait(&mut self, identity: &str, request_id: &str) -> (u64, oneshot::Receiver<R>) {
        let (slot, answer) = oneshot::channel();
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.pollers.push_back(Poller {
            identity: identity.to_owned(),
            request_id: request_id.to_owned(),
            slot,
            ticket,
        });
        (ticket, answer)
    }

    pub(super) fn leave(&mut self, ticket: u64) -> bool {
        let before = self.pollers.len();
        self.pollers.retain(|poller| poller.ticket != ticket);
        self.pollers.len() < before
    }

    pub(super) fn saw(&mut self, identity: &str, now: Timestamp) {
        match self.seen.get_mut(identity) {
            Some(at) => *at = now,
            None => {
                self.seen.insert(identity.to_owned(), now);
            }
        }
        if self.seen.len() > SEEN_MAX {
            let oldest = self.seen.iter().min_by_key(|(_, at)| **at).map(|(who, _)| who.clone());
            oldest.and_then(|who| self.seen.remove(&who));
        }
    }

    pub(super) fn is_attended(&self, since: Timestamp) -> bool {
        self.pollers.iter().any(|poller| !poller.slot.is_closed())
            || self.seen.values().any(|at| *at >= since)
    }

    pub(super) fn pollers(&self, since: Timestamp) -> Vec<PollerSeen> {
        let lately = self.seen.iter().filter(|(_, at)| **at >= since);
        lately.map(|(who, at)| PollerSeen { identity: who.clone(), at: *at }).collect()
    }

    pub(super) fn backlog(&self) -> usize {
        self.tasks.len()
    }
}

/// Workers that one queue remembers.
const SEEN_MAX: usize = 1_000;
