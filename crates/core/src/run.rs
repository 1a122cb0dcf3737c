//! One run: its names, its first event, its state and what it waits for.
//!
//! What may happen to it is in [`apply`](crate::apply); what each event means for it in
//! [`fold`](crate::fold).

use std::{collections::BTreeMap, sync::Arc};

use steadfast_proto::{common, enums, history, sdk, taskqueue};
use steadfast_retry::Timestamp;

use crate::{
    deadline::{Deadline, Deadlines},
    parked::DeadLetter,
    ready::Ready,
    span::{from_wire, kept},
    state::{
        Activity, Child, External, Message, Request, Started, State, Timer, Update, WorkflowTask,
    },
    table::Table,
    trouble::{self, RUN, RunError, TASK},
};

/// The names of a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Identity {
    /// The namespace's id.
    pub namespace_id: String,
    /// The namespace's name.
    pub namespace: String,
    /// The id that the user gave.
    pub workflow_id: String,
    /// The id of this run of it.
    pub run_id: String,
}

/// One run.
#[derive(Clone, Debug, Default)]
pub struct Run {
    pub(crate) identity: Identity,
    pub(crate) started: Arc<Started>,
    /// What the starter wrote about it, as its first event has it.
    pub(crate) user_metadata: Option<Arc<sdk::UserMetadata>>,
    pub(crate) state: State,
    /// Those that are pending; of a closed run those that it left behind, which are shown and
    /// nothing else.
    pub(crate) activities: Table<i64, Activity>,
    pub(crate) timers: Table<i64, Timer>,
    /// As with the activities.
    pub(crate) children: Table<i64, Child>,
    pub(crate) externals: Table<i64, External>,
    pub(crate) updates: Table<String, Update>,
    /// The updates that are not completed, in the order in which they came. Not stored: it can be
    /// told from the updates.
    pub(crate) in_flight: Table<u64, String>,
    pub(crate) requests: Table<String, Request>,
    pub(crate) buffer: Table<u64, history::HistoryEvent>,
    pub(crate) messages: Table<u64, Message>,
    /// What is left of activities that were dead-lettered, by scheduled event.
    pub(crate) letters: Table<i64, DeadLetter>,
    pub(crate) deadlines: Deadlines,
    pub(crate) ready: Ready,
    /// The errors that were written, by subject.
    pub(crate) errors: BTreeMap<i64, RunError>,
}

impl Run {
    /// Its names.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The attributes of its first event.
    pub fn started(&self) -> &Started {
        &self.started
    }

    /// What its starter wrote about it.
    pub fn user_metadata(&self) -> Option<&sdk::UserMetadata> {
        self.user_metadata.as_deref()
    }

    /// Its state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.state.is_open()
    }

    /// Whether it runs, or how it closed.
    pub fn status(&self) -> enums::WorkflowExecutionStatus {
        self.state.status()
    }

    /// The id of its newest event.
    pub fn last_event_id(&self) -> i64 {
        self.state.next_event_id - 1
    }

    /// The first run of its chain.
    pub fn first_run_id(&self) -> &str {
        &self.started.first_execution_run_id
    }

    /// The first of the runs that were tried for the same work, this one included. A reset goes on
    /// with the work; a run that continues as new, or by a cron schedule, has work of its own.
    pub fn first_tried_run_id(&self) -> &str {
        let ids = [&self.state.first_tried_run_id, &self.started.original_execution_run_id];
        ids.into_iter().find(|id| !id.is_empty()).unwrap_or(&self.identity.run_id)
    }

    /// The run whose child it is, if it is one.
    pub fn parent(&self) -> Option<common::WorkflowExecution> {
        let mut parent = self.started.parent_workflow_execution.clone()?;
        if !self.state.parent_run_id.is_empty() {
            parent.run_id.clone_from(&self.state.parent_run_id);
        }
        Some(parent)
    }

    /// The run that is to be looked at instead of this one, which is over.
    pub fn follower(&self) -> Option<&str> {
        let (reset, next) = (&self.state.reset_run_id, &self.state.next_run_id);
        [reset, next].into_iter().find(|id| !id.is_empty()).map(String::as_str)
    }

    /// The name of the task queue that its workers poll.
    pub fn task_queue(&self) -> &str {
        self.started.task_queue.as_ref().map_or("", |queue| &queue.name)
    }

    /// The name of its type.
    pub fn workflow_type(&self) -> &str {
        self.started.workflow_type.as_ref().map_or("", |kind| &kind.name)
    }

    /// Its memo as it is now.
    pub fn memo(&self) -> Option<&common::Memo> {
        self.state.memo.as_ref().or(self.started.memo.as_ref())
    }

    /// Its search attributes as they are now.
    pub fn search_attributes(&self) -> Option<&common::SearchAttributes> {
        self.state.search_attributes.as_ref().or(self.started.search_attributes.as_ref())
    }

    /// Its workflow task, if it has one.
    pub fn task(&self) -> Option<&WorkflowTask> {
        self.state.task.as_ref()
    }

    /// Its pending activities by scheduled event; none, once it is closed.
    pub fn activities(&self) -> &Table<i64, Activity> {
        static NONE: Table<i64, Activity> = Table::new();
        if self.is_open() { &self.activities } else { &NONE }
    }

    /// Its pending timers by started event.
    pub fn timers(&self) -> &Table<i64, Timer> {
        &self.timers
    }

    /// Its pending children by initiated event; none, once it is closed.
    pub fn children(&self) -> &Table<i64, Child> {
        static NONE: Table<i64, Child> = Table::new();
        if self.is_open() { &self.children } else { &NONE }
    }

    /// Its pending requests to other runs by initiated event.
    pub fn externals(&self) -> &Table<i64, External> {
        &self.externals
    }

    /// Its updates by id.
    pub fn updates(&self) -> &Table<String, Update> {
        &self.updates
    }

    /// The events that wait for the workflow task to end.
    pub fn buffered(&self) -> &Table<u64, history::HistoryEvent> {
        &self.buffer
    }

    /// What it still has to say to other runs.
    pub fn messages(&self) -> &Table<u64, Message> {
        &self.messages
    }

    /// What is left of activities that were dead-lettered, by scheduled event.
    pub fn letters(&self) -> &Table<i64, DeadLetter> {
        &self.letters
    }

    /// What has failed of this subject and is not settled.
    pub fn error(&self, subject: i64) -> Option<RunError> {
        match subject {
            RUN => trouble::of_run(&self.state),
            TASK => trouble::of_task(&self.state),
            id => {
                let letter = || self.letters.get(&id).map(|it| trouble::of_letter(id, it));
                self.activities().get(&id).and_then(trouble::of_activity).or_else(letter)
            }
        }
    }

    /// When it must be looked at again even if nothing happens.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.deadlines.next()
    }

    /// Whether it has something to hand out that only it knows of, or to take back from workers
    /// that end with the engine's process.
    pub fn has_work(&self) -> bool {
        self.task_is_ready()
            || self.state.task.as_ref().is_some_and(WorkflowTask::is_held_within)
            || !self.messages.is_empty()
            || !self.externals.is_empty()
            || !self.ready.is_empty()
            || self.is_to_start_over()
    }

    /// Whether it has failed, and somebody is to have it go on now.
    pub fn is_to_start_over(&self) -> bool {
        self.state.resume.as_ref().is_some_and(|it| it.handed_over)
    }

    /// Whether a workflow task waits for a worker.
    pub fn task_is_ready(&self) -> bool {
        self.state.task.as_ref().is_some_and(WorkflowTask::is_offered)
    }

    /// The activities that wait for a worker, by scheduled event.
    pub fn ready_activities(&self) -> impl Iterator<Item = i64> {
        self.ready.activities()
    }

    /// The activities that waited for a worker before the transition under way and do not wait as
    /// they did, though none has them: their scheduled events, and their stamps then.
    pub(crate) fn withdrawn_activities(&self) -> impl Iterator<Item = (i64, u32)> {
        self.activities.touched().filter_map(|id| {
            let stamp = self.ready.stamp_of(*id)?;
            let is_to_be_had =
                |now: &Activity| now.is_started() || now.row.stamp == stamp && now.is_offered();
            let is_gone = !self.activities.get(id).is_some_and(is_to_be_had);
            is_gone.then_some((*id, stamp))
        })
    }

    /// The activities that workers inside the engine's process have, by scheduled event.
    pub(crate) fn activities_held_within(&self) -> impl Iterator<Item = i64> {
        self.ready.held_within()
    }

    /// The children that are still to be started, by initiated event.
    pub fn unstarted_children(&self) -> impl Iterator<Item = i64> {
        self.ready.children()
    }

    /// When it was created.
    pub fn started_at(&self) -> Timestamp {
        Timestamp(self.state.started_at)
    }

    /// When it closed.
    pub fn closed_at(&self) -> Option<Timestamp> {
        kept(self.state.closed_at)
    }

    pub(crate) fn execution(&self) -> common::WorkflowExecution {
        common::WorkflowExecution {
            workflow_id: self.identity.workflow_id.clone(),
            run_id: self.identity.run_id.clone(),
        }
    }

    pub(crate) fn run_timeout(&self) -> std::time::Duration {
        from_wire(self.started.workflow_run_timeout.as_ref())
    }

    /// Whether a worker has its workflow task, so that what happens meanwhile must wait.
    pub(crate) fn task_is_started(&self) -> bool {
        self.state.task.as_ref().is_some_and(WorkflowTask::is_started)
    }

    /// Whether the worker that has its workflow task is about to close it, having been kept from it
    /// once by something new: a stream of signals must not keep it open for ever.
    pub(crate) fn is_closing(&self) -> bool {
        self.state.closing && self.task_is_started()
    }

    /// The queue that its next workflow task goes to, as an event names it.
    pub(crate) fn next_task_queue(&self) -> taskqueue::TaskQueue {
        let normal = self.task_queue().to_owned();
        match &self.state.sticky {
            Some(sticky) => taskqueue::TaskQueue {
                name: sticky.queue.clone(),
                kind: enums::TaskQueueKind::Sticky.into(),
                normal_name: normal,
            },
            None => taskqueue::TaskQueue {
                name: normal,
                kind: enums::TaskQueueKind::Normal.into(),
                normal_name: String::new(),
            },
        }
    }

    /// Whether the transition under way has touched a table.
    pub(crate) fn is_touched(&self) -> bool {
        self.activities.touched().next().is_some()
            || self.timers.touched().next().is_some()
            || self.children.touched().next().is_some()
            || self.externals.touched().next().is_some()
            || self.updates.touched().next().is_some()
            || self.requests.touched().next().is_some()
            || self.buffer.touched().next().is_some()
            || self.messages.touched().next().is_some()
            || self.letters.touched().next().is_some()
    }

    /// Takes back what the transition under way has done.
    pub(crate) fn roll_back(&mut self, state: State) {
        self.state = state;
        self.activities.roll_back();
        self.timers.roll_back();
        self.children.roll_back();
        self.externals.roll_back();
        self.updates.roll_back();
        self.in_flight.roll_back();
        self.requests.roll_back();
        self.buffer.roll_back();
        self.messages.roll_back();
        self.letters.roll_back();
    }

    /// Makes the transition under way final: what is derived from the rows that it touched is
    /// brought up to date.
    pub(crate) fn keep(&mut self) {
        self.settle();
        self.activities.keep();
        self.timers.keep();
        self.children.keep();
        self.externals.keep();
        self.updates.keep();
        self.in_flight.keep();
        self.in_flight.drain().for_each(drop);
        self.requests.keep();
        self.buffer.keep();
        self.messages.keep();
        self.letters.keep();
    }

    fn settle(&mut self) {
        if self.is_open() {
            self.settle_pending();
        } else {
            self.deadlines = Deadlines::default();
            self.ready = Ready::default();
        }
        self.deadlines.set_of_run(self.state.deadlines());
    }

    fn settle_pending(&mut self) {
        for id in self.activities.touched() {
            let activity = self.activities.get(id);
            let at = activity.and_then(Activity::deadline).map(|(at, _)| at);
            self.deadlines.set(Deadline::Activity(*id), at);
            self.ready.set_activity(*id, activity);
        }
        for id in self.timers.touched() {
            let at = self.timers.get(id).and_then(Timer::due);
            self.deadlines.set(Deadline::Timer(*id), at);
        }
        for id in self.children.touched() {
            self.ready.set_child(*id, self.children.get(id));
        }
    }
}
