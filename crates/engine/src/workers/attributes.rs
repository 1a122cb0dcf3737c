//! What can be asked about a worker.

use std::collections::BTreeMap;

use steadfast_core::span::instant_from_wire;
use steadfast_proto::{enums::WorkerStatus, worker::WorkerHeartbeat};
use steadfast_store::{SearchType, Value};

use crate::visibility::Schema;

/// The names that a query for workers may use, and their types.
pub(crate) fn schema() -> Schema {
    let names = NAMES.into_iter().map(|(name, kind)| (name.to_owned(), kind));
    Schema::only(names.collect::<BTreeMap<_, _>>())
}

/// What a worker has under this name.
pub(super) fn values(worker: &WorkerHeartbeat, name: &str) -> Vec<Value> {
    let text = |text: &str| vec![Value::Text(text.to_owned())];
    let time = |at: Option<&steadfast_proto::prost_types::Timestamp>| {
        at.map(|at| Value::Time(instant_from_wire(at))).into_iter().collect()
    };
    let version = worker.deployment_version.clone().unwrap_or_default();
    match name {
        "WorkerInstanceKey" => text(&worker.worker_instance_key),
        "WorkerIdentity" => text(&worker.worker_identity),
        "HostName" => text(worker.host_info.as_ref().map_or("", |host| &host.host_name)),
        "TaskQueue" => text(&worker.task_queue),
        "DeploymentName" => text(&version.deployment_name),
        "BuildId" => text(&version.build_id),
        "SdkName" => text(&worker.sdk_name),
        "SdkVersion" => text(&worker.sdk_version),
        "StartTime" => time(worker.start_time.as_ref()),
        "LastHeartbeatTime" => time(worker.heartbeat_time.as_ref()),
        "WorkerStatus" | "Status" => status(worker.status()),
        _ => Vec::new(),
    }
}

/// A status under both its names.
fn status(status: WorkerStatus) -> Vec<Value> {
    let short = match status {
        WorkerStatus::Unspecified => "Unspecified",
        WorkerStatus::Running => "Running",
        WorkerStatus::ShuttingDown => "ShuttingDown",
        WorkerStatus::Shutdown => "Shutdown",
    };
    [short, status.as_str_name()].map(|name| Value::Text(name.to_owned())).into()
}

const NAMES: [(&str, SearchType); 12] = [
    ("WorkerInstanceKey", SearchType::Keyword),
    ("WorkerIdentity", SearchType::Keyword),
    ("HostName", SearchType::Keyword),
    ("TaskQueue", SearchType::Keyword),
    ("DeploymentName", SearchType::Keyword),
    ("BuildId", SearchType::Keyword),
    ("SdkName", SearchType::Keyword),
    ("SdkVersion", SearchType::Keyword),
    ("StartTime", SearchType::Datetime),
    ("LastHeartbeatTime", SearchType::Datetime),
    // Two names for each status, so it is a list.
    ("WorkerStatus", SearchType::KeywordList),
    ("Status", SearchType::KeywordList),
];
