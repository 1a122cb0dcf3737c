//! What this server is and can do, for SDKs and tools that ask before they begin.

use steadfast_proto::{
    namespace::namespace_info,
    operatorservice::{ClusterMetadata, ListClustersRequest, ListClustersResponse},
    version::{ReleaseInfo, VersionInfo},
    workflowservice::{
        GetClusterInfoRequest, GetClusterInfoResponse, GetSystemInfoRequest, GetSystemInfoResponse,
        get_system_info_response::Capabilities,
    },
};

use super::Engine;
use crate::{error::Error, limits::Limits};

impl Engine {
    /// Which features there are. SDKs ask when they connect.
    #[expect(clippy::unused_async, reason = "like all calls")]
    pub async fn get_system_info(
        &self,
        _request: GetSystemInfoRequest,
    ) -> Result<GetSystemInfoResponse, Error> {
        Ok(GetSystemInfoResponse {
            server_version: API_VERSION.to_owned(),
            capabilities: Some(Capabilities {
                signal_and_query_header: true,
                internal_error_differentiation: true,
                activity_failure_include_heartbeat: true,
                supports_schedules: true,
                // Workers tell their build where it is read from; it decides nothing here.
                build_id_based_versioning: true,
                encoded_failure_attributes: true,
                upsert_memo: true,
                eager_workflow_start: true,
                sdk_metadata: true,
                count_group_by_execution_status: true,
                ..Capabilities::default()
            }),
        })
    }

    /// Which server this is.
    pub async fn get_cluster_info(
        &self,
        _request: GetClusterInfoRequest,
    ) -> Result<GetClusterInfoResponse, Error> {
        let clients = CLIENTS.map(|name| (name.to_owned(), "<2.0.0".to_owned()));
        Ok(GetClusterInfoResponse {
            supported_clients: clients.into_iter().collect(),
            server_version: API_VERSION.to_owned(),
            cluster_id: self.cluster_id().await?,
            version_info: Some(VersionInfo {
                current: Some(ReleaseInfo {
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                    notes: "Steadfast".to_owned(),
                    ..ReleaseInfo::default()
                }),
                ..VersionInfo::default()
            }),
            cluster_name: CLUSTER.to_owned(),
            history_shard_count: self.shard_count(),
            persistence_store: "steadfast".to_owned(),
            // Tools that do not know a store by name take it that it cannot be queried.
            visibility_store: "sqlite".to_owned(),
            initial_failover_version: FAILOVER_VERSION,
            failover_version_increment: FAILOVER_INCREMENT,
        })
    }

    /// The clusters that this server knows: itself.
    pub async fn list_clusters(
        &self,
        _request: ListClustersRequest,
    ) -> Result<ListClustersResponse, Error> {
        Ok(ListClustersResponse {
            clusters: vec![ClusterMetadata {
                cluster_name: CLUSTER.to_owned(),
                cluster_id: self.cluster_id().await?,
                initial_failover_version: FAILOVER_VERSION,
                history_shard_count: self.shard_count(),
                is_connection_enabled: true,
                ..ClusterMetadata::default()
            }],
            next_page_token: Vec::new(),
        })
    }

    /// The id of the data, which it keeps for ever: drawn by whoever asks first.
    async fn cluster_id(&self) -> Result<String, Error> {
        let name = || CLUSTER_ID.to_owned();
        if let Some(bytes) = self.store().setting(name()).await? {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        let id = self.shared().ids.id();
        self.store().put_setting(name(), Some(id.clone().into_bytes())).await?;
        Ok(id)
    }

    fn shard_count(&self) -> i32 {
        let shards = self.shared().mailboxes.get().map_or(0, Vec::len);
        i32::try_from(shards).unwrap_or(i32::MAX)
    }
}

/// What can be done in every namespace.
pub(super) fn capabilities(limits: &Limits) -> namespace_info::Capabilities {
    namespace_info::Capabilities {
        eager_workflow_start: true,
        sync_update: true,
        async_update: true,
        worker_heartbeats: true,
        worker_poll_complete_on_shutdown: limits.polls_end_at_shutdown,
        poller_autoscaling: true,
        ..namespace_info::Capabilities::default()
    }
}

/// The version of the protocol's own server whose behaviour is offered: clients compare it with
/// the versions that they know.
const API_VERSION: &str = "1.30.0";

/// The name of the only cluster.
pub(super) const CLUSTER: &str = "active";

const CLUSTER_ID: &str = "cluster id";
const FAILOVER_VERSION: i64 = 1;
const FAILOVER_INCREMENT: i64 = 10;

const CLIENTS: [&str; 8] = [
    "temporal-cli",
    "temporal-dotnet",
    "temporal-go",
    "temporal-java",
    "temporal-python",
    "temporal-ruby",
    "temporal-rust",
    "temporal-typescript",
];
