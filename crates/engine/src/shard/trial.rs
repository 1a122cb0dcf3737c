//! A trial: what a run becomes if an aside of its caller can be written together with it.
//!
//! ```text
//!   job ──▶ a copy of the run takes the input ──▶ write and aside ──▶ committer
//!                 │                                                      │
//!                 │ other jobs for the run wait         written: the copy takes the run's place,
//!                 ▼                                              and its effects are carried out
//!           then they are done  ◀─────────────────────── failed: the copy is dropped
//! ```
//!
//! An aside may fail as a matter of course, so nothing is to be undone then: nobody has seen the
//! copy, and the run is what it was.

use std::{collections::VecDeque, sync::Arc};

use steadfast_core::{Context, Input, Refused, Run, Transition, Unknown};
use steadfast_store::{Aside, RunNumber, RunWrite};

use super::{Address, Desk, Job, Mail, Shard, Wishes, desk::write_changes, outbox::RecoverJob};
use crate::{error::Error, waking::Woken};

/// What a run may become, and the jobs that wait to know it.
pub(super) struct Trial {
    run: Run,
    woken: Woken,
    transition: Transition,
    pub(super) waiting: VecDeque<Box<dyn Job>>,
}

impl Shard {
    /// Does a job for a run that was found, once it is known what the run is.
    pub(super) fn perform_when_settled(&mut self, job: Box<dyn Job>, number: RunNumber) {
        match self.trials.get_mut(&number) {
            Some(trial) => trial.waiting.push_back(job),
            None => self.perform(job, Some(number)),
        }
    }

    /// It is known what the run is.
    pub(super) fn end_trial(&mut self, number: RunNumber, succeeded: bool) {
        let Some(trial) = self.trials.remove(&number) else { return };
        let Trial { run, woken, transition, waiting } = trial;
        if succeeded && self.cache.get(number).is_some() {
            let address = Address::Number(number);
            let job = SettleJob { address, settled: Some((run, woken, transition)) };
            self.perform(Box::new(job), Some(number));
        } else if succeeded {
            // It was let go of: whoever reads it reads what it has become.
            self.let_ask_again(number);
            self.dispatch(Box::new(RecoverJob::new(number)));
        }
        for job in waiting {
            self.dispatch(job);
        }
    }

    /// Those who wait for the next event of a run ask again, because it has come unseen. It has not
    /// closed the run, nor had it to do with an update.
    fn let_ask_again(&mut self, number: RunNumber) {
        drop(self.watchers.take(number, |it| !it.close_only));
    }
}

impl Desk<'_> {
    /// Gives a run an input whose outcome is to be durable together with `aside`, or not at all.
    pub(crate) fn try_with(
        &mut self,
        number: RunNumber,
        input: Input,
        aside: &Arc<Aside>,
    ) -> Result<(), Refused> {
        self.hand_in_before(number);
        let now = self.now();
        let entropy = self.shard.shared.ids.entropy();
        let work = self.shard.next_work;
        let Some(entry) = self.shard.cache.get_mut(number) else { return Err(Refused::WrongRun) };
        let mut run = entry.run.clone();
        let limits = Arc::clone(&entry.limits);
        let rules = entry.rules(&self.shard.shared.namespaces);
        let context = Context { now, entropy, limits: &limits, rules: &rules, company: &Unknown };
        let mut transition = run.apply(input, context)?;
        if let Some(refused) = transition.refused.take() {
            return Err(refused);
        }
        if !run.is_open() {
            // It has grown too long, and would end with this.
            return Err(Refused::Closed);
        }
        entry.last_work = work;
        let shard = self.shard.number;
        let aside = Some(Arc::clone(aside));
        let woken = entry.woken.next(&run, now);
        let mut write = RunWrite {
            run: number,
            shard,
            woken_by: Some(entry.woken.by),
            aside: aside.clone(),
            ..RunWrite::default()
        };
        write_changes(self.shared(), &mut run, woken.by, &mut transition, &mut write);
        self.aside = aside;
        self.put(write);
        self.shard
            .trials
            .insert(number, Trial { run, woken, transition, waiting: VecDeque::new() });
        let shared = Arc::clone(self.shared());
        self.release(move || shared.mail(shard, Mail::Settled(number)));
        Ok(())
    }

    /// What other jobs have done with a run until now must not depend on the aside: it is handed in
    /// before.
    fn hand_in_before(&mut self, number: RunNumber) {
        if self.shard.writes.iter().any(|write| write.run == number) {
            self.shard.submit();
            self.earlier = 0;
        }
    }

    /// Puts what a run has become in its place.
    fn settle(&mut self, number: RunNumber, run: Run, woken: Woken, transition: Transition) {
        self.touch(number);
        let Some(entry) = self.entry(number) else { return };
        let due = entry.woken.by.due;
        // It may have been let go of and read again meanwhile; then it has its events.
        let is_news = entry.run.last_event_id() < run.last_event_id();
        entry.run = run;
        entry.woken = woken;
        let events = if is_news { transition.events.into_events() } else { Vec::new() };
        self.note(number, events, due);
        if !is_news {
            self.shard.let_ask_again(number);
        }
        for effect in transition.effects {
            self.carry_out(number, effect, &mut Wishes::default());
        }
    }
}

/// What a run was to become is durable.
struct SettleJob {
    address: Address,
    settled: Option<(Run, Woken, Transition)>,
}

impl Job for SettleJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        if let (Some(number), Some((run, woken, transition))) = (found, self.settled.take()) {
            desk.settle(number, run, woken, transition);
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "a run could not be gone on with");
    }
}
