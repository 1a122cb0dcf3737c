//! Schedules at the desk: inputs go to them, and the letters that come of it to workflows.
//!
//! ```text
//!   schedule: starting (durable) ──▶ letter to the workflow's shard ──▶ run created (durable)
//!      ▲                                                                  │
//!      ├────────── started, taken by the schedule (durable) ◀─────────────┤
//!      └────────── closed, taken by the schedule (durable) ◀── … ◀────────┘
//! ```
//!
//! As with runs, a letter leaves when what it is about is durable, and is sent again by a schedule
//! that is brought back. Its request id makes it count once.

use std::{collections::BTreeSet, sync::Arc};

use steadfast_core::{
    CancelRequest, Identity, Input as RunInput, Start, Started, Target, Terminate, Timestamp,
    schedule::{Closed, Closing, Input, Pending, Refused, Schedule},
};
use steadfast_proto::{
    enums::{WorkflowIdConflictPolicy as Conflict, WorkflowIdReusePolicy as Reuse},
    sdk,
};
use steadfast_store::{RunNumber, RunWrite};

use super::{
    Shard, Shared,
    desk::{Desk, Wishes},
    job::{Address, Job},
    mail::Mail,
    outbox,
};
use crate::{
    error::{Code, Error},
    namespaces::Namespace,
    schedules::{self, Entry, Name},
    start::{self, Plan, StartPolicy},
};

/// A schedule with those who wait until it has heard of its starts.
pub(crate) type ScheduleEntry = Entry<Box<dyn Job>>;

/// Where a schedule is.
pub(crate) fn address(namespace_id: &str, schedule_id: &str) -> Address {
    Address::of(schedules::space(namespace_id), schedule_id, "")
}

impl Shard {
    /// What a job is for, if it is in memory.
    pub(super) fn find(&self, address: &Address) -> Option<RunNumber> {
        let schedule = match address {
            Address::Number(number) => self.schedules.contains(*number).then_some(*number),
            Address::Current { namespace_id, workflow_id } => {
                self.schedules.named(namespace_id, workflow_id)
            }
            Address::Run { .. } => None,
        };
        schedule.or_else(|| self.cache.find(address))
    }

    /// Schedules that sleep need not be in memory. One that is being read meanwhile must not be
    /// taken for what it was before its last change.
    pub(super) fn evict_schedules(&mut self) {
        let (entries_max, bytes_max) = self.schedules_max;
        for (number, work) in self.schedules.evict(entries_max, bytes_max, self.durable.get()) {
            self.quarantined.insert(number, work);
        }
    }
}

impl Desk<'_> {
    /// A schedule that was found.
    pub(crate) fn schedule(&self, number: RunNumber) -> Option<&ScheduleEntry> {
        self.shard.schedules.get(number)
    }

    /// Does a job once a schedule has heard of all the starts that are on their way.
    pub(crate) fn wait_for_starts(&mut self, number: RunNumber, job: Box<dyn Job>) {
        match self.shard.schedules.get_mut(number) {
            Some(entry) => entry.waiting.push(job),
            None => job.fail(Error::unavailable("the schedule is gone; try again")),
        }
    }

    /// Takes in a schedule that was just made.
    pub(crate) fn create_schedule(&mut self, name: Name, schedule: Schedule) {
        let number = self.shard.shared.numbers.next();
        let create = Some(Box::new(name.identity()));
        self.shard.schedules.insert(number, Entry::new(name, schedule, 0));
        self.write_schedule(number, RunWrite { create, ..RunWrite::default() });
        self.send_new(number, &BTreeSet::new());
    }

    /// Lets something happen to a schedule.
    pub(crate) fn apply_schedule(
        &mut self,
        number: RunNumber,
        input: Input,
    ) -> Result<(), Refused> {
        let now = self.now();
        let Some(entry) = self.shard.schedules.get_mut(number) else { return Ok(()) };
        let sent = letters(&entry.schedule);
        let due = entry.schedule.next_due();
        let before = entry.schedule.state().clone();
        entry.schedule.apply(input, &entry.name.schedule_id, now)?;
        self.touch(number);
        self.shard.due.set(number, due, None);
        let Some(entry) = self.shard.schedules.get(number) else { return Ok(()) };
        if *entry.schedule.state() == before {
            self.shard.due.set(number, None, due);
            return Ok(());
        }
        self.write_schedule(number, RunWrite::default());
        self.send_new(number, &sent);
        self.wake_waiting(number);
        Ok(())
    }

    /// Time passed for a schedule.
    pub(super) fn tick_schedule(&mut self, number: RunNumber) {
        let now = self.now();
        if self.schedule(number).is_some_and(|entry| entry.schedule.is_over(now)) {
            self.delete_schedule(number);
            return;
        }
        // It refuses nothing about time passing.
        let _ = self.apply_schedule(number, Input::Tick);
    }

    /// Tells a schedule of a run that closed, if it is still the one that started it.
    pub(super) fn tell_schedule(&mut self, number: RunNumber, incarnation: &str, closed: Closed) {
        if self.schedule(number).is_some_and(|entry| entry.name.incarnation == incarnation) {
            // Nor about runs.
            let _ = self.apply_schedule(number, Input::Closed(Box::new(closed)));
        }
    }

    /// Sends all that a schedule has on its way again.
    pub(super) fn send_for_schedule(&mut self, number: RunNumber) {
        self.send_new(number, &BTreeSet::new());
    }

    /// Deletes a schedule. What it started goes on.
    pub(crate) fn delete_schedule(&mut self, number: RunNumber) {
        let Some(entry) = self.shard.schedules.remove(number) else { return };
        self.touch(number);
        self.shard.due.set(number, entry.schedule.next_due(), None);
        let shard = self.shard.number;
        self.put(RunWrite { run: number, shard, delete: true, ..RunWrite::default() });
        // Until the deletion is durable the store would still find it.
        self.shard.quarantined.insert(number, self.shard.next_work);
        self.send_back(entry.waiting);
    }

    fn write_schedule(&mut self, number: RunNumber, mut write: RunWrite) {
        let work = self.shard.next_work;
        let Some(entry) = self.shard.schedules.get_mut(number) else { return };
        entry.last_work = work;
        write.run = number;
        write.shard = self.shard.number;
        let namespace = self.shard.shared.namespaces.with_id(&entry.name.namespace_id);
        schedules::write(entry, namespace.ok().as_deref(), &mut write);
        let due = entry.schedule.next_due();
        self.shard.due.set(number, None, due);
        self.touch(number);
        self.shard.schedules.wrote(number, write.bytes());
        self.put(write);
    }

    /// Those who waited come again, if the wait is over.
    fn wake_waiting(&mut self, number: RunNumber) {
        let Some(entry) = self.shard.schedules.get_mut(number) else { return };
        if entry.schedule.is_starting() {
            return;
        }
        let waiting = std::mem::take(&mut entry.waiting);
        self.send_back(waiting);
    }

    fn send_back(&mut self, jobs: Vec<Box<dyn Job>>) {
        for job in jobs {
            let shared = Arc::clone(self.shared());
            self.release(move || outbox::deliver(&shared, job));
        }
    }

    /// Sends what is on its way, but for what was sent.
    fn send_new(&mut self, number: RunNumber, sent: &BTreeSet<String>) {
        let Some(entry) = self.schedule(number) else { return };
        let sender =
            Sender { shared: Arc::clone(&self.shard.shared), name: entry.name.clone(), number };
        let namespace = self.shard.shared.namespaces.with_id(&sender.name.namespace_id).ok();
        let state = entry.schedule.state();
        let starts = state.starting.iter().filter(|it| !sent.contains(&it.request_id));
        let starts: Vec<StartJob> = starts
            .map(|it| StartJob::new(&sender, namespace.clone(), &entry.schedule, it))
            .collect();
        let closings =
            state.closing.iter().filter(|it| !it.heard && !sent.contains(&it.request_id));
        let closings: Vec<MakeRoomJob> =
            closings.map(|it| MakeRoomJob::new(&sender, namespace.as_deref(), it)).collect();
        for job in starts {
            outbox::post(self, job);
        }
        for job in closings {
            outbox::post(self, job);
        }
    }
}

/// The request ids of all that is on its way.
fn letters(schedule: &Schedule) -> BTreeSet<String> {
    let state = schedule.state();
    let starts = state.starting.iter().map(|it| &it.request_id);
    let closings = state.closing.iter().filter(|it| !it.heard).map(|it| &it.request_id);
    starts.chain(closings).cloned().collect()
}

/// The schedule that sent a letter, where its answer goes.
#[derive(Clone, Debug)]
struct Sender {
    shared: Arc<Shared>,
    name: Name,
    number: RunNumber,
}

impl Sender {
    /// Sends an answer once what was done here is durable.
    fn answer(self, desk: &mut Desk<'_>, input: Input) {
        desk.release(move || self.answer_now(input));
    }

    fn answer_now(&self, input: Input) {
        let space = schedules::space(&self.name.namespace_id);
        if let Some(mailbox) = self.shared.mailbox_of(&space, &self.name.schedule_id) {
            let address = Address::Number(self.number);
            mailbox.send(Mail::Job(Box::new(AnswerJob { address, input })));
        }
    }
}

/// A schedule hears what became of a letter.
struct AnswerJob {
    address: Address,
    input: Input,
}

impl Job for AnswerJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        if let Some(number) = found {
            // It may be too late for it, which is fine.
            let _ = desk.apply_schedule(number, self.input);
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "an answer to a schedule was lost");
    }
}

type FirstEvent = Box<dyn FnOnce(&str, Timestamp) -> Started + Send>;

/// A schedule starts a workflow.
struct StartJob {
    address: Address,
    sender: Sender,
    namespace: Option<Arc<Namespace>>,
    pending: Pending,
    keeps_id: bool,
    started: Option<FirstEvent>,
    user_metadata: Option<sdk::UserMetadata>,
}

impl StartJob {
    fn new(
        sender: &Sender,
        namespace: Option<Arc<Namespace>>,
        schedule: &Schedule,
        pending: &Pending,
    ) -> Self {
        let started = namespace.as_ref().map(|namespace| -> FirstEvent {
            let id = &sender.name.schedule_id;
            Box::new(schedules::started(namespace, id, schedule, pending))
        });
        let policies = schedule.state().schedule.as_ref().and_then(|it| it.policies);
        Self {
            address: Address::of(&sender.name.namespace_id, &pending.workflow_id, ""),
            sender: sender.clone(),
            namespace,
            pending: pending.clone(),
            keeps_id: policies.is_some_and(|it| it.keep_original_workflow_id),
            started,
            user_metadata: schedule.action().and_then(|action| action.user_metadata.clone()),
        }
    }

    /// The run that came of it, be it new or started before.
    fn start(&mut self, desk: &mut Desk<'_>, found: Option<RunNumber>) -> Option<String> {
        let namespace = self.namespace.clone().filter(|it| !it.is_deleted())?;
        // A time of the schedule comes once; what somebody asks for may come again.
        let again = self.pending.manual || self.keeps_id;
        let reuse = if again { Reuse::AllowDuplicate } else { Reuse::RejectDuplicate };
        let policy = StartPolicy::of_start(reuse, Conflict::Fail).ok()?;
        let current = found.and_then(|number| desk.run(number));
        match start::plan(current, policy, &self.pending.request_id) {
            Plan::Existing { run_id, .. } => return Some(run_id),
            Plan::Refuse(error) => {
                tracing::warn!(%error, schedule = ?self.sender.name, "a scheduled start is refused");
                return None;
            }
            Plan::Create | Plan::Replace => {}
        }
        let now = desk.now();
        let run_id = desk.shared().ids.entropy().run_id(now);
        let start = Start {
            identity: Identity {
                namespace_id: namespace.id.clone(),
                namespace: namespace.name.clone(),
                workflow_id: self.pending.workflow_id.clone(),
                run_id: run_id.clone(),
            },
            started: self.started.take()?(&run_id, now),
            user_metadata: self.user_metadata.take(),
            links: Vec::new(),
            request_id: self.pending.request_id.clone(),
            signal: None,
            cadence: None,
            scheduled_by: Some(Target {
                namespace_id: self.sender.name.namespace_id.clone(),
                workflow_id: self.sender.name.schedule_id.clone(),
                run_id: self.sender.name.incarnation.clone(),
                first_run_id: String::new(),
            }),
        };
        desk.create(&namespace, start, &mut Wishes::default());
        Some(run_id)
    }
}

impl Job for StartJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn creates(&self) -> bool {
        true
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(mut self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let request_id = self.pending.request_id.clone();
        let answer = match self.start(desk, found) {
            Some(run_id) => Input::Started { request_id, run_id },
            None => Input::NotStarted { request_id },
        };
        self.sender.answer(desk, answer);
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "a scheduled start could not be made");
        // When the engine stops, the letter is sent again at the next start. Otherwise there is a
        // run with this id that cannot be read, and the schedule must not wait for ever.
        if error.code != Code::Unavailable {
            let request_id = self.pending.request_id.clone();
            self.sender.answer_now(Input::NotStarted { request_id });
        }
    }
}

/// A schedule wants a run to make room for the next one.
struct MakeRoomJob {
    address: Address,
    sender: Sender,
    /// The first run of the chain that is meant.
    chain: String,
    request_id: String,
    input: RunInput,
}

impl MakeRoomJob {
    fn new(sender: &Sender, namespace: Option<&Namespace>, closing: &Closing) -> Self {
        let execution = closing.execution.clone().unwrap_or_default();
        let id = &sender.name.schedule_id;
        let identity = namespace.map(|it| schedules::identity(it, id)).unwrap_or_default();
        let input = if closing.terminate {
            let reason = "terminated by schedule overlap policy".to_owned();
            RunInput::Terminate(Terminate { reason, identity, ..Terminate::default() })
        } else {
            let reason = "cancelled by schedule overlap policy".to_owned();
            RunInput::RequestCancel(CancelRequest { reason, identity, ..CancelRequest::default() })
        };
        Self {
            address: Address::of(&sender.name.namespace_id, &execution.workflow_id, ""),
            sender: sender.clone(),
            chain: execution.run_id,
            request_id: closing.request_id.clone(),
            input,
        }
    }
}

impl Job for MakeRoomJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let is_meant = |number: &RunNumber| {
            desk.run(*number).is_some_and(|run| run.first_run_id() == self.chain)
        };
        if let Some(number) = found.filter(is_meant) {
            // One that has closed tells so itself.
            let _ = desk.apply(number, self.input);
        }
        let found = found.is_some();
        self.sender.answer(desk, Input::Heard { request_id: self.request_id, found });
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::error!(%error, address = ?self.address, "a run could not be asked to make room");
        if error.code != Code::Unavailable {
            let request_id = self.request_id.clone();
            self.sender.answer_now(Input::Heard { request_id, found: true });
        }
    }
}
