//! Activity tasks: as many attempts as there is room for.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use steadfast_proto::{
    taskqueue::{TaskQueue, TaskQueueMetadata},
    workflowservice as ws,
};
use tokio::sync::OwnedSemaphorePermit;

use super::{Shared, attempt, begin};
use crate::activity::Line;

/// Attempts that run in this worker.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<BTreeMap<Key, Arc<Line>>>);

/// A run, and an activity's id in it.
pub(crate) type Key = (String, String);

impl Attempts {
    pub(super) fn add(&self, key: Key, line: Arc<Line>) {
        self.lock().insert(key, line);
    }

    pub(super) fn remove(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Tells an attempt in this worker that its activity is cancelled, without waiting for its next
    /// heartbeat.
    pub(super) fn cancel(&self, run_id: &str, activity_id: &str) {
        let key = (run_id.to_owned(), activity_id.to_owned());
        if let Some(line) = self.lock().get(&key) {
            line.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Line>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for activity tasks until the worker stops.
pub(crate) async fn poll(shared: Arc<Shared>) {
    let request = ws::PollActivityTaskQueueRequest {
        namespace: shared.settings.namespace.clone(),
        task_queue: Some(TaskQueue {
            name: shared.settings.task_queue.clone(),
            ..TaskQueue::default()
        }),
        identity: shared.settings.identity.clone(),
        task_queue_metadata: shared
            .settings
            .queue_activities_per_second
            .map(|rate| TaskQueueMetadata { max_tasks_per_second: Some(rate) }),
        ..ws::PollActivityTaskQueueRequest::default()
    };
    let mut failures = 0;
    loop {
        // Room first: a task that is taken is run at once.
        let polled = async {
            let (slot, token) = shared.slots.enter().await.ok()?;
            let polled = shared.door.poll_activity_task_queue(request.clone()).await;
            Some((slot, token, polled))
        };
        let polled = tokio::select! {
            biased;
            () = shared.stopped() => return,
            polled = polled => polled,
        };
        match polled {
            None => return,
            Some((.., Ok(task))) if task.task_token.is_empty() => failures = 0,
            Some((slot, token, Ok(task))) => {
                failures = 0;
                if let Some(token) = token {
                    token.spend();
                }
                spawn(&shared, task, slot);
            }
            Some((slot, token, Err(error))) => {
                drop((slot, token));
                if !shared.rest(&error, &mut failures).await {
                    return;
                }
            }
        }
    }
}

/// Runs an attempt, in the background if it takes long.
pub(crate) fn spawn(
    shared: &Arc<Shared>,
    task: ws::PollActivityTaskQueueResponse,
    slot: OwnedSemaphorePermit,
) {
    begin(attempt::run(Arc::clone(shared), task, slot));
}
