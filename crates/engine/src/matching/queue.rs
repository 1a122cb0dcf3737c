//! One queue: the most urgent tasks first, then first come first served; the newest waiting worker
//! first.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use steadfast_core::Timestamp;
use tokio::sync::oneshot;

use super::{bucket::Bucket, meter::Meter};
use crate::task::Taker;

/// A worker that waits.
#[derive(Debug)]
pub(crate) struct Poller<R> {
    /// Who.
    pub(crate) taker: Taker,
    /// Where its task goes. Whether anybody still listens shows when it is used.
    pub(crate) slot: oneshot::Sender<R>,
    ticket: u64,
}

/// A worker that polled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PollerSeen {
    pub(crate) identity: String,
    pub(crate) at: Timestamp,
    /// How many tasks a second the queue lets out; `None` if as many as there are.
    pub(crate) rate: Option<f64>,
}

/// How much waits, and how much comes and goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stats {
    /// How many tasks a second the queue lets out; `None` if as many as there are.
    pub(crate) rate: Option<f64>,
    /// Whether tasks and workers wait for nothing but that.
    pub(crate) is_limited: bool,
    /// Tasks that wait.
    pub(crate) backlog: usize,
    /// How long the oldest of them has waited.
    pub(crate) age: Duration,
    /// Tasks that came, a second.
    pub(crate) added: f32,
    /// Tasks that went to workers, a second.
    pub(crate) dispatched: f32,
}

#[derive(Debug)]
pub(super) struct Queue<T, R> {
    /// By priority; none of them is empty.
    tasks: BTreeMap<i32, VecDeque<(T, Timestamp)>>,
    /// Those that are to be alone with their worker, first come first served.
    for_alone: VecDeque<(T, Timestamp)>,
    /// The worker that is given nothing new, so that its hands become empty.
    pub(super) emptying: Option<String>,
    pollers: VecDeque<Poller<R>>,
    next_ticket: u64,
    seen: BTreeMap<String, Timestamp>,
    bucket: Option<Bucket>,
    /// The timer that wakes pollers when the bucket has something again, if it runs.
    timer: Option<u64>,
    next_timer: u64,
    added: Meter,
    dispatched: Meter,
}

impl<T, R> Default for Queue<T, R> {
    fn default() -> Self {
        Self {
            tasks: BTreeMap::new(),
            for_alone: VecDeque::new(),
            emptying: None,
            pollers: VecDeque::new(),
            next_ticket: 0,
            seen: BTreeMap::new(),
            bucket: None,
            timer: None,
            next_timer: 0,
            added: Meter::default(),
            dispatched: Meter::default(),
        }
    }
}

impl<T, R: Default> Queue<T, R> {
    /// The newest of those that still listen and may have it: the oldest is the likeliest to be gone
    /// already. Nobody, if older tasks wait.
    pub(super) fn take_poller(
        &mut self,
        now: Timestamp,
        may: impl Fn(&Taker) -> bool,
    ) -> Option<Poller<R>> {
        if !self.tasks.is_empty() || !self.is_allowed(now) {
            return None;
        }
        self.take_any_poller(now, may)
    }

    /// As [`take_poller`](Self::take_poller), whatever else waits.
    pub(super) fn take_any_poller(
        &mut self,
        now: Timestamp,
        may: impl Fn(&Taker) -> bool,
    ) -> Option<Poller<R>> {
        let emptying = self.emptying.clone();
        let may = |it: &Poller<R>| Some(&it.taker.identity) != emptying.as_ref() && may(&it.taker);
        while let Some(place) = self.pollers.iter().rposition(may) {
            let poller = self.pollers.remove(place)?;
            if !poller.slot.is_closed() {
                self.count_out(now);
                return Some(poller);
            }
        }
        None
    }

    pub(super) fn push_for_alone(&mut self, task: T, now: Timestamp) {
        self.for_alone.push_back((task, now));
    }

    /// Takes out the first task that is to be alone.
    pub(super) fn pop_for_alone(&mut self, now: Timestamp) -> Option<T> {
        let (task, _) = self.for_alone.pop_front()?;
        self.count_out(now);
        Some(task)
    }

    /// Since when the first of those that are to be alone waits.
    pub(super) fn for_alone_since(&self) -> Option<Timestamp> {
        self.for_alone.front().map(|(_, at)| *at)
    }

    pub(super) fn waiting_for_alone(&self) -> usize {
        self.for_alone.len()
    }

    /// Those who wait, the newest first.
    pub(super) fn takers(&self) -> impl Iterator<Item = &Taker> {
        self.pollers.iter().rev().filter(|it| !it.slot.is_closed()).map(|it| &it.taker)
    }

    /// Whether more than one worker has polled since then, or waits.
    pub(super) fn has_several_workers(&self, since: Timestamp) -> bool {
        let seen = self.seen.iter().filter(|(_, at)| **at >= since).map(|(who, _)| who);
        let waiting = self.takers().map(|taker| &taker.identity);
        seen.chain(waiting).collect::<BTreeSet<_>>().len() > 1
    }

    /// Tells up to so many of those who wait to look again. Whether anybody heard it.
    pub(super) fn look_again(&mut self, mut count: usize, who: impl Fn(&Taker) -> bool) -> bool {
        let mut told = false;
        while count > 0
            && let Some(place) = self.pollers.iter().rposition(|it| who(&it.taker))
            && let Some(poller) = self.pollers.remove(place)
        {
            if poller.slot.send(R::default()).is_ok() {
                told = true;
                count -= 1;
            }
        }
        told
    }

    pub(super) fn push(&mut self, task: T, priority: i32, now: Timestamp) {
        self.tasks.entry(priority).or_default().push_back((task, now));
    }

    /// Takes out the next task that is not dead, and those that are before it.
    pub(super) fn pop(&mut self, now: Timestamp, mut is_dead: impl FnMut(&T) -> bool) -> Option<T> {
        if self.tasks.is_empty() || !self.is_allowed(now) {
            return None;
        }
        while let Some(mut most_urgent) = self.tasks.first_entry() {
            let next = most_urgent.get_mut().pop_front();
            if most_urgent.get().is_empty() {
                most_urgent.remove();
            }
            if let Some((task, _)) = next.filter(|(task, _)| !is_dead(task)) {
                self.count_out(now);
                return Some(task);
            }
        }
        None
    }

    /// Takes out all tasks that are dead. How many there were.
    pub(super) fn clear(&mut self, is_dead: impl Fn(&T) -> bool) -> usize {
        let before = self.backlog();
        self.tasks.retain(|_, tasks| {
            tasks.retain(|(task, _)| !is_dead(task));
            !tasks.is_empty()
        });
        before - self.backlog()
    }

    pub(super) fn wait(&mut self, taker: &Taker) -> (u64, oneshot::Receiver<R>) {
        let (slot, answer) = oneshot::channel();
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.pollers.push_back(Poller { taker: taker.clone(), slot, ticket });
        (ticket, answer)
    }

    pub(super) fn leave(&mut self, ticket: u64) -> bool {
        let before = self.pollers.len();
        self.pollers.retain(|poller| poller.ticket != ticket);
        self.pollers.len() < before
    }

    pub(super) fn dismiss(&mut self, worker: &str) {
        self.pollers.retain(|poller| poller.taker.worker != worker);
    }

    pub(super) fn into_tasks(self) -> Vec<T> {
        let tasks = self.tasks.into_values().flatten().chain(self.for_alone);
        tasks.map(|(task, _)| task).collect()
    }

    /// Whether that changes anything.
    pub(super) fn set_rate(&mut self, rate: f64, now: Timestamp) -> bool {
        let same = self.bucket.is_some_and(|bucket| bucket.rate().total_cmp(&rate).is_eq());
        if !same {
            let old = self.bucket.take();
            let new = old.map_or_else(|| Bucket::new(rate, now), |old| old.with_rate(rate, now));
            self.bucket = Some(new);
            // The timer that runs waits for the old rate.
            self.timer = None;
        }
        !same
    }

    /// The number of a timer to be started, and how long it waits.
    pub(super) fn start_timer(&mut self, now: Timestamp) -> Option<(u64, Duration)> {
        if self.timer.is_some() {
            return None;
        }
        let wait = self.time_to_wake(now)?;
        let timer = self.next_timer;
        self.next_timer += 1;
        self.timer = Some(timer);
        Some((timer, wait))
    }

    /// Tells as many workers to look again as may take a task. How long the timer waits next:
    /// somebody who was told may have gone, so it goes on while both wait.
    pub(super) fn wake(&mut self, timer: u64, now: Timestamp) -> Option<Duration> {
        if self.timer != Some(timer) {
            return None;
        }
        let backlog = self.backlog();
        let mut left = self.bucket.unwrap_or_else(|| Bucket::new(f64::INFINITY, now));
        let mut told = 0;
        while told < backlog && left.has_one(now) {
            let Some(poller) = self.pollers.pop_back() else { break };
            if poller.slot.send(R::default()).is_ok() {
                left.take(now);
                told += 1;
            }
        }
        let goes_on = !self.tasks.is_empty() && !self.pollers.is_empty();
        let next = left.wait().filter(|_| goes_on);
        if next.is_none() {
            self.timer = None;
        }
        next.map(|wait| wait.max(TIMER_MIN))
    }

    pub(super) fn count_added(&mut self, now: Timestamp) {
        self.added.count(now);
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
        let rate = self.bucket.as_ref().map(Bucket::rate);
        let lately = self.seen.iter().filter(|(_, at)| **at >= since);
        lately.map(|(who, at)| PollerSeen { identity: who.clone(), at: *at, rate }).collect()
    }

    pub(super) fn backlog(&self) -> usize {
        self.tasks.values().map(VecDeque::len).sum::<usize>() + self.for_alone.len()
    }

    pub(super) fn age(&self, now: Timestamp) -> Duration {
        let first = self.tasks.values().chain([&self.for_alone]).filter_map(VecDeque::front);
        let oldest = first.map(|(_, at)| *at).min();
        oldest.map(|at| now.since(at)).unwrap_or_default()
    }

    pub(super) fn stats(&self, now: Timestamp) -> Stats {
        let rate = self.bucket.as_ref().map(Bucket::rate);
        Stats {
            backlog: self.backlog(),
            age: self.age(now),
            rate,
            is_limited: rate.is_some() && !self.tasks.is_empty() && !self.pollers.is_empty(),
            added: self.added.rate(now),
            dispatched: self.dispatched.rate(now),
        }
    }

    fn is_allowed(&mut self, now: Timestamp) -> bool {
        self.bucket.as_mut().is_none_or(|bucket| bucket.has_one(now))
    }

    fn count_out(&mut self, now: Timestamp) {
        if let Some(bucket) = &mut self.bucket {
            bucket.take(now);
        }
        self.dispatched.count(now);
    }

    /// How long until a worker that waits may take a task that waits.
    fn time_to_wake(&mut self, now: Timestamp) -> Option<Duration> {
        if self.tasks.is_empty() || self.pollers.is_empty() {
            return None;
        }
        let bucket = self.bucket.as_mut()?;
        if bucket.has_one(now) { Some(Duration::ZERO) } else { bucket.wait() }
    }
}

/// How long a timer waits at the least.
const TIMER_MIN: Duration = Duration::from_millis(1);

/// Workers that one queue remembers.
const SEEN_MAX: usize = 1_000;
