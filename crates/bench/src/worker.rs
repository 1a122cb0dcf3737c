//! A worker in this process, as a real one is: pollers that never stop, a sticky queue, and the
//! next workflow task asked for with the answer to the last one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use steadfast_engine::{Code, Engine, Error};
use steadfast_proto::{
    enums,
    taskqueue::{StickyExecutionAttributes, TaskQueue},
    workflowservice as ws,
};
use tokio::task::JoinSet;

use crate::{
    shape::{Memory, Shape, payloads},
    usage::now,
};

/// The namespace of all workflows.
pub(crate) const NAMESPACE: &str = "default";

/// How many pollers a worker has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pollers {
    /// For workflow tasks, on each of the two queues.
    pub(crate) tasks: usize,
    /// For activities.
    pub(crate) activities: usize,
}

/// A worker. Dropped, it stops.
#[derive(Debug)]
pub(crate) struct Worker {
    inner: Arc<Inner>,
    _pollers: JoinSet<()>,
}

#[derive(Debug)]
struct Inner {
    engine: Engine,
    shape: Shape,
    memories: Mutex<BTreeMap<String, Memory>>,
    tasks: AtomicUsize,
    steps: AtomicUsize,
    closed: AtomicUsize,
    /// When each activity was received, if somebody wants to know.
    received: Option<Mutex<Vec<Instant>>>,
}

impl Worker {
    /// Starts a worker. `timed` if it is to note when it received each activity.
    pub(crate) fn start(engine: &Engine, shape: Shape, pollers: Pollers, timed: bool) -> Self {
        let inner = Arc::new(Inner {
            engine: engine.for_own_workers(),
            shape,
            memories: Mutex::default(),
            tasks: AtomicUsize::new(0),
            steps: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
            received: timed.then(Mutex::default),
        });
        let mut running = JoinSet::new();
        for _ in 0..pollers.tasks {
            running.spawn(Arc::clone(&inner).poll_tasks(queue()));
            running.spawn(Arc::clone(&inner).poll_tasks(sticky_queue()));
        }
        for _ in 0..pollers.activities {
            running.spawn(Arc::clone(&inner).poll_activities());
        }
        Self { inner, _pollers: running }
    }

    /// Workflow tasks that were answered so far.
    pub(crate) fn tasks(&self) -> usize {
        self.inner.tasks.load(Ordering::Relaxed)
    }

    /// Activities that completed so far.
    pub(crate) fn steps(&self) -> usize {
        self.inner.steps.load(Ordering::Relaxed)
    }

    /// Workflows that it has closed so far.
    pub(crate) fn closed(&self) -> usize {
        self.inner.closed.load(Ordering::Relaxed)
    }

    /// When each activity was received, in order.
    pub(crate) fn received(&self) -> Vec<Instant> {
        let received = self.inner.received.as_ref();
        received.map(|times| lock(times).clone()).unwrap_or_default()
    }
}

impl Inner {
    async fn poll_tasks(self: Arc<Self>, queue: TaskQueue) {
        let request = ws::PollWorkflowTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(queue),
            identity: "worker".to_owned(),
            ..ws::PollWorkflowTaskQueueRequest::default()
        };
        while let Ok(task) = self.engine.poll_workflow_task_queue(request.clone()).await {
            if !task.task_token.is_empty() {
                tokio::spawn(Arc::clone(&self).answer_tasks(task));
            }
        }
    }

    /// Answers a workflow task, and those that come back with the answers.
    async fn answer_tasks(self: Arc<Self>, task: ws::PollWorkflowTaskQueueResponse) {
        let mut next = Some(task);
        while let Some(task) = next {
            let request = self.completion(task);
            next = match self.engine.respond_workflow_task_completed(request).await {
                Ok(response) => response.workflow_task,
                Err(error) => return check(&error),
            };
            self.tasks.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn completion(
        &self,
        task: ws::PollWorkflowTaskQueueResponse,
    ) -> ws::RespondWorkflowTaskCompletedRequest {
        let events = task.history.map(|history| history.events).unwrap_or_default();
        let run_id = task.workflow_execution.map(|execution| execution.run_id).unwrap_or_default();
        let mut memories = lock(&self.memories);
        let memory = memories.entry(run_id.clone()).or_default();
        let commands = self.shape.commands(memory, &events);
        let closes = commands
            .iter()
            .any(|command| command.command_type() == enums::CommandType::CompleteWorkflowExecution);
        if closes || self.shape == Shape::Sleep {
            memories.remove(&run_id);
        }
        if closes {
            self.closed.fetch_add(1, Ordering::Relaxed);
        }
        ws::RespondWorkflowTaskCompletedRequest {
            task_token: task.task_token,
            commands,
            identity: "worker".to_owned(),
            sticky_attributes: Some(StickyExecutionAttributes {
                worker_task_queue: Some(sticky_queue()),
                schedule_to_start_timeout: Some(steadfast_proto::prost_types::Duration {
                    seconds: 10,
                    nanos: 0,
                }),
            }),
            return_new_workflow_task: true,
            namespace: NAMESPACE.to_owned(),
            ..ws::RespondWorkflowTaskCompletedRequest::default()
        }
    }

    async fn poll_activities(self: Arc<Self>) {
        let request = ws::PollActivityTaskQueueRequest {
            namespace: NAMESPACE.to_owned(),
            task_queue: Some(queue()),
            identity: "worker".to_owned(),
            ..ws::PollActivityTaskQueueRequest::default()
        };
        while let Ok(task) = self.engine.poll_activity_task_queue(request.clone()).await {
            if !task.task_token.is_empty() {
                if let Some(received) = &self.received {
                    lock(received).push(now());
                }
                tokio::spawn(Arc::clone(&self).answer_activity(task));
            }
        }
    }

    async fn answer_activity(self: Arc<Self>, task: ws::PollActivityTaskQueueResponse) {
        let done = if self.shape.succeeds(task.attempt) {
            self.engine.respond_activity_task_completed(completed(task)).await.map(|_| 1)
        } else {
            self.engine.respond_activity_task_failed(failed(task, self.shape)).await.map(|_| 0)
        };
        match done {
            Ok(steps) => _ = self.steps.fetch_add(steps, Ordering::Relaxed),
            Err(error) => check(&error),
        }
    }
}

/// The queue that workflows are started on.
pub(crate) fn queue() -> TaskQueue {
    TaskQueue { name: "bench".to_owned(), ..TaskQueue::default() }
}

fn sticky_queue() -> TaskQueue {
    TaskQueue {
        name: "bench-sticky".to_owned(),
        kind: enums::TaskQueueKind::Sticky.into(),
        normal_name: "bench".to_owned(),
    }
}

fn completed(task: ws::PollActivityTaskQueueResponse) -> ws::RespondActivityTaskCompletedRequest {
    ws::RespondActivityTaskCompletedRequest {
        task_token: task.task_token,
        result: Some(payloads()),
        identity: "worker".to_owned(),
        namespace: NAMESPACE.to_owned(),
        ..ws::RespondActivityTaskCompletedRequest::default()
    }
}

fn failed(
    task: ws::PollActivityTaskQueueResponse,
    shape: Shape,
) -> ws::RespondActivityTaskFailedRequest {
    let workflow_id = task.workflow_execution.map(|it| it.workflow_id).unwrap_or_default();
    ws::RespondActivityTaskFailedRequest {
        task_token: task.task_token,
        failure: Some(shape.failure(&workflow_id)),
        identity: "worker".to_owned(),
        namespace: NAMESPACE.to_owned(),
        ..ws::RespondActivityTaskFailedRequest::default()
    }
}

/// An engine that stops, and a task that timed out, are part of some cases; anything else is a
/// mistake in the benchmark.
fn check(error: &Error) {
    let expected = matches!(error.code, Code::Unavailable | Code::NotFound);
    assert!(expected, "the engine refused an answer: {error}");
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
