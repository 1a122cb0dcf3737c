//! What a worker tells a server of itself: that it is there, how busy it is, and that it goes.
//!
//! An engine in the same process ends with its worker, and is told nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use steadfast_engine::{Code, Timestamp};
use steadfast_proto::{
    enums::WorkerStatus,
    worker::{WorkerHeartbeat, WorkerHostInfo, WorkerPollerInfo, WorkerSlotsInfo},
    workflowservice::{RecordWorkerHeartbeatRequest, ShutdownWorkerRequest},
};

use super::{Shared, workflows::sticky};
use crate::{door::Door, span::instant_to_wire};

/// Since when a worker is there, and what it has done.
#[derive(Debug)]
pub(super) struct Report {
    began: Timestamp,
    pub(super) tasks: Done,
    pub(super) attempts: Done,
}

/// How much was done of something.
#[derive(Debug, Default)]
pub(super) struct Done {
    all: AtomicU32,
    failed: AtomicU32,
}

impl Done {
    pub(super) fn count(&self, is_good: bool) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if !is_good {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn told(&self) -> WorkerSlotsInfo {
        let number = |it: &AtomicU32| i32::try_from(it.load(Ordering::Relaxed)).unwrap_or(i32::MAX);
        WorkerSlotsInfo {
            total_processed_tasks: number(&self.all),
            total_failed_tasks: number(&self.failed),
            ..WorkerSlotsInfo::default()
        }
    }
}

impl Report {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { began: now, tasks: Done::default(), attempts: Done::default() }
    }

    fn heartbeat(&self, shared: &Shared, status: WorkerStatus) -> WorkerHeartbeat {
        let settings = &shared.settings;
        let under_way = shared.attempts.count();
        let pollers = settings.pollers.of(&shared.registry);
        let told = |number| {
            let current_pollers = whole(number);
            (number > 0)
                .then(|| WorkerPollerInfo { current_pollers, ..WorkerPollerInfo::default() })
        };
        WorkerHeartbeat {
            worker_instance_key: settings.key.clone(),
            worker_identity: settings.identity.clone(),
            host_info: Some(host()),
            task_queue: settings.task_queue.clone(),
            sdk_name: "steadfast".to_owned(),
            sdk_version: env!("CARGO_PKG_VERSION").to_owned(),
            status: status.into(),
            start_time: Some(instant_to_wire(self.began)),
            heartbeat_time: Some(instant_to_wire(shared.clock.now())),
            workflow_task_slots_info: Some(self.tasks.told()),
            activity_task_slots_info: Some(WorkerSlotsInfo {
                current_used_slots: whole(under_way),
                current_available_slots: whole(
                    settings.activities_at_once.saturating_sub(under_way),
                ),
                slot_supplier_kind: "Fixed".to_owned(),
                ..self.attempts.told()
            }),
            workflow_poller_info: told(pollers.workflows),
            workflow_sticky_poller_info: told(pollers.workflows),
            activity_poller_info: told(pollers.activities),
            current_sticky_cache_size: whole(shared.cache.count()),
            ..WorkerHeartbeat::default()
        }
    }
}

fn host() -> WorkerHostInfo {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    WorkerHostInfo {
        host_name: name.unwrap_or_default().trim().to_owned(),
        process_id: std::process::id().to_string(),
        ..WorkerHostInfo::default()
    }
}

fn whole(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Says that the worker is there, again and again until it stops. A server that does not want to know is
/// left alone.
pub(super) async fn repeat(shared: Arc<Shared>, door: Door) {
    loop {
        let request = RecordWorkerHeartbeatRequest {
            namespace: shared.settings.namespace.clone(),
            identity: shared.settings.identity.clone(),
            worker_heartbeat: vec![shared.report.heartbeat(&shared, WorkerStatus::Running)],
            ..RecordWorkerHeartbeatRequest::default()
        };
        if let Err(error) = door.record_worker_heartbeat(request).await {
            tracing::debug!(%error, "the server did not hear how the worker does");
            if matches!(error.code, Code::Unimplemented | Code::PermissionDenied) {
                return;
            }
        }
        tokio::select! {
            () = shared.stopped() => return,
            () = shared.clock.sleep(EVERY) => {}
        }
    }
}

/// Says that the worker goes: what waits for it alone goes to another one at once.
pub(super) async fn leave(shared: &Shared) {
    if shared.door.engine().is_some() {
        return;
    }
    let request = ShutdownWorkerRequest {
        namespace: shared.settings.namespace.clone(),
        identity: shared.settings.identity.clone(),
        sticky_task_queue: sticky(shared).name,
        reason: "graceful shutdown".to_owned(),
        worker_heartbeat: Some(shared.report.heartbeat(shared, WorkerStatus::ShuttingDown)),
        worker_instance_key: shared.settings.key.clone(),
        task_queue: shared.settings.task_queue.clone(),
        ..ShutdownWorkerRequest::default()
    };
    if let Err(error) = shared.door.shutdown_worker(request).await {
        tracing::debug!(%error, "the server did not hear that the worker goes");
    }
}

/// As often as workers of other SDKs do it.
const EVERY: Duration = Duration::from_secs(60);
