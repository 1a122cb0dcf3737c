//! A run in memory, with its newest events and the queries that wait for it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use prost::Message as _;
use steadfast_core::{Limits, Rulebook, Run};
use steadfast_proto::history::HistoryEvent;
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use crate::{committer::Hot, error::Error, namespaces::Namespaces, query::Waiting, waking::Woken};

/// A run in memory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: RunNumber,
    pub(crate) run: Run,
    pub(crate) woken: Woken,
    pub(crate) limits: Arc<Limits>,
    rules: Arc<Rulebook>,
    /// At which change of the namespaces these were the rules.
    rules_of: Option<u64>,
    /// Its newest events, from `tail_first` on, that no worker was given yet.
    pub(crate) tail: Vec<HistoryEvent>,
    pub(crate) tail_first: i64,
    /// Its last event, once it has closed.
    pub(crate) close_event: Option<Arc<HistoryEvent>>,
    /// The last work that changed it. Until that is durable it must stay in memory.
    pub(crate) last_work: u64,
    /// Queries that wait for the next workflow task, by id.
    pub(crate) queries: BTreeMap<String, Waiting>,
    /// Queries that the workflow task under way carries, by id.
    pub(crate) carried: BTreeMap<String, Waiting>,
    pub(crate) hot: Option<HotTask>,
    /// Those who want it deleted, while it has something to say.
    pub(crate) deleters: Vec<oneshot::Sender<Result<(), Error>>>,
    /// When it was last used, by the shard's own count.
    pub(crate) used: u64,
    /// What it takes of the cache's room.
    pub(crate) weight: Weight,
}

/// Bytes that a run takes in memory: exact when it was weighed, and then more by what was written of
/// it since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weight {
    pub(crate) bytes: usize,
    weighed: usize,
}

impl Weight {
    /// Whether so much was written since that it may be far from what is kept.
    pub(crate) fn is_doubtful(self) -> bool {
        self.bytes > 2 * self.weighed + DOUBT
    }
}

/// A workflow task that was handed out before its cause was durable.
#[derive(Clone, Debug)]
pub(crate) struct HotTask {
    is_hot: Arc<AtomicBool>,
    hot: Arc<Hot>,
}

impl HotTask {
    pub(crate) fn new(hot: &Arc<Hot>) -> Self {
        hot.add();
        Self { is_hot: Arc::new(AtomicBool::new(true)), hot: Arc::clone(hot) }
    }

    /// It came back, or its cause is durable. Only the first time counts.
    pub(crate) fn cool(&self) {
        if self.is_hot.swap(false, Ordering::Relaxed) {
            self.hot.remove();
        }
    }
}

impl Entry {
    /// A run that was just created: its whole history is at hand.
    pub(crate) fn created(number: RunNumber, run: Run, limits: Arc<Limits>) -> Self {
        Self { tail_first: 1, ..Self::loaded(number, run, Woken::default(), limits) }
    }

    /// A run that was read from the store.
    pub(crate) fn loaded(number: RunNumber, run: Run, woken: Woken, limits: Arc<Limits>) -> Self {
        Self {
            number,
            tail_first: run.last_event_id() + 1,
            run,
            woken,
            limits,
            rules: Arc::default(),
            rules_of: None,
            tail: Vec::new(),
            close_event: None,
            last_work: 0,
            queries: BTreeMap::new(),
            carried: BTreeMap::new(),
            hot: None,
            deleters: Vec::new(),
            used: 0,
            weight: Weight::default(),
        }
    }

    /// What it takes now.
    pub(crate) fn weigh(&self) -> Weight {
        let tail = self.tail.iter().chain(self.close_event.as_deref());
        let bytes = self.run.weight() + tail.map(HistoryEvent::encoded_len).sum::<usize>();
        Weight { bytes, weighed: bytes }
    }

    /// What operators say now about failures in its namespace.
    pub(crate) fn rules(&mut self, namespaces: &Namespaces) -> Arc<Rulebook> {
        let changes = namespaces.changes();
        if self.rules_of != Some(changes) {
            self.rules_of = Some(changes);
            let namespace = namespaces.with_id(&self.run.identity().namespace_id);
            self.rules = namespace.map(|it| Arc::clone(&it.rulebook)).unwrap_or_default();
        }
        Arc::clone(&self.rules)
    }

    /// Takes new events in.
    pub(crate) fn extend_tail(&mut self, mut events: Vec<HistoryEvent>, events_max: usize) {
        if !self.run.is_open() {
            if let Some(last) = events.into_iter().next_back() {
                self.close_event = Some(Arc::new(last));
            }
            // No worker will want the others: there is no task any more.
            self.drop_tail();
            return;
        }
        if self.tail.is_empty() {
            // They may be here for as long as the run sleeps, and the room was for more of them.
            events.shrink_to_fit();
            self.tail = events;
        } else {
            self.tail.extend(events);
        }
        if self.tail.len() > events_max {
            self.drop_tail();
        }
    }

    /// Gives all events from `first` on, if they are at hand, and forgets them: a worker that
    /// asks again gets them from the store.
    pub(crate) fn take_tail(&mut self, first: i64) -> Option<Vec<HistoryEvent>> {
        if first < self.tail_first {
            self.drop_tail();
            return None;
        }
        let skip = usize::try_from(first - self.tail_first).unwrap_or(usize::MAX);
        let mut events = std::mem::take(&mut self.tail);
        self.drop_tail();
        events.drain(..skip.min(events.len()));
        Some(events)
    }

    fn drop_tail(&mut self) {
        self.tail = Vec::new();
        self.tail_first = self.run.last_event_id() + 1;
    }

    /// Whether it may be let go of: nobody has asked it anything that only it knows, and the store has
    /// the rest.
    pub(crate) fn is_idle(&self, durable: u64) -> bool {
        self.last_work <= durable
            && self.queries.values().chain(self.carried.values()).all(|it| it.slot.is_closed())
            && self.deleters.is_empty()
            && self.run.updates().iter().all(|(_, update)| update.request.is_none())
    }
}

/// Bytes that are written of most runs in all their life: those are not weighed.
const DOUBT: usize = 4 * 1024;
