//! Bulk resumes: begun, watched, held, ended; and the work on them in the background.
//!
//! How far a job is is written down before every tick and after it. After a crash the errors of the last
//! tick have their turn once more, and take it for the same request: none is resumed twice. One that is
//! gone by then was resumed and is done.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak},
    time::Duration,
};

use steadfast_core::{Timestamp, Urgency};
use steadfast_store::{ErrorEntry, ErrorFilter, ErrorState, Order, RunNumber};

use super::acting::address_of;
use crate::{
    error::{Code, Error},
    failures::{
        JobOrder, JobProgress, JobRate, JobReport, JobState, NewResumeJob, Ramp, ResumeJob, Target,
        Targets, count,
    },
    jobs::{Job as _, Key, PAGE, page_len},
    namespaces::Namespace,
    running::Running,
    service::Engine,
    tally::Name,
};

impl Engine {
    /// Resumes many errors in the background, at a chosen pace. It goes on after a restart.
    pub async fn start_resume_job(
        &self,
        namespace: &str,
        new: NewResumeJob,
    ) -> Result<JobProgress, Error> {
        let namespace = self.namespace(namespace)?;
        new.check()?;
        let jobs = &self.shared().resume_jobs;
        let _turn = jobs.turn().await;
        let id = if new.id.is_empty() { self.shared().ids.id() } else { new.id.clone() };
        let key = (namespace.id.clone(), id.clone());
        if jobs.get(&key).is_some() {
            let message = format!("there is a resume job {id:?} already");
            return Err(Error::new(Code::AlreadyExists, message));
        }
        self.make_room(&namespace).await?;
        let states = [ErrorState::Parked, ErrorState::Failed];
        let filter = new.selection.clone().filter(&states)?;
        let total = match new.order {
            JobOrder::Oldest => self.write_targets(&key, filter, Order::Forward).await?,
            JobOrder::Newest => self.write_targets(&key, filter, Order::Backward).await?,
            JobOrder::Deadline | JobOrder::Priority => {
                self.write_urgent_first(&key, filter, new.order).await?
            }
        };
        let job = ResumeJob::of(&new, total, self.now().nanos());
        jobs.put(&**self.store(), key.clone(), job.clone()).await?;
        self.running.spawn(work(Arc::downgrade(&self.running), key, Duration::ZERO));
        Ok(job.progress(id))
    }

    /// Shows how a bulk resume goes.
    pub fn describe_resume_job(&self, namespace: &str, id: &str) -> Result<JobProgress, Error> {
        let namespace = self.namespace(namespace)?;
        Ok(self.resume_job(&namespace, id)?.1.progress(id.to_owned()))
    }

    /// Lists the bulk resumes of a namespace, the newest first.
    pub fn list_resume_jobs(&self, namespace: &str) -> Result<Vec<JobProgress>, Error> {
        let namespace = self.namespace(namespace)?;
        let all = self.shared().resume_jobs.of_namespace(&namespace.id);
        Ok(all.into_iter().map(|(id, job)| job.progress(id)).collect())
    }

    /// Holds a bulk resume, has it go on, changes its rate, or ends it.
    pub async fn change_resume_job(
        &self,
        namespace: &str,
        id: &str,
        state: Option<JobState>,
        rate: Option<JobRate>,
    ) -> Result<JobProgress, Error> {
        let namespace = self.namespace(namespace)?;
        let jobs = &self.shared().resume_jobs;
        let _turn = jobs.turn().await;
        let (key, mut job) = self.resume_job(&namespace, id)?;
        if let Some(rate) = rate {
            if let Some(fault) = rate.fault() {
                return Err(Error::invalid(fault));
            }
            (job.rate, job.is_auto) = (rate.first(), rate == JobRate::Auto);
        }
        if let Some(state) = state {
            if !job.is_running() {
                let message = format!("resume job {id:?} has ended");
                return Err(Error::new(Code::FailedPrecondition, message));
            }
            match state {
                JobState::Running | JobState::Paused => {}
                JobState::Stopped => job.closed_at = self.now().nanos(),
                JobState::Completed | JobState::TooManyFailures => {
                    return Err(Error::invalid("a job can be paused, running or stopped"));
                }
            }
            job.state = state.into();
        }
        jobs.put(&**self.store(), key, job.clone()).await?;
        self.shared().resume_jobs_changed.notify_waiters();
        Ok(job.progress(id.to_owned()))
    }

    /// Goes on with a bulk resume after a restart. Some may have had their turn just before it, so
    /// the first tick waits as long as one takes.
    pub(in crate::service) fn go_on_with_resume(&self, key: Key) {
        let Some(job) = self.shared().resume_jobs.get(&key) else { return };
        let first = tick_of(job.rate, turns_in_a_tick(job.rate));
        self.running.spawn(work(Arc::downgrade(&self.running), key, first));
    }

    fn resume_job(&self, namespace: &Namespace, id: &str) -> Result<(Key, ResumeJob), Error> {
        let key = (namespace.id.clone(), id.to_owned());
        let missing = || Error::not_found(format!("there is no resume job {id:?}"));
        let job = self.shared().resume_jobs.get(&key).ok_or_else(missing)?;
        Ok((key, job))
    }

    /// Forgets the oldest jobs that have ended, if there are many.
    async fn make_room(&self, namespace: &Namespace) -> Result<(), Error> {
        let jobs = &self.shared().resume_jobs;
        let ended =
            jobs.of_namespace(&namespace.id).into_iter().filter(|(_, job)| !job.is_running());
        for (id, _) in ended.skip(JOBS_MAX) {
            jobs.remove(&**self.store(), &(namespace.id.clone(), id)).await?;
        }
        Ok(())
    }

    /// Writes down which errors a job is for. How many they are.
    async fn write_targets(
        &self,
        key: &Key,
        filter: ErrorFilter,
        order: Order,
    ) -> Result<u64, Error> {
        let (mut total, mut number, mut after) = (0, 0, None);
        loop {
            let (id, filter) = (key.0.clone(), filter.clone());
            let listing = self.store().errors(id, filter, order, after, page_len()).await?;
            let all: Vec<Target> = listing.errors.iter().map(target).collect();
            total += u64::try_from(all.len()).unwrap_or(u64::MAX);
            let jobs = &self.shared().resume_jobs;
            jobs.put_page(&**self.store(), key, number, Some(&Targets { all })).await?;
            number += 1;
            after = listing.next;
            if after.is_none() {
                return Ok(total);
            }
        }
    }

    /// As [`write_targets`](Self::write_targets), the most urgent first. How urgent an error is is
    /// known to its run only, so that each is looked at once.
    async fn write_urgent_first(
        &self,
        key: &Key,
        filter: ErrorFilter,
        order: JobOrder,
    ) -> Result<u64, Error> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let (id, filter) = (key.0.clone(), filter.clone());
            let listing =
                self.store().errors(id, filter, Order::Forward, after, page_len()).await?;
            all.append(&mut self.ranked(listing.errors, order).await);
            after = listing.next;
            if after.is_none() {
                break;
            }
        }
        // The oldest of those that are equal stay first.
        all.sort_by_key(|(rank, _)| *rank);
        let all: Vec<Target> = all.into_iter().map(|(_, target)| target).collect();
        let jobs = &self.shared().resume_jobs;
        for (number, some) in (0..).zip(all.chunks(page_len())) {
            let some = Targets { all: some.to_vec() };
            jobs.put_page(&**self.store(), key, number, Some(&some)).await?;
        }
        Ok(u64::try_from(all.len()).unwrap_or(u64::MAX))
    }

    /// Errors with their ranks, in the order in which they were. One that is gone has no rank.
    async fn ranked(&self, errors: Vec<ErrorEntry>, order: JobOrder) -> Vec<(i64, Target)> {
        let mut looks = tokio::task::JoinSet::new();
        for (place, entry) in errors.into_iter().enumerate() {
            let engine = self.clone();
            looks.spawn(async move {
                let subject = entry.subject;
                let look = engine.look(address_of(&entry), move |_, run| run.urgency(subject));
                let rank = look.await.map_or(i64::MAX, |urgency| rank(urgency, order));
                (place, rank, target(&entry))
            });
        }
        let mut ranked: Vec<(usize, i64, Target)> = looks.join_all().await;
        ranked.sort_by_key(|(place, _, _)| *place);
        ranked.into_iter().map(|(_, rank, target)| (rank, target)).collect()
    }

    /// One tick of a job. How long to wait before the next; `None` when it has ended.
    async fn tick_resume(&self, key: &Key, pace: &mut Pace) -> Result<Option<Duration>, Error> {
        let jobs = &self.shared().resume_jobs;
        let Some(job) = jobs.get(key) else { return Ok(None) };
        let namespace = self.shared().namespaces.with_id(&key.0)?;
        if !job.is_running() || namespace.is_deleted() {
            jobs.forget_pages(&**self.store(), key, &job).await?;
            return Ok(None);
        }
        if job.state() == JobState::Paused {
            return Ok(Some(IDLE));
        }
        let seen = if pace.must_look(&job, self.now()) {
            self.settle(key, &job).await?
        } else {
            Settled::of(&job)
        };
        let job = self.paced(key, job, &seen, pace).await?;
        if seen.share() > job.max_failures {
            self.record_resume(key, &seen, 0, Vec::new(), Some(JobState::TooManyFailures)).await?;
            return Ok(Some(Duration::ZERO));
        }
        if job.turns >= job.total && seen.prefix >= job.total {
            self.record_resume(key, &seen, 0, Vec::new(), Some(JobState::Completed)).await?;
            return Ok(Some(Duration::ZERO));
        }
        let gate = ResumeJob { settled: seen.prefix, ..job.clone() }.gate();
        let due = (turns_in_a_tick(job.rate)).min(gate.saturating_sub(job.turns));
        self.begin_turns(key, job.turns + due).await?;
        let refused = self.turns_of_resume(key, &job, &namespace, due).await?;
        self.record_resume(key, &seen, due, refused, None).await?;
        let tick = if due == 0 { IDLE } else { tick_of(job.rate, due) };
        Ok(Some(pace.wait(tick, self.now())))
    }

    /// The job at the rate that it finds to be right, if it does.
    async fn paced(
        &self,
        key: &Key,
        job: ResumeJob,
        seen: &Settled,
        pace: &mut Pace,
    ) -> Result<ResumeJob, Error> {
        if !job.is_auto {
            pace.ramp = None;
            return Ok(job);
        }
        let (now, known) = (self.now(), seen.known());
        let ramp = pace.ramp.get_or_insert_with(|| Ramp::new(now, known));
        ramp.look(now, known);
        let rate = ramp.rate();
        if job.rate.total_cmp(&rate).is_eq() {
            return Ok(job);
        }
        let jobs = &self.shared().resume_jobs;
        let _turn = jobs.turn().await;
        let Some(mut kept) = jobs.get(key).filter(|it| it.is_auto) else { return Ok(job) };
        kept.rate = rate;
        jobs.put(&**self.store(), key.clone(), kept.clone()).await?;
        Ok(kept)
    }

    /// Keeps that errors up to the `end`th may have had their turn from now on.
    async fn begin_turns(&self, key: &Key, end: u64) -> Result<(), Error> {
        let jobs = &self.shared().resume_jobs;
        let _turn = jobs.turn().await;
        let Some(mut job) = jobs.get(key).filter(|it| it.begun < end) else { return Ok(()) };
        job.begun = end;
        jobs.put(&**self.store(), key.clone(), job).await
    }

    /// The next `count` errors have their turn, all at once. Why some could not be resumed.
    async fn turns_of_resume(
        &self,
        key: &Key,
        job: &ResumeJob,
        namespace: &Arc<Namespace>,
        count: u64,
    ) -> Result<Vec<String>, Error> {
        let targets = self.targets(key, job.turns, count).await?;
        let ids = targets.iter().map(|it| (RunNumber(it.run), it.subject)).collect();
        let entries = self.store().errors_by_id(ids).await?;
        let mut refused = vec![GONE.to_owned(); gone(job, &targets, &entries)];
        let resume = Arc::new(job.resume(&key.1));
        let mut turns = tokio::task::JoinSet::new();
        for entry in entries {
            let (engine, namespace, resume) =
                (self.clone(), Arc::clone(namespace), Arc::clone(&resume));
            turns.spawn(async move {
                let outcome = engine.resume_one(&namespace, &entry, &resume).await;
                (entry, outcome)
            });
        }
        let tally = &self.shared().tally;
        while let Some(turn) = turns.join_next().await {
            match turn {
                Ok((_, Ok(_))) => tally.add_one(Name::ResumeItems, [&key.1, "resumed"]),
                Ok((_, Err(error))) if error.code.is_passing() => return Err(error),
                Ok((entry, Err(error))) => {
                    refused.push(error.message.clone());
                    tally.add_one(Name::ResumeItems, [&key.1, "refused"]);
                    let workflow = &entry.identity.workflow_id;
                    tracing::info!(%error, job = key.1, workflow, "not resumed");
                }
                Err(error) => return Err(Error::new(Code::Internal, error.to_string())),
            }
        }
        Ok(refused)
    }

    /// What has become of the errors that had their turn.
    async fn settle(&self, key: &Key, job: &ResumeJob) -> Result<Settled, Error> {
        let mut seen = Settled::of(job);
        let mut is_prefix = true;
        let window = job.turns.saturating_sub(job.settled).min(PAGE);
        let targets = self.targets(key, job.settled, window).await?;
        let ids = targets.iter().map(|it| (RunNumber(it.run), it.subject)).collect();
        let entries = self.store().errors_by_id(ids).await?;
        let by_id: BTreeMap<(i64, i64), &ErrorEntry> =
            entries.iter().map(|it| ((it.run.0, it.subject), it)).collect();
        for target in &targets {
            let entry = by_id.get(&(target.run, target.subject)).copied();
            let fate = fate(target, entry);
            is_prefix &= fate.is_some();
            seen.count(fate, is_prefix);
            if let Some(entry) = entry.filter(|_| is_prefix && fate == Some(Fate::FailedAgain)) {
                seen.failures.push((entry.row.error_type.clone(), entry.row.cause.clone()));
            }
        }
        Ok(seen)
    }

    /// Some of the errors that a job is for.
    async fn targets(&self, key: &Key, first: u64, count: u64) -> Result<Vec<Target>, Error> {
        let mut found = Vec::new();
        let (mut at, end) = (first, first.saturating_add(count));
        while at < end {
            let jobs = &self.shared().resume_jobs;
            let page: Targets = jobs.page(&**self.store(), key, at / PAGE).await?;
            let next = (at / PAGE + 1) * PAGE;
            let skip = usize::try_from(at % PAGE).unwrap_or_default();
            let take = usize::try_from(next.min(end) - at).unwrap_or_default();
            found.extend(page.all.into_iter().skip(skip).take(take));
            at = next;
        }
        Ok(found)
    }

    /// Keeps how far a job is, if it was not ended meanwhile.
    async fn record_resume(
        &self,
        key: &Key,
        seen: &Settled,
        turns: u64,
        refused: Vec<String>,
        end: Option<JobState>,
    ) -> Result<(), Error> {
        let jobs = &self.shared().resume_jobs;
        let _turn = jobs.turn().await;
        let Some(mut job) = jobs.get(key) else { return Ok(()) };
        let before = job.clone();
        job.turns += turns;
        job.refused += u64::try_from(refused.len()).unwrap_or(u64::MAX);
        for why in &refused {
            JobReport::count(&mut job.refusals, "", why);
        }
        if seen.prefix > job.settled {
            for (kind, cause) in &seen.failures {
                JobReport::count(&mut job.failures, kind, cause);
            }
        }
        (job.settled, job.succeeded, job.failed) = (seen.prefix, seen.succeeded, seen.failed);
        if let Some(end) = end.filter(|_| job.is_running()) {
            job.state = end.into();
            job.closed_at = self.now().nanos();
        }
        if job == before {
            return Ok(());
        }
        jobs.put(&**self.store(), key.clone(), job).await
    }
}

/// When a job has its next tick, and when it was looked what became of the last ones.
struct Pace {
    next: Timestamp,
    looked_at: Option<Timestamp>,
    /// What finds out the rate, if nobody has said it.
    ramp: Option<Ramp>,
}

impl Pace {
    /// Looking is for once a second, or when there is nothing else to do.
    fn must_look(&mut self, job: &ResumeJob, now: Timestamp) -> bool {
        let is_idle = job.turns >= job.gate();
        let must = is_idle || self.looked_at.is_none_or(|at| now.since(at) >= IDLE);
        if must {
            self.looked_at = Some(now);
        }
        must
    }

    /// How long to wait. A tick that took long shortens the wait after it, so that the rate is
    /// kept; what was lost to more than one tick is not caught up.
    fn wait(&mut self, tick: Duration, now: Timestamp) -> Duration {
        let earliest = Timestamp(now.nanos().saturating_sub(nanos(tick)));
        self.next = self.next.max(earliest).after(tick);
        self.next.since(now)
    }
}

fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// What is known of the errors that had their turn.
struct Settled {
    /// From the first on, without a gap.
    prefix: u64,
    succeeded: u64,
    failed: u64,
    /// Beyond the first gap.
    later: (u64, u64),
    /// Of what those before it have failed again, as far as that is not recorded.
    failures: Vec<(String, String)>,
}

impl Settled {
    fn of(job: &ResumeJob) -> Self {
        Self {
            prefix: job.settled,
            succeeded: job.succeeded,
            failed: job.failed,
            later: (0, 0),
            failures: Vec::new(),
        }
    }

    fn count(&mut self, fate: Option<Fate>, is_prefix: bool) {
        let Some(fate) = fate else { return };
        match (fate, is_prefix) {
            (Fate::Succeeded, true) => self.succeeded += 1,
            (Fate::FailedAgain, true) => self.failed += 1,
            (Fate::Succeeded, false) => self.later.0 += 1,
            (Fate::FailedAgain, false) => self.later.1 += 1,
            (Fate::Refused, _) => {}
        }
        self.prefix += u64::from(is_prefix);
    }

    /// How many are known to have succeeded, and to have failed again.
    fn known(&self) -> (u64, u64) {
        (self.succeeded + self.later.0, self.failed + self.later.1)
    }

    /// The share of those of which it is known that have failed again.
    fn share(&self) -> f64 {
        let (succeeded, failed) = self.known();
        let known = succeeded + failed;
        if known == 0 { 0.0 } else { count(failed) / count(known) }
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Fate {
    Succeeded,
    FailedAgain,
    /// It could not be resumed, or somebody has parked it again before it was tried.
    Refused,
}

/// What has become of an error since it was resumed; `None` while that is open.
fn fate(target: &Target, entry: Option<&ErrorEntry>) -> Option<Fate> {
    let Some(entry) = entry else { return Some(Fate::Succeeded) };
    let was_tried = entry.row.attempts > target.attempts;
    match entry.row.state {
        ErrorState::Parked | ErrorState::Dead if was_tried => Some(Fate::FailedAgain),
        ErrorState::Parked | ErrorState::Failed | ErrorState::Dead => Some(Fate::Refused),
        ErrorState::Retrying => None,
    }
}

/// How many errors were gone before their turn. One that may have had its turn before, of which nobody
/// heard, is gone because of it.
fn gone(job: &ResumeJob, targets: &[Target], entries: &[ErrorEntry]) -> usize {
    let begun = usize::try_from(job.begun.saturating_sub(job.turns)).unwrap_or(usize::MAX);
    let found: BTreeSet<(i64, i64)> = entries.iter().map(|it| (it.run.0, it.subject)).collect();
    let new = targets.iter().skip(begun);
    new.filter(|target| !found.contains(&(target.run, target.subject))).count()
}

/// A lower number goes first.
fn rank(urgency: Urgency, order: JobOrder) -> i64 {
    match order {
        JobOrder::Deadline => urgency.deadline.map_or(i64::MAX, Timestamp::nanos),
        JobOrder::Priority => urgency.priority.map_or(PRIORITY, i64::from),
        JobOrder::Oldest | JobOrder::Newest => 0,
    }
}

fn target(entry: &ErrorEntry) -> Target {
    Target { run: entry.run.0, subject: entry.subject, attempts: entry.row.attempts }
}

async fn work(running: Weak<Running>, key: Key, first: Duration) {
    let Some(clock) = running.upgrade().map(|it| Arc::clone(&it.shared.clock)) else { return };
    clock.sleep(first).await;
    let mut pace = Pace { next: clock.now(), looked_at: None, ramp: None };
    loop {
        let Some(engine) = Engine::upgrade(&running) else { return };
        let next = engine.tick_resume(&key, &mut pace).await;
        let shared = Arc::clone(engine.shared());
        drop(engine);
        let wait = match next {
            Ok(Some(wait)) => wait,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, job = key.1, "a resume job could not go on; trying again");
                shared.limits.commit_retry.1
            }
        };
        // What waits for its next tick keeps its pace, whatever is changed of other jobs.
        tokio::select! {
            () = shared.clock.sleep(wait) => {}
            () = shared.resume_jobs_changed.notified(), if wait >= IDLE => {}
        }
    }
}

/// Why an error that is not there any more could not be resumed.
const GONE: &str = "it had gone on, or was gone";

/// How many have their turn in one tick, so that no second sees more than the rate.
fn turns_in_a_tick(rate: f64) -> u64 {
    let each = tick_of(rate, 1).as_nanos().max(1);
    u64::try_from(TICK.as_nanos() / each).unwrap_or(u64::MAX).max(1)
}

/// How long so many turns take at the rate.
fn tick_of(rate: f64, turns: u64) -> Duration {
    Duration::try_from_secs_f64(count(turns) / rate).unwrap_or(Duration::MAX)
}

/// How urgent is what does not say: as for workers, in the middle of the five that there are.
const PRIORITY: i64 = 3;

const TICK: Duration = Duration::from_millis(100);

/// How often it is looked what became of those that had their turn, while no other has.
const IDLE: Duration = Duration::from_secs(1);

/// Ended jobs that are remembered.
const JOBS_MAX: usize = 50;
