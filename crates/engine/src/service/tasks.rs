//! Workflow tasks: workers poll for them and answer them.

use std::collections::BTreeMap;

use steadfast_core::{
    BadCommand, Cause, CompleteWorkflowTask, FailWorkflowTask, Input, Refused, Run, WorkflowTask,
};
use steadfast_proto::{
    command::{Command, command::Attributes},
    common::SearchAttributes,
    enums::{QueryResultType, TaskQueueKind, WorkflowTaskFailedCause},
    failure::{Failure, ServerFailureInfo, failure::FailureInfo},
    query::WorkflowQueryResult,
    workflowservice::{
        PollWorkflowTaskQueueRequest, PollWorkflowTaskQueueResponse,
        RespondWorkflowTaskCompletedRequest, RespondWorkflowTaskCompletedResponse,
        RespondWorkflowTaskFailedRequest, RespondWorkflowTaskFailedResponse,
    },
};
use steadfast_store::RunNumber;
use tokio::sync::oneshot;

use super::{Engine, queues::scaling};
use crate::{
    error::Error,
    gift::Gift,
    history,
    matching::QueueName,
    query::{Answer, Waiting},
    shard::{Address, Desk, Job, Wishes, fill_history},
    task::{Taker, TaskGift, TaskOffer},
    token::TaskToken,
    visibility::{self, Schema},
};

impl Engine {
    /// Waits for a workflow task. An empty response means that there was none, or that the engine
    /// stops: whoever asks again then is told so.
    pub async fn poll_workflow_task_queue(
        &self,
        request: PollWorkflowTaskQueueRequest,
    ) -> Result<PollWorkflowTaskQueueResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let queue = request.task_queue.unwrap_or_default();
        if queue.name.is_empty() {
            return Err(Error::invalid("missing task queue name"));
        }
        let sticky = queue.kind() == TaskQueueKind::Sticky;
        let name = QueueName { namespace_id: namespace.id.clone(), name: queue.name };
        let taker = Taker {
            identity: request.identity,
            request_id: self.shared().ids.id(),
            sticky_queue: sticky.then(|| name.name.clone()),
            worker: request.worker_instance_key,
            ..self.taker()
        };
        let begun = self.now();
        let deadline = begun.after(self.patience(self.shared().limits.poll_wait));
        self.check_running()?;
        while self.check_running().is_ok() {
            let left = deadline.since(self.now());
            let take = |offer, slot| self.take_task(offer, taker.clone(), slot);
            let next = self.next(&self.shared().tasks, (&name, &taker), left, take);
            let Some(gift) = next.await else { break };
            if let Some(response) = self.unwrap_task(gift).await? {
                let waited = self.now().since(begun);
                let poller_scaling_decision = scaling(waited, self.shared().tasks.age(&name));
                return Ok(PollWorkflowTaskQueueResponse { poller_scaling_decision, ..response });
            }
        }
        Ok(PollWorkflowTaskQueueResponse::default())
    }

    /// Takes what the workflow's code wants.
    pub async fn respond_workflow_task_completed(
        &self,
        request: RespondWorkflowTaskCompletedRequest,
    ) -> Result<RespondWorkflowTaskCompletedResponse, Error> {
        let token = self.task_token(&request.task_token, &request.namespace)?;
        let (slot, reply) = oneshot::channel();
        let address = Address::of(&token.namespace_id, &token.workflow_id, &token.run_id);
        let taker = self.taker();
        self.post(CompleteJob { address, token, request, taker, slot });
        let Wishes { task, activities, back_to, .. } = self.answer(reply).await?;
        let workflow_task = match task {
            Some(gift) => self.unwrap_task(gift).await?,
            None => None,
        };
        Ok(RespondWorkflowTaskCompletedResponse {
            workflow_task,
            activity_tasks: activities,
            reset_history_event_id: back_to,
        })
    }

    /// Takes note that a worker could not do a workflow task.
    pub async fn respond_workflow_task_failed(
        &self,
        request: RespondWorkflowTaskFailedRequest,
    ) -> Result<RespondWorkflowTaskFailedResponse, Error> {
        let token = self.task_token(&request.task_token, &request.namespace)?;
        let address = Address::of(&token.namespace_id, &token.workflow_id, &token.run_id);
        #[expect(deprecated, reason = "older workers still tell their checksum")]
        let input = FailWorkflowTask {
            token: token.workflow_task(),
            cause: request.cause(),
            binary_checksum: request.binary_checksum.clone(),
            failure: request.failure,
            identity: request.identity,
        };
        let (slot, reply) = oneshot::channel();
        self.post(FailJob { address, input, slot });
        self.answer(reply).await?;
        Ok(RespondWorkflowTaskFailedResponse {})
    }

    /// The token of a task, if it is of the namespace that the request names.
    pub(super) fn task_token(&self, bytes: &[u8], namespace: &str) -> Result<TaskToken, Error> {
        let named = if namespace.is_empty() { None } else { Some(self.namespace(namespace)?) };
        let token = TaskToken::read(bytes)?;
        if named.is_some_and(|it| it.id != token.namespace_id) {
            return Err(Error::invalid(
                "Operation requested with a token from a different namespace.",
            ));
        }
        Ok(token)
    }

    /// Offers a task that waited for a worker that has gone.
    pub(super) fn offer_to_others(&self, offer: TaskOffer) {
        // A poll whose client has gone does just that.
        let (slot, _) = oneshot::channel();
        self.take_task(offer, Taker::default(), slot);
    }

    /// Has a task started that waited in the queue.
    fn take_task(&self, offer: TaskOffer, taker: Taker, slot: oneshot::Sender<Gift<TaskGift>>) {
        let shard = offer.shard;
        let job = TakeJob { address: Address::Number(offer.run), offer, taker, slot };
        self.send(shard, job);
    }

    /// Takes a task out of its wrapping and completes its history. `None` if it was nothing.
    async fn unwrap_task(
        &self,
        gift: Gift<TaskGift>,
    ) -> Result<Option<PollWorkflowTaskQueueResponse>, Error> {
        let missing = gift.peek().and_then(|inside| inside.missing.clone());
        let mut events = Vec::new();
        if let Some(missing) = &missing {
            let page_max = self.shared().limits.history_page_max;
            events =
                history::page(&**self.store(), missing.run, missing.first, missing.last, page_max)
                    .await?;
        }
        let Some(mut inside) = gift.take() else { return Ok(None) };
        if let Some(missing) = missing {
            fill_history(&mut inside, &missing, events);
        }
        Ok(Some(*inside.response))
    }
}

/// A poll takes a task that waited in the queue.
struct TakeJob {
    address: Address,
    offer: TaskOffer,
    taker: Taker,
    slot: oneshot::Sender<Gift<TaskGift>>,
}

impl Job for TakeJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn must_be_done(&self) -> bool {
        true
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, _: Option<RunNumber>) {
        if self.slot.is_closed() {
            desk.offer_again(&self.offer);
            return;
        }
        match desk.start_task(&self.offer, self.taker) {
            Ok(gift) => desk.hand_over(gift, self.slot),
            Err(_) => drop(self.slot.send(Gift::empty())),
        }
    }

    fn fail(self: Box<Self>, error: Error) {
        tracing::warn!(%error, offer = ?self.offer, "a workflow task could not be taken");
    }
}

struct CompleteJob {
    address: Address,
    token: TaskToken,
    request: RespondWorkflowTaskCompletedRequest,
    /// The worker, for what it is given in return.
    taker: Taker,
    slot: oneshot::Sender<Result<Wishes, Error>>,
}

impl Job for CompleteJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Self { token, mut request, taker, slot, .. } = *self;
        let Some(number) = found else {
            desk.release(move || drop(slot.send(Err(Refused::TaskNotFound.into()))));
            return;
        };
        let answers = std::mem::take(&mut request.query_results).into_iter().collect();
        let answered = take_answered(desk, number, answers);
        let mut wishes = wishes(desk, &request, &taker);
        let outcome = match check_attributes(desk, &token, &mut request) {
            Ok(()) => {
                let input = Input::CompleteWorkflowTask(Box::new(completion(&token, request)));
                desk.apply_with(number, input, &mut wishes)
            }
            Err(bad) => fail_task(desk, number, &token, request.identity, bad),
        };
        if outcome.is_ok() {
            answer_queries(desk, number, answered);
        } else {
            give_back(desk, number, answered);
        }
        if outcome != Err(Refused::TaskNotFound) {
            desk.cool(number);
        }
        desk.release(move || {
            let answer = outcome.map(|()| wishes).map_err(Error::from);
            drop(slot.send(answer));
        });
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

struct FailJob {
    address: Address,
    input: FailWorkflowTask,
    slot: oneshot::Sender<Result<(), Error>>,
}

impl Job for FailJob {
    fn address(&self) -> &Address {
        &self.address
    }

    fn run(self: Box<Self>, desk: &mut Desk<'_>, found: Option<RunNumber>) {
        let Self { input, slot, .. } = *self;
        let outcome = match found {
            Some(number) => {
                desk.requeue_queries(number);
                desk.cool(number);
                desk.apply(number, Input::FailWorkflowTask(input))
            }
            None => Err(Refused::TaskNotFound),
        };
        desk.release(move || drop(slot.send(outcome.map_err(Error::from))));
    }

    fn fail(self: Box<Self>, error: Error) {
        drop(self.slot.send(Err(error)));
    }
}

/// Search attributes are checked before the run sees them, and get their types, which SDKs read
/// them by: only the namespace knows these.
fn check_attributes(
    desk: &Desk<'_>,
    token: &TaskToken,
    request: &mut RespondWorkflowTaskCompletedRequest,
) -> Result<(), BadCommand> {
    let mut given = request.commands.iter_mut().filter_map(search_attributes).peekable();
    if given.peek().is_none() {
        return Ok(());
    }
    let cause = Cause(WorkflowTaskFailedCause::BadSearchAttributes);
    let bad = |error: Error| BadCommand { cause, detail: error.message, fatal: false };
    let namespace = desk.shared().namespaces.with_id(&token.namespace_id).map_err(bad)?;
    let schema = Schema::new(namespace.search_attributes());
    for attributes in given {
        visibility::search_values(attributes, &schema).map_err(bad)?;
        *attributes = visibility::with_types(std::mem::take(attributes), &schema);
    }
    Ok(())
}

/// The search attributes that a command sets.
fn search_attributes(command: &mut Command) -> Option<&mut SearchAttributes> {
    let attributes = command.attributes.as_mut()?;
    if let Attributes::UpsertWorkflowSearchAttributesCommandAttributes(it) = attributes {
        it.search_attributes.as_mut()
    } else if let Attributes::StartChildWorkflowExecutionCommandAttributes(it) = attributes {
        it.search_attributes.as_mut()
    } else if let Attributes::ContinueAsNewWorkflowExecutionCommandAttributes(it) = attributes {
        it.search_attributes.as_mut()
    } else {
        None
    }
}

/// The workflow wants what it cannot have: its task fails, and its worker hears why.
fn fail_task(
    desk: &mut Desk<'_>,
    number: RunNumber,
    token: &TaskToken,
    identity: String,
    bad: BadCommand,
) -> Result<(), Refused> {
    let cause = bad.cause.0;
    let refused = Refused::BadCommand(bad);
    let task = desk.run(number).and_then(Run::task);
    let is_under_way = task.is_some_and(|task| task.is_started() && task.nonce == token.nonce);
    // As with every bad command: the failure of a repetition is not written, it times out.
    if is_under_way && token.attempt > 1 {
        return Err(refused);
    }
    let failure = Failure {
        message: refused.to_string(),
        source: "Server".to_owned(),
        failure_info: Some(FailureInfo::ServerFailureInfo(ServerFailureInfo::default())),
        ..Failure::default()
    };
    let input = FailWorkflowTask {
        token: token.workflow_task(),
        cause,
        failure: Some(failure),
        identity,
        ..FailWorkflowTask::default()
    };
    desk.apply(number, Input::FailWorkflowTask(input))?;
    Err(refused)
}

fn wishes(
    desk: &Desk<'_>,
    request: &RespondWorkflowTaskCompletedRequest,
    worker: &Taker,
) -> Wishes {
    let sticky = request.sticky_attributes.as_ref();
    let queue = sticky.and_then(|it| it.worker_task_queue.as_ref()).map(|it| it.name.clone());
    let taker = || Taker {
        identity: request.identity.clone(),
        request_id: desk.shared().ids.id(),
        sticky_queue: queue.clone(),
        ..worker.clone()
    };
    Wishes {
        task_for: request.return_new_workflow_task.then(|| Taker { goes_on: true, ..taker() }),
        activities_for: Some(Taker { sticky_queue: None, ..taker() }),
        ..Wishes::default()
    }
}

fn completion(
    token: &TaskToken,
    request: RespondWorkflowTaskCompletedRequest,
) -> CompleteWorkflowTask {
    #[expect(deprecated, reason = "workers still tell their checksum and build in this way")]
    CompleteWorkflowTask {
        token: token.workflow_task(),
        commands: request.commands,
        messages: request.messages,
        identity: request.identity,
        sticky: request.sticky_attributes,
        return_new_task: request.return_new_workflow_task,
        force_new_task: request.force_create_new_workflow_task,
        takes_events_again: request
            .capabilities
            .is_some_and(|it| it.discard_speculative_workflow_task_with_events),
        sdk_metadata: request.sdk_metadata,
        metering_metadata: request.metering_metadata,
        binary_checksum: request.binary_checksum,
        worker_version: request.worker_version_stamp,
        deployment: request.deployment_options,
        versioning_behavior: request.versioning_behavior,
    }
}

/// Queries that the task carried and that its answer answers.
type Answered = Vec<(String, Waiting, Answer)>;

/// Takes the queries that are answered away from the run. Before the commands are applied: a run
/// that closes, or has its next task at once, sends those without an answer on.
fn take_answered(
    desk: &mut Desk<'_>,
    number: RunNumber,
    answers: BTreeMap<String, WorkflowQueryResult>,
) -> Answered {
    let bytes_max = desk.shared().limits.run.blob_bytes_max;
    let Some(entry) = desk.entry(number) else { return Vec::new() };
    let found = answers.into_iter().filter_map(|(id, result)| {
        let waiting = entry.carried.remove(&id)?;
        Some((id, waiting, of_result(result, bytes_max)))
    });
    found.collect()
}

/// The answer was not taken: the queries still wait for one.
fn give_back(desk: &mut Desk<'_>, number: RunNumber, answered: Answered) {
    if let Some(entry) = desk.entry(number) {
        entry.carried.extend(answered.into_iter().map(|(id, waiting, _)| (id, waiting)));
    }
}

/// Hands the answers to those who asked. Those without one wait for the next task, or, if there is
/// none, ask directly.
fn answer_queries(desk: &mut Desk<'_>, number: RunNumber, answered: Answered) {
    let mut ready: Vec<(Waiting, Answer)> =
        answered.into_iter().map(|(_, waiting, answer)| (waiting, answer)).collect();
    if let Some(entry) = desk.entry(number) {
        let task = entry.run.task();
        // What a task that is under way already carries stays with it.
        if !task.is_some_and(WorkflowTask::is_started) {
            let carried = std::mem::take(&mut entry.carried);
            entry.queries.extend(carried);
        }
        if task.is_none() {
            let waiting = std::mem::take(&mut entry.queries);
            ready.extend(waiting.into_values().map(|waiting| (waiting, Answer::AskAgain)));
        }
    }
    if !ready.is_empty() {
        desk.release(move || {
            for (waiting, answer) in ready {
                drop(waiting.slot.send(answer));
            }
        });
    }
}

fn of_result(result: WorkflowQueryResult, bytes_max: usize) -> Answer {
    match result.result_type() {
        QueryResultType::Failed => {
            Answer::Failed { message: result.error_message, failure: result.failure.map(Box::new) }
        }
        QueryResultType::Answered | QueryResultType::Unspecified => {
            Answer::answered(result.answer, bytes_max)
        }
    }
}
