//! Where a job does its work: inputs go to runs, and what comes of them is collected.
//!
//! Nothing here is durable yet, and nothing leaves the engine: writes and releases go to the
//! committer together. Only workflow tasks may leave at once, because a worker's answer to one
//! that did not become durable is refused.

use std::{collections::BTreeSet, sync::Arc};

use steadfast_core::{
    Context, Effect, Input, Refused, Run, Start, Timestamp, Transition, Unknown, UpdateProgress,
};
use steadfast_proto::{history::HistoryEvent, workflowservice::PollActivityTaskQueueResponse};
use steadfast_store::{Aside, RunNumber, RunWrite, Waking};
use tokio::sync::oneshot;

use super::{Entry, Shard, Shared, UpdateWatcher, Watcher, company::Known, notices, outbox};
use crate::{
    committer::{Release, Saying},
    error::Error,
    gift::Gift,
    graves::OfferKey,
    listing,
    namespaces::Namespace,
    rows,
    task::{Taker, TaskGift},
};

/// Where a job does its work.
pub(crate) struct Desk<'a> {
    pub(super) shard: &'a mut Shard,
    /// How many writes the jobs before have left.
    pub(super) earlier: usize,
    releases: Vec<Release>,
    /// The runs that were given something.
    touched: BTreeSet<RunNumber>,
    /// What must be written with them.
    pub(super) aside: Option<Arc<Aside>>,
}

/// Somebody who wants a run deleted.
pub(crate) type Deleter = oneshot::Sender<Result<(), Error>>;

/// What whoever caused a transition would like to have of it at once.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// The next workflow task, if there is one, for this worker.
    pub(crate) task_for: Option<Taker>,
    /// What came of it.
    pub(crate) task: Option<Gift<TaskGift>>,
    /// Activities that are to be started eagerly, for this worker.
    pub(crate) activities_for: Option<Taker>,
    /// What came of it.
    pub(crate) activities: Vec<PollActivityTaskQueueResponse>,
    /// If the answered workflow task is as if it had never been: the start of the one before.
    pub(crate) back_to: i64,
}

impl<'a> Desk<'a> {
    pub(super) fn new(shard: &'a mut Shard) -> Self {
        Self {
            earlier: shard.writes.len(),
            shard,
            releases: Vec::new(),
            touched: BTreeSet::new(),
            aside: None,
        }
    }

    /// Hands everything over, when the job has been for `found`.
    pub(super) fn finish(&mut self, found: Option<RunNumber>) {
        let writes = self.shard.writes.iter().skip(self.earlier);
        self.shard.collected += writes.map(RunWrite::bytes).sum::<usize>();
        if !self.releases.is_empty() {
            let (touched, releases) = (self.touched(), std::mem::take(&mut self.releases));
            let aside = self.aside.take();
            self.shard.sayings.push(Saying { found, touched, aside, releases });
        }
    }

    /// Something that is to be written.
    pub(super) fn put(&mut self, write: RunWrite) {
        self.touched.insert(write.run);
        if let Some(run) = &write.create {
            self.shard.shared.known_ids.add(&run.namespace, &run.workflow_id);
        }
        self.shard.writes.push(write);
    }

    /// Takes back what a job that panicked has left. The runs that it had given something.
    pub(super) fn clear(&mut self) -> BTreeSet<RunNumber> {
        self.shard.writes.truncate(self.earlier);
        self.touched()
    }

    /// Remembers that a run, or a schedule, was given something.
    pub(super) fn touch(&mut self, number: RunNumber) {
        self.touched.insert(number);
    }

    fn touched(&mut self) -> BTreeSet<RunNumber> {
        std::mem::take(&mut self.touched)
    }

    /// The time.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.shard.now()
    }

    /// What all parts of the engine share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shard.shared
    }

    /// A run that was found.
    pub(crate) fn run(&self, number: RunNumber) -> Option<&Run> {
        self.shard.cache.get(number).map(|entry| &entry.run)
    }

    /// A run that was found, with the queries that wait for it.
    pub(crate) fn entry(&mut self, number: RunNumber) -> Option<&mut Entry> {
        self.shard.cache.get_mut(number)
    }

    /// Somebody waits for the history of a run to grow.
    pub(crate) fn watch(&mut self, number: RunNumber, watcher: Watcher) {
        self.shard.watchers.add(number, watcher);
    }

    /// Somebody waits for an update of a run.
    pub(crate) fn watch_update(&mut self, number: RunNumber, watcher: UpdateWatcher) {
        self.shard.update_watchers.add(number, watcher);
    }

    /// Something that leaves the engine once all this is durable.
    pub(crate) fn release(&mut self, release: impl FnOnce() + Send + 'static) {
        self.releases.push(Box::new(release));
    }

    /// Gives a run an input.
    pub(crate) fn apply(&mut self, number: RunNumber, input: Input) -> Result<(), Refused> {
        self.apply_with(number, input, &mut Wishes::default())
    }

    /// Gives a run an input, with wishes for what comes of it. An input that was taken otherwise
    /// than it was meant is an error too, but its effects stay.
    pub(crate) fn apply_with(
        &mut self,
        number: RunNumber,
        input: Input,
        wishes: &mut Wishes,
    ) -> Result<(), Refused> {
        self.touched.insert(number);
        let now = self.now();
        let entropy = self.shard.shared.ids.entropy();
        let Some(entry) = self.shard.cache.get_mut(number) else { return Err(Refused::WrongRun) };
        let limits = Arc::clone(&entry.limits);
        let rules = entry.rules(&self.shard.shared.namespaces);
        let company = Known { shared: &self.shard.shared, run: number };
        let context = Context { now, entropy, limits: &limits, rules: &rules, company: &company };
        let mut transition = entry.run.apply(input, context)?;
        let refused = transition.refused.take();
        self.take_in(number, transition, wishes);
        self.delete_if_wanted(number);
        refused.map_or(Ok(()), Err)
    }

    /// Does what is due about a run. One that was looked at too early is kept with its own time.
    pub(super) fn tick(&mut self, number: RunNumber) {
        // A run refuses nothing about time passing.
        let _ = self.apply(number, Input::Tick);
        // By the clock of that moment: what has come to be due since has not had its turn.
        let now = self.shard.latest;
        let too_early = |entry: &Entry| {
            entry.woken.by.due.is_some_and(|at| at <= now)
                && entry.run.next_due().is_none_or(|at| at > now)
        };
        if self.shard.cache.get(number).is_some_and(too_early) {
            self.write(number, &mut Transition::default());
        }
    }

    /// Deletes a run as soon as everybody has heard what it has to say, and then tells `slot`.
    pub(crate) fn delete_when_quiet(&mut self, number: RunNumber, slot: Deleter) {
        if let Some(entry) = self.shard.cache.get_mut(number) {
            entry.deleters.push(slot);
            self.delete_if_wanted(number);
        }
    }

    fn delete_if_wanted(&mut self, number: RunNumber) {
        let Some(entry) = self.shard.cache.get_mut(number) else { return };
        if entry.deleters.is_empty() || entry.run.messages().iter().next().is_some() {
            return;
        }
        let deleters = std::mem::take(&mut entry.deleters);
        self.delete(number);
        self.release(move || {
            for slot in deleters {
                // Whoever wanted it deleted may have gone.
                let _ = slot.send(Ok(()));
            }
        });
    }

    /// Creates a run.
    pub(crate) fn create(
        &mut self,
        namespace: &Namespace,
        start: Start,
        wishes: &mut Wishes,
    ) -> RunNumber {
        let now = self.now();
        let entropy = self.shard.shared.ids.entropy();
        let (limits, rules) = (&namespace.limits, &namespace.rulebook);
        let context = Context { now, entropy, limits, rules, company: &Unknown };
        let (run, transition) = Run::create(start, context);
        self.adopt(run, transition, Arc::clone(&namespace.limits), wishes)
    }

    /// Takes in a run that was just made.
    pub(crate) fn adopt(
        &mut self,
        run: Run,
        transition: Transition,
        limits: Arc<steadfast_core::Limits>,
        wishes: &mut Wishes,
    ) -> RunNumber {
        let number = self.shard.shared.numbers.next();
        self.touched.insert(number);
        let identity = rows::identity(run.identity());
        self.shard.cache.insert(Entry::created(number, run, limits), true);
        let created = RunWrite {
            run: number,
            shard: self.shard.number,
            create: Some(Box::new(identity)),
            ..RunWrite::default()
        };
        self.put(created);
        self.take_in(number, transition, wishes);
        number
    }

    /// Deletes a run, with all that belongs to it.
    pub(crate) fn delete(&mut self, number: RunNumber) {
        let Some(entry) = self.shard.cache.get(number) else { return };
        self.shard.due.set(number, entry.woken.by.due, None);
        self.shard.cache.remove(number);
        self.shard.forget_watchers(number);
        self.bury(number);
        self.empty_hands(number);
        let shard = self.shard.number;
        self.put(RunWrite { run: number, shard, delete: true, ..RunWrite::default() });
        // Until the deletion is durable the store would still find it.
        self.shard.quarantined.insert(number, self.shard.next_work);
    }

    /// Takes in what came of an input.
    fn take_in(&mut self, number: RunNumber, mut transition: Transition, wishes: &mut Wishes) {
        if transition.changed {
            self.count(number, &transition);
            self.write(number, &mut transition);
        }
        if let Some(successor) = transition.successor.take() {
            let limits = self.shard.cache.get(number).map(|entry| Arc::clone(&entry.limits));
            let (run, begun) = *successor;
            self.adopt(run, begun, limits.unwrap_or_default(), &mut Wishes::default());
        }
        wishes.back_to = transition.back_to;
        self.empty_hands(number);
        for effect in transition.effects {
            self.carry_out(number, effect, wishes);
        }
    }

    /// Counts what came of an input, for whoever watches.
    fn count(&mut self, number: RunNumber, transition: &Transition) {
        let is_quiet = transition.attempts.is_empty() && transition.ended.is_empty();
        if is_quiet && transition.resumed_by_policy == 0 {
            return;
        }
        let now = self.now();
        if let Some(entry) = self.shard.cache.get(number) {
            self.shard.shared.tally.count(transition, entry.run.workflow_type(), now);
        }
    }

    fn write(&mut self, number: RunNumber, transition: &mut Transition) {
        // As the run was told it.
        let now = self.shard.latest;
        let shard = self.shard.number;
        let work = self.shard.next_work;
        let Some(entry) = self.shard.cache.get_mut(number) else { return };
        let before = entry.woken;
        entry.woken = before.next(&entry.run, now);
        let woken_by = Some(before.by);
        let mut write = RunWrite { run: number, shard, woken_by, ..RunWrite::default() };
        write_changes(&self.shard.shared, &mut entry.run, entry.woken.by, transition, &mut write);
        entry.last_work = work;
        let bytes = write.new_bytes();
        self.put(write);
        let events = std::mem::take(&mut transition.events).into_events();
        self.note(number, events, before.by.due);
        self.shard.cache.wrote(number, bytes);
    }

    /// Takes note of what a run has become: its new events, and when it is due.
    pub(super) fn note(
        &mut self,
        number: RunNumber,
        events: Vec<HistoryEvent>,
        due: Option<Timestamp>,
    ) {
        let tail_max = self.shard.shared.limits.tail_events_max;
        let Some(entry) = self.shard.cache.get_mut(number) else { return };
        let grown = !events.is_empty();
        entry.extend_tail(events, tail_max);
        let (is_open, close) = (entry.run.is_open(), entry.close_event.clone());
        self.shard.due.set(number, due, entry.woken.by.due);
        if !grown {
            return;
        }
        let watchers = self.shard.watchers.take(number, |it| !is_open || !it.close_only);
        if !watchers.is_empty() {
            self.release(move || {
                for it in watchers {
                    drop(it.slot.send(close.clone()));
                }
            });
        }
    }

    pub(super) fn carry_out(&mut self, number: RunNumber, effect: Effect, wishes: &mut Wishes) {
        match effect {
            Effect::WorkflowTaskReady => self.task_is_ready(number, wishes),
            Effect::ActivityReady { scheduled_event_id, eager } => {
                self.offer_activity(number, scheduled_event_id, eager, wishes);
            }
            Effect::WorkflowTaskWithdrawn { scheduled_event_id, attempt } => {
                let key = OfferKey { run: number, scheduled_event_id, turn: attempt };
                self.shared().tasks.bury_offer(key);
            }
            Effect::ActivityWithdrawn { scheduled_event_id, stamp } => {
                let key = OfferKey { run: number, scheduled_event_id, turn: stamp };
                self.shared().activities.bury_offer(key);
            }
            Effect::StartChild { initiated_event_id } => {
                outbox::start_child(self, number, initiated_event_id);
            }
            Effect::SendExternal { initiated_event_id } => {
                outbox::send_external(self, number, initiated_event_id);
            }
            Effect::SendMessage { number: message } => {
                notices::send(self, number, message);
            }
            Effect::UpdateChanged { update_id, progress } => {
                self.tell_update(number, &update_id, &progress);
            }
            Effect::Closed => self.settle_closed(number),
            Effect::StartOver => {
                let shared = Arc::clone(&self.shard.shared);
                self.release(move || shared.start_overs.send(number));
            }
            Effect::Delete => self.delete(number),
        }
    }

    fn tell_update(&mut self, number: RunNumber, update_id: &str, progress: &UpdateProgress) {
        let accepted = matches!(progress, UpdateProgress::Accepted);
        let watchers = self
            .shard
            .update_watchers
            .take(number, |it| it.update_id == update_id && !(accepted && it.outcome_only));
        let progress = progress.clone();
        self.release(move || {
            for it in watchers {
                drop(it.slot.send(progress.clone()));
            }
        });
    }

    /// What waits for workers on behalf of a run that is no more, or does no more, waits in vain.
    fn bury(&self, number: RunNumber) {
        self.shard.shared.tasks.bury_run(number);
        self.shard.shared.activities.bury_run(number);
    }

    /// Nothing will come of what waited for the next workflow task.
    fn settle_closed(&mut self, number: RunNumber) {
        let Some(entry) = self.shard.cache.get_mut(number) else { return };
        if let Some(hot) = entry.hot.take() {
            hot.cool();
        }
        self.redirect_queries(number);
        self.bury(number);
        self.shard.cache.close(number);
    }
}

/// Writes what a transition has changed of a run, with the row that lists show if that has changed.
pub(super) fn write_changes(
    shared: &Shared,
    run: &mut Run,
    wakes: Waking,
    transition: &mut Transition,
    into: &mut RunWrite,
) {
    rows::write(run, wakes, transition, into);
    if transition.visible {
        let namespace = shared.namespaces.named(&run.identity().namespace);
        into.visibility = Some(Box::new(listing::row(run, namespace.ok().as_deref())));
    }
}
