//! A shard: one task that owns some workflows and does one thing after the other with them.
//!
//! ```text
//!             ┌──────────────────────────── shard ───────────────────────────┐
//!  mailbox ──▶│ job ─▶ run in memory? ─no─▶ read it ─▶ …                      │
//!             │            │ yes                                              │
//!             │            ▼                                                  │
//!             │        at the desk: apply, collect writes and releases ──────▶│──▶ committer
//!             │            ▲                                                  │
//!             │        due soon ─┘                                            │
//!             └───────────────────────────────────────────────────────────────┘
//! ```
//!
//! It never waits for the disk: reading a run is somebody else's task, and jobs for other
//! workflows go on meanwhile.

mod again;
mod alarm;
mod cache;
mod company;
mod desk;
mod due;
mod entry;
mod held;
mod job;
mod listening;
mod load;
mod mail;
mod notices;
mod outbox;
mod reading_ids;
mod ready;
mod schedule;
mod shared;
mod tasks;
mod trial;
mod watchers;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
};

use steadfast_core::Timestamp;
use steadfast_store::{RunNumber, RunWrite, ShardNumber};
use tokio::sync::{mpsc, oneshot};

pub(crate) use cache::Cache;
pub(crate) use desk::{Desk, Wishes};
pub(crate) use entry::Entry;
pub use held::Held;
pub(crate) use held::Sum;
pub(crate) use job::{Address, Job, Patient, PendingKey};
pub(crate) use listening::Listening;
pub(crate) use mail::{Mail, Mailbox};
pub(crate) use outbox::InputJob;
pub(crate) use schedule::{ScheduleEntry, address as schedule_address};
pub(crate) use shared::{RunNumbers, Shared, earlier};
pub(crate) use tasks::fill_history;
pub(crate) use watchers::{UpdateWatcher, Watcher};

use crate::{
    committer::{Handle, Saying, Watermark, Work},
    error::Error,
    schedules::Schedules,
};
use alarm::Alarm;
use due::{Due, Place};
use trial::Trial;
use watchers::Watchers;

/// A shard.
pub(crate) struct Shard {
    pub(crate) number: ShardNumber,
    pub(crate) shared: Arc<Shared>,
    committer: Handle,
    durable: Arc<Watermark>,
    pub(crate) cache: Cache,
    /// Schedules in memory, each with the jobs that wait until it has heard of its starts.
    schedules: Schedules<Box<dyn Job>>,
    /// How many of them there may be, and how many bytes they may take.
    schedules_max: (usize, usize),
    cache_max: usize,
    closed_max: usize,
    bytes_max: usize,
    unwritten_max: usize,
    due: Due,
    watchers: Watchers<Watcher>,
    update_watchers: Watchers<UpdateWatcher>,
    pending: BTreeMap<PendingKey, VecDeque<Box<dyn Job>>>,
    /// Runs that are not in memory although the store does not know the last of them yet, with
    /// the work that must be durable before they may be read.
    quarantined: BTreeMap<RunNumber, u64>,
    /// Runs of which it is not known yet what they are.
    trials: BTreeMap<RunNumber, Trial>,
    /// How far the runs with work to hand out were brought back; `None` when all were.
    recovered: Option<RunNumber>,
    /// Whether the next page of them is being read.
    recovering: bool,
    /// Runs whose workflow tasks are offered when the letters at hand have been read.
    ready: BTreeSet<RunNumber>,
    writes: Vec<RunWrite>,
    sayings: Vec<Saying>,
    /// Bytes of those writes.
    collected: usize,
    /// Jobs that wait until storage has caught up.
    held_back: VecDeque<Box<dyn Job>>,
    /// The number that the next work gets.
    next_work: u64,
    /// The latest time that was seen: time does not run backwards here.
    latest: Timestamp,
    /// What it held when the engine was told last.
    told: Held,
    stopping: Option<oneshot::Sender<()>>,
}

impl Shard {
    pub(crate) fn new(
        number: ShardNumber,
        shared: Arc<Shared>,
        committer: Handle,
        durable: Arc<Watermark>,
        shards: usize,
    ) -> Self {
        let limits = Arc::clone(&shared.limits);
        Self {
            number,
            shared,
            committer,
            durable,
            cache: Cache::default(),
            schedules: Schedules::default(),
            schedules_max: (
                limits.cached_schedules_max / shards.max(1),
                limits.cached_schedule_bytes_max / shards.max(1),
            ),
            cache_max: limits.cached_runs_max / shards.max(1),
            closed_max: limits.cached_closed_runs_max / shards.max(1),
            bytes_max: limits.cached_bytes_max / shards.max(1),
            unwritten_max: limits.unwritten_bytes_max / shards.max(1),
            due: Due::new(limits.due_horizon, limits.due_page_max),
            watchers: Watchers::default(),
            update_watchers: Watchers::default(),
            pending: BTreeMap::new(),
            quarantined: BTreeMap::new(),
            trials: BTreeMap::new(),
            recovered: Some(RunNumber(0)),
            recovering: false,
            ready: BTreeSet::new(),
            writes: Vec::new(),
            sayings: Vec::new(),
            collected: 0,
            held_back: VecDeque::new(),
            next_work: 1,
            latest: Timestamp::default(),
            told: Held::default(),
            stopping: None,
        }
    }

    /// Works until it is told to stop.
    pub(crate) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Mail>) {
        let mut letters = 0;
        let mut alarm = Alarm::default();
        loop {
            self.recover();
            self.look_ahead();
            self.read_ids_if_wished();
            let looked = self.now();
            let at = self.due.next().clamp(looked, looked.after(LONGEST_SLEEP));
            let clock = self.shared.clock.as_ref();
            let mail = tokio::select! {
                biased;
                mail = inbox.recv() => match mail {
                    None => break,
                    mail => mail,
                },
                () = alarm.ring(clock, looked, at) => None,
            };
            // Where there were several at once, others are about to send more.
            if mail.is_some() && letters > 1 {
                tokio::task::yield_now().await;
            }
            let now = self.now();
            self.shared.listening.look(looked, now);
            letters = self.open_all(mail, &mut inbox);
            self.do_what_is_due();
            self.offer_ready();
            self.submit();
            self.cache.evict(self.cache_max, self.bytes_max, self.durable.get());
            self.cache.evict_closed(self.closed_max, self.durable.get());
            self.evict_schedules();
            self.forget_quarantine();
            self.tell();
            if self.stopping.is_some() {
                break;
            }
        }
        self.submit();
        if let Some(stopped) = self.stopping.take() {
            // The last work is behind all others: when it is released, everything is durable.
            self.tell_when_durable(stopped);
            self.next_work += 1;
            self.hand_in();
        }
    }

    /// The time, never earlier than it was.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.latest = self.latest.max(self.shared.clock.now());
        self.latest
    }

    /// Opens a letter and those that wait behind it, but not too many. How many there were.
    fn open_all(
        &mut self,
        first: Option<Mail>,
        inbox: &mut mpsc::UnboundedReceiver<Mail>,
    ) -> usize {
        let waiting = std::iter::from_fn(|| inbox.try_recv().ok());
        let mut opened = 0;
        for mail in first.into_iter().chain(waiting).take(LETTERS_AT_ONCE) {
            self.open(mail);
            opened += 1;
        }
        opened
    }

    fn open(&mut self, mail: Mail) {
        match mail {
            Mail::Job(job) => self.dispatch(job),
            Mail::Loaded(loaded) => self.take_loaded(*loaded),
            Mail::Due(Ok(rows)) => self.due.end_reading(rows),
            Mail::Due(Err(error)) => {
                tracing::warn!(%error, "due runs could not be read; trying again");
                self.due.fail_reading();
            }
            Mail::Work(Ok(runs)) => self.take_work(runs),
            Mail::Work(Err(error)) => {
                tracing::warn!(%error, "runs with work could not be read; trying again");
                self.recovering = false;
            }
            Mail::CaughtUp => {
                for job in std::mem::take(&mut self.held_back) {
                    self.dispatch(job);
                }
            }
            Mail::Settled(number) => self.end_trial(number, true),
            Mail::Undone(number) => self.end_trial(number, false),
            Mail::Refused(number) => {
                tracing::error!(run = number.0, "the store refused a run: it is read anew");
                self.set_apart(number);
            }
            Mail::WhenDurable(slot) => self.tell_when_durable(slot),
            Mail::Stop(stopped) => self.stopping = Some(stopped),
        }
    }

    /// Whether so much waits to become durable that no more can be taken on: while storage fails,
    /// memory must not fill up.
    fn is_behind(&self) -> bool {
        self.next_work - self.durable.get() > self.shared.limits.unreleased_works_max
            || self.durable.missing() + self.collected > self.unwritten_max
    }

    /// Whether a job is too much now.
    fn is_too_much(&self, job: &dyn Job) -> bool {
        !job.must_be_done() && self.is_behind()
    }

    /// Refuses a job that is too much, or keeps it until all is durable that is on its way now.
    fn turn_away(&mut self, job: Box<dyn Job>) {
        if !job.waits_for_room() {
            job.fail(Error::overloaded("storage is behind; try again"));
            return;
        }
        if self.held_back.is_empty() {
            let shared = Arc::clone(&self.shared);
            let number = self.number;
            let tell = move || shared.mail(number, Mail::CaughtUp);
            self.sayings.push(Saying::free(Box::new(tell)));
        }
        self.held_back.push_back(job);
    }

    /// Does a job now, or has its run read first.
    pub(crate) fn dispatch(&mut self, job: Box<dyn Job>) {
        if self.is_too_much(&*job) {
            self.turn_away(job);
            return;
        }
        // Mostly nobody waits, and then nobody needs a key to be found by.
        if !self.pending.is_empty()
            && let Some(queue) = self.pending.get_mut(&job.address().key())
        {
            queue.push_back(job);
            return;
        }
        if let Some(number) = self.find(job.address()) {
            self.perform_when_settled(job, number);
        } else if job.creates() && self.is_new(job.address()) {
            self.perform(job, None);
        } else {
            self.load(job.address().clone());
            self.pending.insert(job.address().key(), VecDeque::from([job]));
        }
    }

    /// Does a job. If it panics, the runs that it touched are set apart and the others go on.
    fn perform(&mut self, job: Box<dyn Job>, found: Option<RunNumber>) {
        // Many may have waited for what was read, or for one another.
        if self.is_too_much(&*job) {
            self.turn_away(job);
            return;
        }
        let mut desk = Desk::new(self);
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| {
            job.run(&mut desk, found);
            desk.finish(found);
        }));
        if done.is_err() {
            let touched = desk.clear();
            tracing::error!(runs = ?touched, "a fault in a run: it is set apart and read anew");
            for number in touched.into_iter().chain(found) {
                self.set_apart(number);
            }
        }
    }

    /// Forgets a run that is not what it should be. It is read again once all that it was part of
    /// is durable: before that, the store does not know it as it is.
    fn set_apart(&mut self, number: RunNumber) {
        self.forget_watchers(number);
        let run = self.cache.remove(number).map(|entry| entry.woken.by.due);
        let schedule = || self.schedules.remove(number).map(|entry| entry.schedule.next_due());
        let trial = self.trials.remove(&number);
        let Some(due) = run.or_else(schedule) else { return };
        self.due.set(number, due, None);
        let is_written = self.writes.iter().any(|write| write.run == number);
        let until = if is_written { self.next_work } else { self.next_work - 1 };
        self.quarantined.insert(number, until);
        // What it still has to do, it does when it is read. Not at once: the fault may come again.
        let wait = self.shared.limits.commit_retry.1;
        self.try_later(Box::new(outbox::RecoverJob::new(number)), wait);
        for job in trial.into_iter().flat_map(|trial| trial.waiting) {
            self.dispatch(job);
        }
    }

    /// Those who wait for a run ask again.
    fn forget_watchers(&mut self, number: RunNumber) {
        self.watchers.forget(number);
        self.update_watchers.forget(number);
    }

    /// Nobody reads, so nobody has read what is out of date.
    fn forget_quarantine(&mut self) {
        if self.pending.is_empty() {
            let durable = self.durable.get();
            self.quarantined.retain(|_, until| *until > durable);
        }
    }

    /// Does what is due, but not so much at once that the mailbox has to wait for long.
    fn do_what_is_due(&mut self) {
        let now = self.now();
        for _ in 0..DUE_AT_ONCE {
            let Some(number) = self.due.pop(now) else { return };
            self.dispatch(Box::new(outbox::TickJob::new(number)));
        }
    }

    /// Has the next page of due runs read, if it is time. A deadline that lay beyond the horizon
    /// when it was set is nowhere but in the store: it must be durable before the page is read.
    fn look_ahead(&mut self) {
        let now = self.now();
        let Some((after, until)) = self.due.begin_reading(now) else { return };
        let shared = Arc::clone(&self.shared);
        let number = self.number;
        let read = move || drop(tokio::spawn(read_due(shared, number, after, until)));
        self.sayings.push(Saying::free(Box::new(read)));
        self.submit();
    }

    /// Has the next page of runs read that have something to hand out, when the last one is
    /// nearly done.
    fn recover(&mut self) {
        let Some(after) = self.recovered else { return };
        let page_max = self.shared.limits.recovery_page_max;
        if self.recovering || self.pending.len() > page_max / 2 {
            return;
        }
        self.recovering = true;
        let shared = Arc::clone(&self.shared);
        let number = self.number;
        tokio::spawn(async move {
            let runs = shared.store.with_work(number, after, page_max).await;
            if runs.is_err() {
                shared.clock.sleep(shared.limits.commit_retry.1).await;
            }
            shared.mail(number, Mail::Work(runs));
        });
    }

    fn take_work(&mut self, runs: Vec<RunNumber>) {
        self.recovering = false;
        self.recovered = runs.last().copied();
        for number in runs {
            // Those that this engine created were handed out when they were.
            if number < self.shared.numbers.first() {
                self.dispatch(Box::new(outbox::RecoverJob::new(number)));
            }
        }
    }

    /// Tells the engine how much there is here.
    fn tell(&mut self) {
        let now = Held {
            runs: self.cache.len(),
            run_bytes: self.cache.bytes(),
            schedules: self.schedules.len(),
            watchers: self.watchers.count() + self.update_watchers.count(),
        };
        self.shared.held.change(std::mem::replace(&mut self.told, now), now);
    }

    /// Hands in what was collected, as one piece of work.
    fn submit(&mut self) {
        if self.writes.is_empty() && self.sayings.is_empty() {
            return;
        }
        // What only reads may answer at once if all that it has seen is durable.
        if self.writes.is_empty() && self.durable.get() + 1 >= self.next_work {
            self.sayings.drain(..).for_each(Saying::say);
            return;
        }
        self.next_work += 1;
        self.hand_in();
    }

    fn hand_in(&mut self) {
        let bytes = std::mem::take(&mut self.collected);
        self.durable.expect(bytes);
        self.committer.submit(Work {
            shard: self.number,
            number: self.next_work - 1,
            bytes,
            writes: take_with_room(&mut self.writes),
            sayings: take_with_room(&mut self.sayings),
        });
    }
}

/// Takes what was collected. About as much is collected the next time, for which there is room then.
fn take_with_room<T>(collected: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(collected.len().min(ROOM_MAX));
    std::mem::replace(collected, room)
}

/// Reads what is due after `after` and not after `until`, and sends it to its shard.
async fn read_due(shared: Arc<Shared>, number: ShardNumber, after: Place, until: Timestamp) {
    let after = (after.0.nanos() != i64::MIN).then_some(after);
    let limit = shared.limits.due_page_max;
    let rows = shared.store.due(number, until, after, limit).await;
    if rows.is_err() {
        shared.clock.sleep(shared.limits.commit_retry.1).await;
    }
    shared.mail(number, Mail::Due(rows));
}

/// How long a shard sleeps at the most, in case the clock jumps.
const LONGEST_SLEEP: std::time::Duration = std::time::Duration::from_secs(1);
const LETTERS_AT_ONCE: usize = 256;
const DUE_AT_ONCE: usize = 1_000;
/// Room for more would be much to keep for a shard that is idle from now on.
const ROOM_MAX: usize = 64;
