//! Tasks on their way from a run to a worker.

use std::sync::Arc;

use prost::Message as _;
use steadfast_core::{
    ActivityToken, FailWorkflowTask, Input, Refused, StartActivity, StartWorkflowTask, Timestamp,
    WorkflowTask, WorkflowTaskToken,
    span::{instant_to_wire, to_wire},
};
use steadfast_proto::{
    common, enums,
    history::{History, HistoryEvent},
    query::WorkflowQuery,
    taskqueue,
    workflowservice::{PollActivityTaskQueueResponse, PollWorkflowTaskQueueResponse},
};
use steadfast_store::{RunNumber, ShardNumber};

use super::{Entry, Job, Mail, again, desk::Desk, desk::Wishes, entry::HotTask, outbox};
use crate::{
    gift::Gift,
    matching::QueueName,
    query::Answer,
    task::{ActivityOffer, HeaderWish, MissingHistory, Taker, TaskGift, TaskOffer, TaskWhat},
    token::{HistoryToken, TaskToken},
};

impl Desk<'_> {
    /// Offers the workflow task of a run: to the worker that wishes for it, to one that waits, or
    /// to the queue.
    pub(super) fn offer_task(&mut self, number: RunNumber, wishes: &mut Wishes) {
        let Some(entry) = self.shard.cache.get(number) else { return };
        let Some(offer) = task_offer(entry, self.shard.number) else { return };
        // The worker may have lost its claim with the very completion that asked for more.
        if let Some(taker) = wishes.task_for.take()
            && let Ok(gift) = self.start_task(&offer, taker)
        {
            wishes.task = Some(gift);
            return;
        }
        let (queue, sticky_queue) = self.task_queue(number);
        let priority = self.priority(number, None);
        let Some((poller, offer)) = self.shared().tasks.offer(&queue, offer, priority) else {
            return;
        };
        let taker = Taker { sticky_queue, ..poller.taker };
        if let Ok(gift) = self.start_task(&offer, taker) {
            self.hand_over(gift, poller.slot);
        }
    }

    /// Offers what a poll took and did not want after all.
    pub(crate) fn offer_again(&mut self, offer: &TaskOffer) {
        match &offer.what {
            TaskWhat::Task { .. } => self.offer_task(offer.run, &mut Wishes::default()),
            TaskWhat::Query { id } => self.offer_query(offer.run, id, false),
        }
    }

    /// Offers an activity that a poll took and did not want after all.
    pub(crate) fn offer_activity_again(&mut self, offer: &ActivityOffer) {
        self.take_back(offer);
        let id = offer.scheduled_event_id;
        self.offer_activity(offer.run, id, false, &mut Wishes::default());
    }

    /// Gives a task to a worker: at once, or when its history is durable if it must be read.
    pub(crate) fn hand_over(
        &mut self,
        gift: Gift<TaskGift>,
        slot: tokio::sync::oneshot::Sender<Gift<TaskGift>>,
    ) {
        if gift.needs_history() {
            self.release(move || drop(slot.send(gift)));
        } else {
            // If nobody listens any more the gift goes back by itself.
            drop(slot.send(gift));
        }
    }

    /// Starts a workflow task, or a query, for a worker. Refused if it is not to be had any more.
    pub(crate) fn start_task(
        &mut self,
        offer: &TaskOffer,
        taker: Taker,
    ) -> Result<Gift<TaskGift>, Refused> {
        let (scheduled_event_id, attempt) = match &offer.what {
            TaskWhat::Task { scheduled_event_id, attempt } => (*scheduled_event_id, *attempt),
            TaskWhat::Query { id } => return self.start_query(offer.run, id, &taker),
        };
        let knows_past = taker.goes_on || taker.sticky_queue.is_some();
        let is_within = taker.process != 0;
        let input = StartWorkflowTask {
            scheduled_event_id,
            attempt,
            request_id: taker.request_id,
            identity: taker.identity,
            sticky_queue: taker.sticky_queue,
            process: taker.process,
        };
        self.apply(offer.run, Input::StartWorkflowTask(input))?;
        let hot = Arc::clone(&self.shared().hot);
        let Some(entry) = self.shard.cache.get_mut(offer.run) else {
            return Err(Refused::TaskNotFound);
        };
        let gift = task_gift(entry, knows_past);
        let token = entry.run.task().map(|task| WorkflowTaskToken {
            scheduled_event_id: task.scheduled_event_id,
            started_event_id: task.started_event_id,
            attempt: task.attempt,
            nonce: task.nonce,
        });
        // One that waits for its history waits for the commit.
        let is_hot = is_within && gift.missing.is_none();
        let hot = is_hot.then(|| HotTask::new(&hot));
        if let Some(old) = std::mem::replace(&mut entry.hot, hot.clone()) {
            old.cool();
        }
        if let Some(hot) = hot {
            self.release(move || hot.cool());
        }
        let lost = outbox::InputJob::new(offer.run, lost_task(token.unwrap_or_default()));
        Ok(Gift::new(gift, self.later(lost)))
    }

    /// Offers an activity of a run: to the worker that asked for it eagerly, to one that waits, or
    /// to the queue.
    pub(super) fn offer_activity(
        &mut self,
        number: RunNumber,
        id: i64,
        eager: bool,
        wishes: &mut Wishes,
    ) {
        let Some(entry) = self.shard.cache.get_mut(number) else { return };
        let rules = entry.rules(&self.shard.shared.namespaces);
        let offered = activity_offer(entry, self.shard.number, id, rules.poison_after);
        let Some((queue, offer)) = offered else { return };
        let waited = entry.run.activities().get(&id).filter(|it| it.row.attempt > 1);
        if let Some(due) = waited.map(|it| Timestamp(it.row.scheduled_at)) {
            let late = self.now().since(due);
            self.shared().tally.count_lag(late);
        }
        if eager
            && let Some(taker) = wishes.activities_for.clone()
            && self.may_have_more(&offer, &taker)
        {
            if let Ok(response) = self.start_activity(&offer, taker) {
                wishes.activities.push(*response);
            }
            return;
        }
        let priority = self.priority(number, Some(id));
        let Some((poller, offer)) = self.shared().activities.offer(&queue, offer, priority) else {
            return;
        };
        if let Ok(response) = self.start_activity(&offer, poller.taker) {
            self.deliver_activity(&offer, response, poller.slot);
        }
    }

    /// Gives an activity to a worker once its start is durable.
    pub(crate) fn deliver_activity(
        &mut self,
        offer: &ActivityOffer,
        response: Box<PollActivityTaskQueueResponse>,
        slot: tokio::sync::oneshot::Sender<Gift<Box<PollActivityTaskQueueResponse>>>,
    ) {
        let id = offer.scheduled_event_id;
        let row = self.run(offer.run).and_then(|run| run.activities().get(&id)).map(|it| &it.row);
        let nonce = row.map_or(0, |row| row.nonce);
        let token =
            ActivityToken::Attempt { scheduled_event_id: id, attempt: offer.attempt, nonce };
        let lost = outbox::InputJob::new(offer.run, Input::ReturnActivity(token));
        let gift = Gift::new(response, self.later(lost));
        self.release(move || drop(slot.send(gift)));
    }

    /// What has this shard do a job when it is called.
    fn later<J: Job + 'static>(&self, job: J) -> impl FnOnce() + Send + use<J> {
        let (shared, shard) = (Arc::clone(self.shared()), self.shard.number);
        move || shared.mail(shard, Mail::Job(Box::new(job)))
    }

    /// Starts an activity for a worker. Refused if it is not to be had any more.
    pub(crate) fn start_activity(
        &mut self,
        offer: &ActivityOffer,
        taker: Taker,
    ) -> Result<Box<PollActivityTaskQueueResponse>, Refused> {
        let company = self.take_in_hand(offer, &taker);
        let input = StartActivity {
            scheduled_event_id: offer.scheduled_event_id,
            attempt: offer.attempt,
            stamp: offer.stamp,
            request_id: taker.request_id,
            identity: taker.identity,
            process: taker.process,
            company,
            silence_max: taker.silence_max,
        };
        if let Err(refused) = self.apply(offer.run, Input::StartActivity(input)) {
            self.take_back(offer);
            return Err(refused);
        }
        let entry = self.shard.cache.get(offer.run).ok_or(Refused::ActivityNotFound)?;
        let given = activity_response(entry, offer.scheduled_event_id, taker.header);
        given.ok_or(Refused::ActivityNotFound)
    }

    /// Offers a query that waits in [`Queries`](crate::query::Queries), on the sticky queue or on
    /// the normal one.
    pub(crate) fn offer_query(&mut self, number: RunNumber, id: &str, sticky: bool) {
        if self.shard.cache.get(number).is_none() {
            return;
        }
        let what = TaskWhat::Query { id: id.to_owned() };
        let offer = TaskOffer { shard: self.shard.number, run: number, what };
        let (queue, sticky_queue) = match self.task_queue(number) {
            (queue, Some(name)) if sticky => (queue, Some(name)),
            _ => (self.normal_queue(number), None),
        };
        let priority = self.priority(number, None);
        let Some((poller, _)) = self.shared().tasks.offer(&queue, offer, priority) else { return };
        let taker = Taker { sticky_queue, ..poller.taker };
        if let Ok(gift) = self.start_query(number, id, &taker) {
            // What the answer may show must be durable first.
            self.release(move || drop(poller.slot.send(gift)));
        }
    }

    /// Queries that waited for a workflow task, when there is none any more: they are asked anew.
    pub(super) fn redirect_queries(&mut self, number: RunNumber) {
        let Some(entry) = self.shard.cache.get_mut(number) else { return };
        let waiting = std::mem::take(&mut entry.queries);
        let carried = std::mem::take(&mut entry.carried);
        self.release(move || {
            let all = waiting.into_values().chain(carried.into_values());
            all.for_each(|waiting| drop(waiting.slot.send(Answer::AskAgain)));
        });
    }

    /// The workflow task that carried some queries is lost: they wait for the next one.
    pub(crate) fn requeue_queries(&mut self, number: RunNumber) {
        if let Some(entry) = self.shard.cache.get_mut(number) {
            let carried = std::mem::take(&mut entry.carried);
            entry.queries.extend(carried);
        }
    }

    /// The workflow task that was in a worker's hands has come back.
    pub(crate) fn cool(&mut self, number: RunNumber) {
        let Some(entry) = self.shard.cache.get_mut(number) else { return };
        let is_started = entry.run.task().is_some_and(WorkflowTask::is_started);
        if let Some(hot) = entry.hot.take_if(|_| !is_started) {
            hot.cool();
        }
    }

    /// The queue that the workflow task of a run goes to, and its name if it is a sticky one.
    /// A sticky queue that nobody polls is passed over.
    fn task_queue(&mut self, number: RunNumber) -> (QueueName, Option<String>) {
        let normal = self.normal_queue(number);
        let since = self.shared().sticky_since();
        let Some(entry) = self.shard.cache.get(number) else { return (normal, None) };
        let Some(sticky) = &entry.run.state().sticky else { return (normal, None) };
        let queue =
            QueueName { namespace_id: normal.namespace_id.clone(), name: sticky.queue.clone() };
        if self.shard.shared.tasks.is_attended(&queue, since) {
            let name = sticky.queue.clone();
            (queue, Some(name))
        } else {
            (normal, None)
        }
    }

    /// How urgent a run is, or an activity of it that may be more or less so.
    fn priority(&self, number: RunNumber, activity: Option<i64>) -> i32 {
        let Some(entry) = self.shard.cache.get(number) else { return PRIORITY };
        let own =
            activity.and_then(|id| entry.run.activities().get(&id)?.scheduled.priority.clone());
        let run = entry.run.started().priority.as_ref();
        let keys = [own.as_ref().map(|it| it.priority_key), run.map(|it| it.priority_key)];
        keys.into_iter().flatten().find(|key| *key > 0).unwrap_or(PRIORITY)
    }

    fn normal_queue(&self, number: RunNumber) -> QueueName {
        let Some(entry) = self.shard.cache.get(number) else {
            return QueueName { namespace_id: String::new(), name: String::new() };
        };
        QueueName {
            namespace_id: entry.run.identity().namespace_id.clone(),
            name: entry.run.task_queue().to_owned(),
        }
    }

    fn start_query(
        &mut self,
        number: RunNumber,
        id: &str,
        taker: &Taker,
    ) -> Result<Gift<TaskGift>, Refused> {
        let query = self.shared().queries.get(id).ok_or(Refused::TaskNotFound)?;
        let entry = self.shard.cache.get(number).ok_or(Refused::TaskNotFound)?;
        let is_sticky = taker.sticky_queue.as_deref()
            == entry.run.state().sticky.as_ref().map(|sticky| sticky.queue.as_str())
            && taker.sticky_queue.is_some();
        let gift = query_gift(entry, id, query, is_sticky);
        let lost = again::OfferQueryJob::new(number, id.to_owned());
        Ok(Gift::new(gift, self.later(lost)))
    }
}

impl Gift<TaskGift> {
    fn needs_history(&self) -> bool {
        self.peek().is_some_and(|gift| gift.missing.is_some())
    }
}

fn lost_task(token: WorkflowTaskToken) -> Input {
    Input::FailWorkflowTask(FailWorkflowTask {
        token,
        cause: enums::WorkflowTaskFailedCause::ResetStickyTaskQueue,
        identity: "history-service".to_owned(),
        ..FailWorkflowTask::default()
    })
}

fn task_offer(entry: &Entry, shard: ShardNumber) -> Option<TaskOffer> {
    let task = entry.run.task().filter(|task| task.is_offered())?;
    let what =
        TaskWhat::Task { scheduled_event_id: task.scheduled_event_id, attempt: task.attempt };
    Some(TaskOffer { shard, run: entry.number, what })
}

fn activity_offer(
    entry: &Entry,
    shard: ShardNumber,
    id: i64,
    poison_after: u32,
) -> Option<(QueueName, ActivityOffer)> {
    let activity = entry.run.activities().get(&id)?;
    if !activity.is_offered() {
        return None;
    }
    let identity = entry.run.identity();
    let queue = QueueName {
        namespace_id: identity.namespace_id.clone(),
        name: activity.task_queue().to_owned(),
    };
    let offer = ActivityOffer {
        shard,
        run: entry.number,
        scheduled_event_id: id,
        attempt: activity.row.attempt,
        stamp: activity.row.stamp,
        is_watched: poison_after > 0,
        is_for_alone: activity.is_for_alone(poison_after),
    };
    Some((queue, offer))
}

/// What a worker is given for the workflow task that was just started.
fn task_gift(entry: &mut Entry, knows_past: bool) -> TaskGift {
    let run = &entry.run;
    let task = run.task().cloned().unwrap_or_default();
    let previous = run.state().previous_started_event_id;
    let first = if knows_past { previous + 1 } else { 1 };
    let last = run.last_event_id();
    // What an earlier task carried was not answered: it timed out, or was lost.
    let mut queries = std::mem::take(&mut entry.carried);
    queries.append(&mut entry.queries);
    queries.retain(|_, it| !it.slot.is_closed());
    let unwritten = entry.run.unwritten_events(&entry.limits);
    let events = entry.take_tail(first);
    let run = &entry.run;
    let mut response = PollWorkflowTaskQueueResponse {
        task_token: task_token(entry, task.scheduled_event_id, task.started_event_id)
            .with(task.attempt, task.nonce)
            .encode_to_vec(),
        previous_started_event_id: previous,
        started_event_id: task.started_event_id,
        attempt: i32::try_from(task.attempt).unwrap_or(i32::MAX),
        scheduled_time: Some(instant_to_wire(Timestamp(task.scheduled_at))),
        started_time: Some(instant_to_wire(Timestamp(task.started_at))),
        queries: queries.iter().map(|(id, it)| (id.clone(), it.query.clone())).collect(),
        messages: run.task_messages(),
        ..of_run(entry)
    };
    entry.carried.extend(queries);
    let missing = if let Some(mut events) = events {
        events.extend(unwritten);
        response.history = Some(History { events });
        None
    } else {
        response.history = Some(History { events: unwritten });
        let task_started_event_id = task.started_event_id;
        Some(MissingHistory { run: entry.number, first, last, task_started_event_id })
    };
    TaskGift { response: Box::new(response), missing }
}

/// What a worker is given to answer a query.
fn query_gift(entry: &Entry, id: &str, query: WorkflowQuery, sticky: bool) -> TaskGift {
    let token = TaskToken { query_id: id.to_owned(), ..task_token(entry, 0, 0) };
    let response = PollWorkflowTaskQueueResponse {
        task_token: token.encode_to_vec(),
        previous_started_event_id: entry.run.state().previous_started_event_id,
        attempt: 1,
        query: Some(query),
        history: Some(History::default()),
        ..of_run(entry)
    };
    let last = entry.run.last_event_id();
    let missing = MissingHistory { run: entry.number, first: 1, last, task_started_event_id: 0 };
    TaskGift { response: Box::new(response), missing: (!sticky).then_some(missing) }
}

fn of_run(entry: &Entry) -> PollWorkflowTaskQueueResponse {
    let identity = entry.run.identity();
    PollWorkflowTaskQueueResponse {
        workflow_execution: Some(common::WorkflowExecution {
            workflow_id: identity.workflow_id.clone(),
            run_id: identity.run_id.clone(),
        }),
        workflow_type: entry.run.started().workflow_type.clone(),
        workflow_execution_task_queue: Some(taskqueue::TaskQueue {
            name: entry.run.task_queue().to_owned(),
            kind: enums::TaskQueueKind::Normal.into(),
            normal_name: String::new(),
        }),
        ..PollWorkflowTaskQueueResponse::default()
    }
}

fn activity_response(
    entry: &Entry,
    id: i64,
    wish: HeaderWish,
) -> Option<Box<PollActivityTaskQueueResponse>> {
    let activity = entry.run.activities().get(&id)?;
    let identity = entry.run.identity();
    let row = &activity.row;
    let event = &activity.scheduled;
    let limits = activity.timeouts();
    let header = match wish {
        HeaderWish::AsWritten => activity.task_header(),
        HeaderWish::WithKeys => entry.run.task_header_with_keys(activity),
        HeaderWish::Keys => entry.run.task_keys(activity),
    };
    let token = TaskToken {
        activity_id: event.activity_id.clone(),
        ..task_token(entry, id, 0).with(row.attempt, row.nonce)
    };
    Some(Box::new(PollActivityTaskQueueResponse {
        task_token: token.encode_to_vec(),
        workflow_namespace: identity.namespace.clone(),
        workflow_type: entry.run.started().workflow_type.clone(),
        workflow_execution: Some(common::WorkflowExecution {
            workflow_id: identity.workflow_id.clone(),
            run_id: identity.run_id.clone(),
        }),
        activity_type: event.activity_type.clone(),
        activity_id: event.activity_id.clone(),
        header: Some(header),
        input: activity.input().cloned(),
        heartbeat_details: row.heartbeat_details.clone(),
        scheduled_time: Some(instant_to_wire(Timestamp(row.first_scheduled_at))),
        current_attempt_scheduled_time: Some(instant_to_wire(Timestamp(row.scheduled_at))),
        started_time: Some(instant_to_wire(Timestamp(row.started_at))),
        attempt: i32::try_from(row.attempt).unwrap_or(i32::MAX),
        schedule_to_close_timeout: to_wire(limits.schedule_to_close),
        start_to_close_timeout: to_wire(limits.start_to_close),
        heartbeat_timeout: to_wire(activity.heard_within()),
        retry_policy: activity.retry_policy().cloned(),
        priority: event.priority.clone(),
        ..PollActivityTaskQueueResponse::default()
    }))
}

fn task_token(entry: &Entry, scheduled_event_id: i64, started_event_id: i64) -> TaskToken {
    let identity = entry.run.identity();
    TaskToken {
        namespace_id: identity.namespace_id.clone(),
        workflow_id: identity.workflow_id.clone(),
        run_id: identity.run_id.clone(),
        scheduled_event_id,
        started_event_id,
        ..TaskToken::default()
    }
}

impl TaskToken {
    fn with(self, attempt: u32, nonce: u64) -> Self {
        Self { attempt, nonce, ..self }
    }
}

/// How urgent is what does not say: in the middle of the five that there are by custom.
const PRIORITY: i32 = 3;

/// Puts a page of history into a task, in front of what it has; the rest is for later pages.
pub(crate) fn fill_history(
    gift: &mut TaskGift,
    missing: &MissingHistory,
    mut events: Vec<HistoryEvent>,
) {
    let history = gift.response.history.get_or_insert_default();
    let reached = events.last().map_or(missing.first - 1, |event| event.event_id);
    if reached >= missing.last {
        events.append(&mut history.events);
        history.events = events;
        return;
    }
    history.events = events;
    let execution = gift.response.workflow_execution.clone().unwrap_or_default();
    gift.response.next_page_token = HistoryToken {
        workflow_id: execution.workflow_id,
        run_id: execution.run_id,
        next_event_id: reached + 1,
        task_started_event_id: missing.task_started_event_id,
    }
    .encode_to_vec();
}
