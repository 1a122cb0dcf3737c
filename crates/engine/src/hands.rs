//! What workers have in hand: which attempts of activities, and with how many others.
//!
//! Kept only of namespaces that want to know which work ends its workers, and in memory only: an
//! attempt that was begun before a restart is not known here, and its row says what company it had.
//!
//! When a worker dies its attempts are found lost one after the other, as their clocks run out. The
//! first of them fixes for all of them how many they were.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use steadfast_core::Timestamp;
use steadfast_store::RunNumber;

/// One activity: its run, and its scheduled event.
pub(crate) type Place = (RunNumber, i64);

/// A worker by its namespace's id and its identity.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Worker {
    pub(crate) namespace_id: String,
    pub(crate) identity: String,
}

impl Worker {
    pub(crate) fn new(namespace_id: &str, identity: &str) -> Self {
        Self { namespace_id: namespace_id.to_owned(), identity: identity.to_owned() }
    }
}

/// What all workers have in hand.
#[derive(Debug, Default)]
pub(crate) struct Hands {
    inside: Mutex<Inside>,
    /// Attempts that are known of.
    held: AtomicUsize,
    /// Workers that have an attempt that is to be alone.
    alone: AtomicUsize,
    /// Tasks in queues that wait for a worker with empty hands.
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Inside {
    attempts: BTreeMap<Place, Held>,
    workers: BTreeMap<String, BTreeMap<String, Hand>>,
    /// How many of the attempts are to be alone.
    alone: usize,
}

/// An attempt in a worker's hand.
#[derive(Debug)]
struct Held {
    worker: Worker,
    /// Whether it is to be the only one.
    alone: bool,
    /// Whether its run knows of it; until then it is on its way.
    begun: bool,
    /// When it is over, whatever happens.
    until: Timestamp,
    /// How many there were when the first of them was found lost.
    wreck: Option<u32>,
}

#[derive(Debug, Default)]
struct Hand {
    attempts: BTreeSet<Place>,
    /// When it was last heard of.
    heard_at: Timestamp,
}

impl Hands {
    /// A queue gives an attempt to a worker.
    pub(crate) fn give(&self, place: Place, worker: Worker, alone: bool, now: Timestamp) {
        let mut inside = self.lock();
        inside.remove(place);
        inside.put(place, worker, alone, now);
        self.count(&inside);
    }

    /// A worker begins an attempt that may take so long. How many it has in hand with it.
    pub(crate) fn begin(
        &self,
        place: Place,
        worker: &Worker,
        alone: bool,
        (now, span): (Timestamp, Duration),
    ) -> u32 {
        let mut inside = self.lock();
        if inside.attempts.get(&place).is_none_or(|held| held.worker != *worker) {
            inside.remove(place);
            inside.put(place, worker.clone(), alone, now);
        }
        if let Some(held) = inside.attempts.get_mut(&place) {
            held.begun = true;
            held.until = now.after(span.saturating_add(SLACK));
        }
        self.count(&inside);
        inside.company(worker)
    }

    /// An attempt did not reach its worker after all.
    pub(crate) fn take_back(&self, place: Place) {
        let mut inside = self.lock();
        inside.remove(place);
        self.count(&inside);
    }

    /// A run has changed: those of its attempts that it no longer has under way are in nobody's hand.
    /// Gives the workers that may have something else now.
    pub(crate) fn settle(
        &self,
        run: RunNumber,
        mut is_under_way: impl FnMut(i64) -> bool,
    ) -> Vec<Worker> {
        let mut inside = self.lock();
        let all = inside.attempts.range((run, i64::MIN)..=(run, i64::MAX));
        let over: Vec<Place> = all
            .filter(|((_, id), held)| held.begun && !is_under_way(*id))
            .map(|(place, _)| *place)
            .collect();
        let mut freed = Vec::new();
        for place in over {
            if let Some(held) = inside.remove(place)
                && (held.alone || inside.company(&held.worker) == 0)
            {
                freed.push(held.worker);
            }
        }
        self.count(&inside);
        freed
    }

    /// A worker asks for work.
    pub(crate) fn heard(&self, namespace_id: &str, identity: &str, now: Timestamp) {
        if self.is_empty() {
            return;
        }
        if let Some(hand) = self.lock().hand_mut(namespace_id, identity) {
            hand.heard_at = hand.heard_at.max(now);
        }
    }

    /// Whether a worker has nothing in hand.
    pub(crate) fn is_idle(&self, namespace_id: &str, identity: &str) -> bool {
        self.is_empty() || self.lock().hand(namespace_id, identity).is_none()
    }

    /// Whether a worker may have more: it has nothing in hand that is to be alone.
    pub(crate) fn may_have_more(&self, namespace_id: &str, identity: &str, now: Timestamp) -> bool {
        if self.alone.load(Ordering::Relaxed) == 0 {
            return true;
        }
        let inside = self.lock();
        let is_alone = |place: &Place| {
            inside.attempts.get(place).is_some_and(|held| held.alone && held.until > now)
        };
        !inside.hand(namespace_id, identity).is_some_and(|it| it.attempts.iter().any(is_alone))
    }

    /// How many attempts the worker of a lost one had in hand.
    pub(crate) fn tenants(&self, place: Place) -> Option<u32> {
        let mut inside = self.lock();
        let held = inside.attempts.get(&place)?;
        if let Some(wreck) = held.wreck {
            return Some(wreck);
        }
        let worker = held.worker.clone();
        let count = inside.company(&worker);
        let all = inside.hand(&worker.namespace_id, &worker.identity)?.attempts.clone();
        for place in all {
            if let Some(held) = inside.attempts.get_mut(&place) {
                held.wreck = held.wreck.or(Some(count));
            }
        }
        Some(count)
    }

    /// Who has an attempt in hand, and when that worker was last heard of.
    pub(crate) fn worker(&self, place: Place) -> Option<(Worker, Timestamp)> {
        let inside = self.lock();
        let worker = &inside.attempts.get(&place)?.worker;
        let hand = inside.hand(&worker.namespace_id, &worker.identity)?;
        Some((worker.clone(), hand.heard_at))
    }

    /// Whether nothing is known of anybody.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.load(Ordering::Relaxed) == 0
    }

    /// Whether a task somewhere waits for a worker with empty hands, or a worker is to have no more.
    pub(crate) fn is_anybody_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed) > 0 || self.waiting.load(Ordering::Relaxed) > 0
    }

    /// A task begins to wait for a worker with empty hands.
    pub(crate) fn begin_to_wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    /// So many have ended to wait.
    pub(crate) fn end_to_wait(&self, count: usize) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    /// Forgets attempts whose time is over: their runs are gone.
    pub(crate) fn sweep(&self, now: Timestamp) {
        let mut inside = self.lock();
        let over = inside.attempts.iter().filter(|(_, held)| held.until <= now);
        let over: Vec<Place> = over.map(|(place, _)| *place).collect();
        for place in over {
            inside.remove(place);
        }
        self.count(&inside);
    }

    fn count(&self, inside: &Inside) {
        self.held.store(inside.attempts.len(), Ordering::Relaxed);
        self.alone.store(inside.alone, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn put(&mut self, place: Place, worker: Worker, alone: bool, now: Timestamp) {
        let of_namespace = self.workers.entry(worker.namespace_id.clone()).or_default();
        let hand = of_namespace.entry(worker.identity.clone()).or_default();
        hand.attempts.insert(place);
        hand.heard_at = now;
        self.alone += usize::from(alone);
        let held = Held { worker, alone, begun: false, until: now.after(SLACK), wreck: None };
        self.attempts.insert(place, held);
    }

    fn remove(&mut self, place: Place) -> Option<Held> {
        let held = self.attempts.remove(&place)?;
        self.alone -= usize::from(held.alone);
        let of_namespace = self.workers.get_mut(&held.worker.namespace_id)?;
        let hand = of_namespace.get_mut(&held.worker.identity)?;
        hand.attempts.remove(&place);
        if hand.attempts.is_empty() {
            of_namespace.remove(&held.worker.identity);
        }
        Some(held)
    }

    fn company(&self, worker: &Worker) -> u32 {
        let hand = self.hand(&worker.namespace_id, &worker.identity);
        hand.map_or(0, |hand| u32::try_from(hand.attempts.len()).unwrap_or(u32::MAX))
    }

    fn hand(&self, namespace_id: &str, identity: &str) -> Option<&Hand> {
        self.workers.get(namespace_id)?.get(identity)
    }

    fn hand_mut(&mut self, namespace_id: &str, identity: &str) -> Option<&mut Hand> {
        self.workers.get_mut(namespace_id)?.get_mut(identity)
    }
}

/// How long an attempt may be on its way, and how long after its time it is remembered.
const SLACK: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn worker(identity: &str) -> Worker {
        Worker::new("n", identity)
    }

    fn place(id: i64) -> Place {
        (RunNumber(id), 5)
    }

    fn begin(hands: &Hands, id: i64, who: &str, alone: bool) -> u32 {
        hands.give(place(id), worker(who), alone, NOW);
        hands.begin(place(id), &worker(who), alone, (NOW, Duration::from_secs(10)))
    }

    #[test]
    fn the_first_that_is_found_lost_counts_for_all() {
        let hands = Hands::default();
        let company: Vec<u32> = (1..=3).map(|id| begin(&hands, id, "a", false)).collect();
        assert_eq!(company, [1, 2, 3]);
        for id in 1..=3 {
            assert_eq!(hands.tenants(place(id)), Some(3));
            hands.settle(RunNumber(id), |_| false);
        }
        assert!(hands.is_empty());
        assert_eq!(hands.tenants(place(1)), None, "after a restart nothing is known");
    }

    #[test]
    fn what_a_worker_takes_on_after_it_was_thought_dead_is_counted_anew() {
        let hands = Hands::default();
        begin(&hands, 1, "a", false);
        begin(&hands, 2, "a", false);
        assert_eq!(hands.tenants(place(1)), Some(2));
        hands.settle(RunNumber(1), |_| false);
        assert_eq!(begin(&hands, 3, "a", false), 2);
        assert_eq!((hands.tenants(place(3)), hands.tenants(place(2))), (Some(2), Some(2)));
    }

    #[test]
    fn a_worker_with_something_that_is_to_be_alone_has_no_more_until_it_is_done() {
        let hands = Hands::default();
        assert!(hands.is_idle("n", "a") && hands.may_have_more("n", "a", NOW));
        begin(&hands, 1, "a", true);
        begin(&hands, 2, "b", false);
        assert!(!hands.is_idle("n", "a") && !hands.is_idle("n", "b"));
        assert!(!hands.may_have_more("n", "a", NOW) && hands.may_have_more("n", "b", NOW));
        assert!(hands.settle(RunNumber(1), |_| true).is_empty(), "it goes on");
        assert_eq!(hands.settle(RunNumber(1), |_| false), [worker("a")]);
        assert!(hands.is_idle("n", "a") && hands.may_have_more("n", "a", NOW));
    }

    #[test]
    fn what_never_arrived_or_is_over_is_forgotten() {
        let hands = Hands::default();
        hands.give(place(1), worker("a"), true, NOW);
        assert!(hands.settle(RunNumber(1), |_| false).is_empty(), "it is on its way");
        hands.take_back(place(1));
        assert!(hands.is_empty());
        begin(&hands, 2, "a", true);
        let later = NOW.after(Duration::from_secs(70));
        assert!(hands.may_have_more("n", "a", later), "nobody is held for ever");
        hands.sweep(later);
        assert!(hands.is_empty());
    }
}
