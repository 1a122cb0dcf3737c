//! Workflow tasks: the history that is new goes to the code, its commands go to the engine.

use std::{sync::Arc, time::Duration};

use steadfast_engine::Error;
use steadfast_proto::{
    command::command::Attributes as C,
    common::{Payloads, WorkflowExecution},
    enums::{QueryResultType, TaskQueueKind},
    history::HistoryEvent,
    taskqueue::{StickyExecutionAttributes, TaskQueue},
    workflowservice as ws,
};
use tokio::sync::OwnedSemaphorePermit;

use super::{
    Shared, activities, begin,
    held::Held,
    local::{Local, Unanswered},
};
use crate::{
    error::Failure,
    replay::{Answer, Broken, Execution, Work},
    span,
    workflow::WorkflowInfo,
};

/// How long a task waits for this worker before any other may have it.
const STICKY: Duration = Duration::from_secs(10);

/// Which queue a poller asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Queue {
    /// That of all workers.
    Normal,
    /// That of this worker, for runs that it has in its cache.
    Sticky,
}

/// Asks for workflow tasks until the worker stops.
pub(crate) async fn poll(shared: Arc<Shared>, queue: Queue) {
    let request = ws::PollWorkflowTaskQueueRequest {
        namespace: shared.settings.namespace.clone(),
        task_queue: Some(match queue {
            Queue::Normal => normal(&shared),
            Queue::Sticky => sticky(&shared),
        }),
        identity: shared.settings.identity.clone(),
        ..ws::PollWorkflowTaskQueueRequest::default()
    };
    let mut failures = 0;
    loop {
        let polled = tokio::select! {
            biased;
            () = shared.stopped() => return,
            polled = shared.door.poll_workflow_task_queue(request.clone()) => polled,
        };
        match polled {
            Ok(task) if task.task_token.is_empty() => failures = 0,
            Ok(task) => {
                failures = 0;
                begin(answer_all(Arc::clone(&shared), task));
            }
            Err(error) => {
                if !shared.rest(&error, &mut failures).await {
                    return;
                }
            }
        }
    }
}

/// Answers a workflow task, and those that come back with the answers.
#[expect(clippy::manual_async_fn, reason = "an `async fn` keeps what it is given twice")]
fn answer_all(
    shared: Arc<Shared>,
    mut task: ws::PollWorkflowTaskQueueResponse,
) -> impl Future<Output = ()> + Send {
    async move {
        loop {
            let answered = match &task.query {
                Some(_) => Box::pin(answer_query(&shared, &mut task)).await.map(|()| None),
                None => answer(&shared, &mut task).await,
            };
            match answered {
                Ok(Some(next)) => task = next,
                Ok(None) => return,
                Err(error) => {
                    // The task was too old, or the server is away: it will be given out again.
                    tracing::debug!(%error, "a workflow task could not be answered");
                    return;
                }
            }
        }
    }
}

/// Answers one workflow task; gives the next one, if there is one at once.
///
/// While the code waits for local activities, the task is answered as far as the code has come before
/// its time is up, and taken again.
async fn answer(
    shared: &Arc<Shared>,
    task: &mut ws::PollWorkflowTaskQueueResponse,
) -> Result<Option<ws::PollWorkflowTaskQueueResponse>, Error> {
    let run = task.workflow_execution.clone().unwrap_or_default();
    let mut local = Local::new(shared, &run);
    let mut kept = shared.cache.take(&run.run_id);
    loop {
        let (mut execution, mut events) = prepare(shared, task, kept).await?;
        let decoded = shared.codec.decode(&mut events);
        if let Err(unchanged) = decoded.and_then(|()| shared.codec.decode(task)) {
            let broken = Broken::Codec(unchanged.message);
            Box::pin(fail(shared, token_of(task), &run, &broken)).await?;
            return Ok(None);
        }
        let work = Work {
            events,
            messages: std::mem::take(&mut task.messages),
            queries: std::mem::take(&mut task.queries).into_iter().collect(),
        };
        let (answer, goes_on) = match ask(shared, &mut execution, &mut local, work).await {
            Ok(answer) => answer,
            Err(Unanswered::Broken(broken)) => {
                // Dropped before the engine hears of it: the next task replays from the start.
                drop((execution, local));
                Box::pin(fail(shared, token_of(task), &run, &broken)).await?;
                return Ok(None);
            }
            Err(Unanswered::Gone) => return Ok(None),
        };
        if !goes_on {
            let ticket =
                (!answer.closes).then(|| shared.cache.put_ahead(run.run_id.clone(), execution));
            let taken = complete(shared, token_of(task), &run, answer, false).await;
            if let Some(ticket) = ticket {
                let back_to = taken.as_ref().ok().map(|it| it.reset_history_event_id);
                shared.cache.settle(&run.run_id, ticket, back_to);
            }
            return taken.map(|it| it.workflow_task);
        }
        // What runs here is for nothing if somebody else gets the task. On an error the execution is
        // dropped: it has commands that history does not.
        let taken = complete(shared, token_of(task), &run, answer, true).await?;
        let Some(next) = taken.workflow_task else { return Ok(None) };
        (*task, kept) = (next, Some(execution));
    }
}

fn token_of(task: &mut ws::PollWorkflowTaskQueueResponse) -> Vec<u8> {
    std::mem::take(&mut task.task_token)
}

/// Has the code answer; says whether local activities of it go on.
async fn ask(
    shared: &Shared,
    execution: &mut Execution,
    local: &mut Local<'_>,
    work: Work,
) -> Result<(Answer, bool), Unanswered> {
    let held = Held::by(&*shared.clock);
    let advanced = execution.advance(work);
    held.by_workflow(|| execution.workflow_type());
    advanced?;
    let goes_on = local.work(execution).await?;
    Ok((execution.answer()?, goes_on))
}

/// The run's execution, and the events that are new to it, as they came.
async fn prepare(
    shared: &Shared,
    task: &mut ws::PollWorkflowTaskQueueResponse,
    kept: Option<Execution>,
) -> Result<(Execution, Vec<HistoryEvent>), Error> {
    let run = task.workflow_execution.clone().unwrap_or_default();
    let mut events = task.history.take().map(|history| history.events).unwrap_or_default();
    let token = std::mem::take(&mut task.next_page_token);
    let first = events.first().map_or(0, |event| event.event_id);
    let fits = |execution: &Execution| first == 0 || first == execution.last_started() + 1;
    let namespace = &shared.settings.namespace;
    // The last events may be nowhere but in the task: it is written when the code has something to say.
    shared.door.read_on(namespace, &run, token, &mut events).await?;
    if let Some(execution) = kept.filter(fits) {
        return Ok((execution, events));
    }
    if first != 1 {
        let mut before = shared.door.history(namespace, &run).await?;
        before.retain(|event| match first {
            0 => task.started_event_id == 0 || event.event_id <= task.started_event_id,
            first => event.event_id < first,
        });
        before.append(&mut events);
        events = before;
    }
    let queue = shared.settings.task_queue.clone();
    let info = WorkflowInfo::new(namespace.clone(), run.workflow_id, run.run_id, queue);
    Ok((Execution::new(Arc::clone(&shared.registry), info), events))
}

/// Tells the engine what the code says.
async fn complete(
    shared: &Arc<Shared>,
    task_token: Vec<u8>,
    run: &WorkflowExecution,
    mut answer: Answer,
    goes_on: bool,
) -> Result<ws::RespondWorkflowTaskCompletedResponse, Error> {
    let slots = reserve_eager(shared, &mut answer);
    let mut request = ws::RespondWorkflowTaskCompletedRequest {
        task_token,
        commands: answer.commands,
        messages: answer.messages,
        query_results: answer.query_results.into_iter().collect(),
        identity: shared.settings.identity.clone(),
        namespace: shared.settings.namespace.clone(),
        return_new_workflow_task: true,
        force_create_new_workflow_task: goes_on,
        sticky_attributes: Some(StickyExecutionAttributes {
            worker_task_queue: Some(sticky(shared)),
            schedule_to_start_timeout: Some(span::to_wire(STICKY)),
        }),
        capabilities: Some(ws::respond_workflow_task_completed_request::Capabilities {
            discard_speculative_workflow_task_with_events: true,
        }),
        ..ws::RespondWorkflowTaskCompletedRequest::default()
    };
    if let Err(unchanged) = shared.codec.encode(&mut request) {
        let error = Error::from(unchanged);
        let broken = Broken::Codec(error.message.clone());
        Box::pin(fail(shared, request.task_token, run, &broken)).await?;
        return Err(error);
    }
    let mut response = shared.door.respond_workflow_task_completed(request).await?;
    shared.report.tasks.count(true);
    for activity_id in answer.cancelled {
        shared.attempts.cancel(&run.run_id, &activity_id);
    }
    for (task, slot) in std::mem::take(&mut response.activity_tasks).into_iter().zip(slots) {
        activities::spawn(shared, task, slot);
    }
    Ok(response)
}

/// Activities that this worker can run at once are asked for with the answer, as far as there is
/// room for them: that saves a poll over the network. In one process there is none to save, and the
/// answer, which waits for its commit then, would make two commits of a step.
fn reserve_eager(shared: &Shared, answer: &mut Answer) -> Vec<OwnedSemaphorePermit> {
    let mut slots = Vec::new();
    for command in &mut answer.commands {
        if let Some(C::ScheduleActivityTaskCommandAttributes(schedule)) = &mut command.attributes {
            let name = schedule.activity_type.as_ref().map(|it| it.name.as_str());
            let known = name.and_then(|name| shared.registry.activity(name)).is_some();
            let eager = schedule.request_eager_execution && shared.door.engine().is_none();
            let slot = (eager && known && slots.len() < EAGER_MAX)
                .then(|| shared.slots.try_enter())
                .flatten();
            schedule.request_eager_execution = slot.is_some();
            slots.extend(slot);
        }
    }
    slots
}

async fn fail(
    shared: &Shared,
    task_token: Vec<u8>,
    run: &WorkflowExecution,
    broken: &Broken,
) -> Result<(), Error> {
    tracing::error!(
        workflow_id = run.workflow_id,
        run_id = run.run_id,
        error = %broken,
        "a workflow cannot go on with this code"
    );
    shared.report.tasks.count(false);
    let request = ws::RespondWorkflowTaskFailedRequest {
        task_token,
        cause: broken.cause().into(),
        failure: Some(broken.to_failure().into_wire()),
        identity: shared.settings.identity.clone(),
        namespace: shared.settings.namespace.clone(),
        ..ws::RespondWorkflowTaskFailedRequest::default()
    };
    shared.door.respond_workflow_task_failed(request).await.map(drop)
}

/// Answers a query that came by itself.
async fn answer_query(
    shared: &Shared,
    task: &mut ws::PollWorkflowTaskQueueResponse,
) -> Result<(), Error> {
    let answered = said(shared, task).await?;
    let mut request = ws::RespondQueryTaskCompletedRequest {
        task_token: token_of(task),
        namespace: shared.settings.namespace.clone(),
        ..ws::RespondQueryTaskCompletedRequest::default()
    };
    let unsaid = request.clone();
    match answered {
        Ok(result) => {
            request.completed_type = QueryResultType::Answered.into();
            request.query_result = result;
        }
        Err(failure) => refuse(&mut request, failure),
    }
    if let Err(unchanged) = shared.codec.encode(&mut request) {
        request = unsaid;
        refuse(&mut request, unchanged.into());
    }
    shared.door.respond_query_task_completed(request).await.map(drop)
}

/// What the run's code says to a query.
async fn said(
    shared: &Shared,
    task: &mut ws::PollWorkflowTaskQueueResponse,
) -> Result<Result<Option<Payloads>, Failure>, Error> {
    let mut query = task.query.take().unwrap_or_default();
    if let Err(unchanged) = shared.codec.decode(&mut query) {
        return Ok(Err(unchanged.into()));
    }
    let run_id = task.workflow_execution.clone().unwrap_or_default().run_id;
    if let Some(execution) = shared.cache.take_settled(&run_id) {
        let answered = execution.query(&query);
        shared.cache.put(run_id, execution);
        return Ok(answered);
    }
    // Not kept: it has seen events that the next workflow task brings again.
    let (mut execution, mut events) = prepare(shared, task, None).await?;
    if let Err(unchanged) = shared.codec.decode(&mut events) {
        return Ok(Err(unchanged.into()));
    }
    let replayed = execution.replay(events);
    Ok(replayed.map_err(|broken| broken.to_failure()).and_then(|()| execution.query(&query)))
}

fn refuse(request: &mut ws::RespondQueryTaskCompletedRequest, failure: Failure) {
    request.completed_type = QueryResultType::Failed.into();
    failure.message().clone_into(&mut request.error_message);
    request.failure = Some(failure.into_wire());
}

fn normal(shared: &Shared) -> TaskQueue {
    TaskQueue { name: shared.settings.task_queue.clone(), ..TaskQueue::default() }
}

pub(super) fn sticky(shared: &Shared) -> TaskQueue {
    TaskQueue {
        name: format!("{}/{}", shared.settings.task_queue, shared.settings.identity),
        kind: TaskQueueKind::Sticky.into(),
        normal_name: shared.settings.task_queue.clone(),
    }
}

/// How many activities are asked for with one answer.
const EAGER_MAX: usize = 32;
