//! What there is to know about a task queue: who polls it, and how much waits.

use std::time::Duration;

use steadfast_core::span::instant_to_wire;
use steadfast_proto::{
    enums::TaskQueueType,
    taskqueue::{PollerInfo, TaskQueueStats},
    workflowservice::{DescribeTaskQueueRequest, DescribeTaskQueueResponse},
};

use super::Engine;
use crate::{error::Error, matching::QueueName, shard::earlier};

impl Engine {
    /// Shows who polled a task queue in the last five minutes, and how many tasks wait in it.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn describe_task_queue(
        &self,
        request: DescribeTaskQueueRequest,
    ) -> Result<DescribeTaskQueueResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let kind = request.task_queue_type();
        let queue = request.task_queue.unwrap_or_default();
        if queue.name.is_empty() {
            return Err(Error::invalid("missing task queue name"));
        }
        let name = QueueName { namespace_id: namespace.id.clone(), name: queue.name };
        let since = earlier(self.now(), LATELY);
        let shared = self.shared();
        let (seen, backlog) = match kind {
            TaskQueueType::Activity => {
                (shared.activities.pollers(&name, since), shared.activities.backlog(&name))
            }
            TaskQueueType::Unspecified | TaskQueueType::Workflow | TaskQueueType::Nexus => {
                (shared.tasks.pollers(&name, since), shared.tasks.backlog(&name))
            }
        };
        let pollers = seen.into_iter().map(|seen| PollerInfo {
            last_access_time: Some(instant_to_wire(seen.at)),
            identity: seen.identity,
            ..PollerInfo::default()
        });
        Ok(DescribeTaskQueueResponse {
            pollers: pollers.collect(),
            stats: Some(TaskQueueStats {
                approximate_backlog_count: i64::try_from(backlog).unwrap_or(i64::MAX),
                ..TaskQueueStats::default()
            }),
            ..DescribeTaskQueueResponse::default()
        })
    }
}

const LATELY: Duration = Duration::from_secs(300);
