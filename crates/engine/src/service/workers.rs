//! Workers: they report about themselves, are listed, and say when they shut down.

use prost::Message as _;
use steadfast_proto::{
    worker::{WorkerHeartbeat, WorkerInfo, WorkerListInfo},
    workflowservice::{
        CountWorkersRequest, CountWorkersResponse, DescribeWorkerRequest, DescribeWorkerResponse,
        ListWorkersRequest, ListWorkersResponse, RecordWorkerHeartbeatRequest,
        RecordWorkerHeartbeatResponse, ShutdownWorkerRequest, ShutdownWorkerResponse,
    },
};

use super::Engine;
use crate::{
    error::Error,
    matching::QueueName,
    namespaces::Namespace,
    token::{WorkersToken, page},
    visibility::parse_list,
    workers::{matches, schema},
};

impl Engine {
    /// Takes note of how workers do.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn record_worker_heartbeat(
        &self,
        request: RecordWorkerHeartbeatRequest,
    ) -> Result<RecordWorkerHeartbeatResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        if request.worker_heartbeat.iter().any(|it| it.worker_instance_key.is_empty()) {
            return Err(no_key());
        }
        for heartbeat in request.worker_heartbeat {
            self.shared().workers.hear(&namespace.id, heartbeat, self.now());
        }
        Ok(RecordWorkerHeartbeatResponse {})
    }

    /// Lists the workers that were heard of in the last five minutes.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn list_workers(
        &self,
        request: ListWorkersRequest,
    ) -> Result<ListWorkersResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let after = page::<WorkersToken>(&request.next_page_token)?.unwrap_or_default();
        let system = request.include_system_workers;
        let mut found = self.workers(&namespace, &request.query, &after.last, system)?;
        let page_max = self.shared().limits.list_page_max;
        let size = match usize::try_from(request.page_size) {
            Ok(size) if size > 0 => size.min(page_max),
            _ => page_max,
        };
        let more = found.len() > size;
        found.truncate(size);
        let last = found.last().filter(|_| more).map(|it| it.worker_instance_key.clone());
        let token = last.map(|last| WorkersToken { last }.encode_to_vec());
        let workers = found.iter().map(listed).collect();
        let infos = found.into_iter().map(|it| WorkerInfo { worker_heartbeat: Some(it) });
        #[expect(deprecated, reason = "older clients look there")]
        Ok(ListWorkersResponse {
            workers_info: infos.collect(),
            workers,
            next_page_token: token.unwrap_or_default(),
        })
    }

    /// Counts the workers that were heard of in the last five minutes.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn count_workers(
        &self,
        request: CountWorkersRequest,
    ) -> Result<CountWorkersResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let system = request.include_system_workers;
        let found = self.workers(&namespace, &request.query, "", system)?;
        Ok(CountWorkersResponse { count: i64::try_from(found.len()).unwrap_or(i64::MAX) })
    }

    /// Shows one worker.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn describe_worker(
        &self,
        request: DescribeWorkerRequest,
    ) -> Result<DescribeWorkerResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let key = &request.worker_instance_key;
        if key.is_empty() {
            return Err(no_key());
        }
        let found = self.shared().workers.get(&namespace.id, key, self.now());
        let missing = || Error::not_found(format!("worker {key:?} not found"));
        let worker_heartbeat = Some(found.ok_or_else(missing)?);
        Ok(DescribeWorkerResponse { worker_info: Some(WorkerInfo { worker_heartbeat }) })
    }

    /// A worker shuts down: its polls end empty, and what waited for it alone goes to anybody.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn shutdown_worker(
        &self,
        request: ShutdownWorkerRequest,
    ) -> Result<ShutdownWorkerResponse, Error> {
        let namespace = self.namespace(&request.namespace)?;
        let shared = self.shared();
        let now = self.now();
        if let Some(heartbeat) = request.worker_heartbeat
            && !heartbeat.worker_instance_key.is_empty()
        {
            shared.workers.hear(&namespace.id, heartbeat, now);
        }
        if shared.limits.polls_end_at_shutdown && !request.worker_instance_key.is_empty() {
            // Two workers can have one key: SDKs that send heartbeats have a second one for them, on a
            // queue of its own. Whoever names no queue leaves all.
            let sticky = Some(&request.sticky_task_queue).filter(|name| !name.is_empty());
            for queue in [&request.task_queue].into_iter().chain(sticky) {
                let key = &request.worker_instance_key;
                // First this, so that a poll that begins meanwhile sees it.
                shared.workers.shut_down(&namespace.id, key, queue, now);
                shared.tasks.dismiss(&namespace.id, key, queue);
                shared.activities.dismiss(&namespace.id, key, queue);
                shared.nexus.dismiss(&namespace.id, key, queue);
            }
        }
        if !request.sticky_task_queue.is_empty() {
            let namespace_id = namespace.id.clone();
            let name = QueueName { namespace_id, name: request.sticky_task_queue };
            for offer in shared.tasks.close(&name) {
                self.offer_to_others(offer);
            }
        }
        Ok(ShutdownWorkerResponse {})
    }

    fn workers(
        &self,
        namespace: &Namespace,
        query: &str,
        after: &str,
        system: bool,
    ) -> Result<Vec<WorkerHeartbeat>, Error> {
        let filter = parse_list(query, &schema())?;
        let mut found = self.shared().workers.list(&namespace.id, after, self.now());
        found.retain(|it| (system || !it.task_queue.starts_with(SYSTEM)) && matches(it, &filter));
        Ok(found)
    }
}

fn listed(worker: &WorkerHeartbeat) -> WorkerListInfo {
    let host = worker.host_info.clone().unwrap_or_default();
    WorkerListInfo {
        worker_instance_key: worker.worker_instance_key.clone(),
        worker_identity: worker.worker_identity.clone(),
        task_queue: worker.task_queue.clone(),
        deployment_version: worker.deployment_version.clone(),
        sdk_name: worker.sdk_name.clone(),
        sdk_version: worker.sdk_version.clone(),
        status: worker.status,
        start_time: worker.start_time,
        host_name: host.host_name,
        worker_grouping_key: host.worker_grouping_key,
        process_id: host.process_id,
        plugins: worker.plugins.clone(),
        drivers: worker.drivers.clone(),
    }
}

fn no_key() -> Error {
    Error::invalid("worker_instance_key is not set on request.")
}

/// Queues that are the server's own begin so.
const SYSTEM: &str = "temporal-sys-";
