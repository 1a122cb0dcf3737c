//! What there is to know about a task queue: who polls it, and how much waits.

use std::{collections::BTreeMap, time::Duration};

use steadfast_core::span::{instant_to_wire, to_wire};
use steadfast_proto::{
    enums::{DescribeTaskQueueMode, RateLimitSource, TaskQueueType},
    taskqueue::{
        PollerInfo, PollerScalingDecision, TaskQueue, TaskQueuePartitionMetadata, TaskQueueStats,
        TaskQueueStatus, TaskQueueTypeInfo, TaskQueueVersionInfo,
    },
    workflowservice::{
        DescribeTaskQueueRequest, DescribeTaskQueueResponse, ListTaskQueuePartitionsRequest,
        ListTaskQueuePartitionsResponse, describe_task_queue_response::EffectiveRateLimit,
    },
};

use super::Engine;
use crate::{
    error::Error,
    matching::{PollerSeen, QueueName, Stats},
    shard::earlier,
};

impl Engine {
    /// Shows who polled a task queue in the last five minutes, and how many tasks wait in it.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn describe_task_queue(
        &self,
        request: DescribeTaskQueueRequest,
    ) -> Result<DescribeTaskQueueResponse, Error> {
        let name = self.queue_name(&request.namespace, request.task_queue.as_ref())?;
        let (seen, stats) = self.queue(&name, request.task_queue_type());
        #[expect(deprecated, reason = "tools still ask this way")]
        let (mode, status) = (request.api_mode(), request.include_task_queue_status);
        let mut response = DescribeTaskQueueResponse {
            pollers: seen.iter().map(poller).collect(),
            stats: Some(wire_stats(&stats)),
            effective_rate_limit: stats.rate.map(|rate| EffectiveRateLimit {
                requests_per_second: narrow(rate),
                rate_limit_source: RateLimitSource::Worker.into(),
            }),
            ..DescribeTaskQueueResponse::default()
        };
        #[expect(deprecated, reason = "tools still ask this way")]
        {
            response.task_queue_status = status.then(|| TaskQueueStatus {
                backlog_count_hint: count(stats.backlog),
                rate_per_second: stats.rate.unwrap_or_default(),
                ..TaskQueueStatus::default()
            });
            if mode == DescribeTaskQueueMode::Enhanced {
                let info = self.by_type(&name, &request);
                response.versions_info = std::iter::once((String::new(), info)).collect();
            }
        }
        Ok(response)
    }

    /// Shows the parts of a task queue: it is always one.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn list_task_queue_partitions(
        &self,
        request: ListTaskQueuePartitionsRequest,
    ) -> Result<ListTaskQueuePartitionsResponse, Error> {
        let name = self.queue_name(&request.namespace, request.task_queue.as_ref())?;
        let whole = vec![TaskQueuePartitionMetadata { key: name.name, ..Default::default() }];
        Ok(ListTaskQueuePartitionsResponse {
            activity_task_queue_partitions: whole.clone(),
            workflow_task_queue_partitions: whole,
        })
    }

    fn queue_name(&self, namespace: &str, queue: Option<&TaskQueue>) -> Result<QueueName, Error> {
        let namespace = self.namespace(namespace)?;
        let name = queue.map(|queue| queue.name.clone()).unwrap_or_default();
        if name.is_empty() {
            return Err(Error::invalid("missing task queue name"));
        }
        Ok(QueueName { namespace_id: namespace.id.clone(), name })
    }

    fn queue(&self, name: &QueueName, kind: TaskQueueType) -> (Vec<PollerSeen>, Stats) {
        let since = earlier(self.now(), LATELY);
        let shared = self.shared();
        match kind {
            TaskQueueType::Activity => {
                (shared.activities.pollers(name, since), shared.activities.stats(name))
            }
            TaskQueueType::Unspecified | TaskQueueType::Workflow | TaskQueueType::Nexus => {
                (shared.tasks.pollers(name, since), shared.tasks.stats(name))
            }
        }
    }

    /// All queues of one name, as the older way of asking wants them.
    fn by_type(
        &self,
        name: &QueueName,
        request: &DescribeTaskQueueRequest,
    ) -> TaskQueueVersionInfo {
        #[expect(deprecated, reason = "tools still ask this way")]
        let (asked, pollers) = (&request.task_queue_types, request.report_pollers);
        let all = [TaskQueueType::Workflow, TaskQueueType::Activity];
        let wanted =
            all.into_iter().filter(|kind| asked.is_empty() || asked.contains(&i32::from(*kind)));
        let infos: BTreeMap<i32, TaskQueueTypeInfo> = wanted
            .map(|kind| {
                let (seen, stats) = self.queue(name, kind);
                let info = TaskQueueTypeInfo {
                    pollers: seen.iter().filter(|_| pollers).map(poller).collect(),
                    stats: request.report_stats.then(|| wire_stats(&stats)),
                };
                (kind.into(), info)
            })
            .collect();
        TaskQueueVersionInfo {
            types_info: infos.into_iter().collect(),
            ..TaskQueueVersionInfo::default()
        }
    }
}

/// Whether a worker that got a task after so long should poll with more or fewer polls at once,
/// given how long the oldest task waits.
pub(super) fn scaling(waited: Duration, oldest: Duration) -> Option<PollerScalingDecision> {
    let delta = if oldest >= BEHIND {
        1
    } else if waited >= IDLE {
        -1
    } else {
        return None;
    };
    Some(PollerScalingDecision { poll_request_delta_suggestion: delta })
}

fn poller(seen: &PollerSeen) -> PollerInfo {
    PollerInfo {
        last_access_time: Some(instant_to_wire(seen.at)),
        identity: seen.identity.clone(),
        rate_per_second: seen.rate.unwrap_or_default(),
        ..PollerInfo::default()
    }
}

fn wire_stats(stats: &Stats) -> TaskQueueStats {
    TaskQueueStats {
        approximate_backlog_count: count(stats.backlog),
        approximate_backlog_age: to_wire(stats.age),
        tasks_add_rate: stats.added,
        tasks_dispatch_rate: stats.dispatched,
        rate_limiting_active: stats.is_limited,
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "for people to read")]
fn narrow(rate: f64) -> f32 {
    rate as f32
}

const LATELY: Duration = Duration::from_secs(300);

/// A task that waits for so long shows that there are too few polls.
const BEHIND: Duration = Duration::from_millis(200);

/// A poll that waits for so long shows that there are enough of them.
const IDLE: Duration = Duration::from_secs(1);
