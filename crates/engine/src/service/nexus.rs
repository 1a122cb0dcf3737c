//! Nexus: workers may ask for its tasks, and none come.
//!
//! A worker that has handlers polls for them beside its other work. To refuse it would take the
//! worker down with all that it does, and some cannot even stop then; that there is no Nexus here is
//! said to whoever wants an endpoint or an operation.

use steadfast_proto::workflowservice::{PollNexusTaskQueueRequest, PollNexusTaskQueueResponse};

use super::Engine;
use crate::{
    error::Error,
    matching::QueueName,
    task::{NexusOffer, Taker},
};

impl Engine {
    /// Waits as long as a poll does, and answers that there was nothing.
    pub async fn poll_nexus_task_queue(
        &self,
        request: PollNexusTaskQueueRequest,
    ) -> Result<PollNexusTaskQueueResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let queue = request.task_queue.unwrap_or_default();
        if queue.name.is_empty() {
            return Err(Error::invalid("missing task queue name"));
        }
        self.check_running()?;
        let name = QueueName { namespace_id: namespace.id.clone(), name: queue.name };
        let taker = Taker {
            identity: request.identity,
            worker: request.worker_instance_key,
            ..Taker::default()
        };
        let left = self.patience(self.shared().limits.poll_wait);
        let none = |offer: NexusOffer, _| match offer {};
        self.next(&self.shared().nexus, (&name, &taker), left, none).await;
        Ok(PollNexusTaskQueueResponse::default())
    }
}
