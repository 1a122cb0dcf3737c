//! A poll at a queue, of workflow tasks or of activities: what waits is taken, or waited for.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;

use super::{Engine, call_end::LeaveOnDrop, within};
use crate::{
    gift::Gift,
    matching::{Matching, Polled, QueueName},
    task::{Taker, Waits},
};

impl Engine {
    /// Gets a worker the next of what waits at a queue, which `take` sends for, or waits for one.
    /// `None` if none came in time, or the worker has shut down; an empty one if it was not to be had
    /// after all.
    pub(super) async fn next<T, R>(
        &self,
        queues: &Arc<Matching<T, Gift<R>>>,
        (name, taker): (&QueueName, &Taker),
        left: Duration,
        take: impl FnOnce(T, oneshot::Sender<Gift<R>>),
    ) -> Option<Gift<R>>
    where
        T: Waits + Send + 'static,
        R: Send + 'static,
    {
        let workers = &self.shared().workers;
        let has_left = || workers.has_left(&name.namespace_id, &taker.worker, &name.name);
        if has_left() {
            return None;
        }
        match queues.poll(name, taker) {
            Polled::Wait(ticket, mut gift) => {
                let _leave = LeaveOnDrop::new(|| {
                    queues.leave(name, ticket);
                });
                let left = if has_left() { Duration::ZERO } else { left };
                match within(self.shared(), left, &mut gift).await {
                    Some(gift) => gift.ok(),
                    None if queues.leave(name, ticket) => None,
                    // A task is on its way here already.
                    None => gift.await.ok(),
                }
            }
            Polled::Task(task) => {
                let (slot, gift) = oneshot::channel();
                take(task, slot);
                Some(gift.await.unwrap_or_else(|_| Gift::empty()))
            }
        }
    }
}
