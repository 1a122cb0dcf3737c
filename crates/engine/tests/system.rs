//! What the engine says of itself.

use steadfast_proto::{operatorservice as os, workflowservice as ws};

use crate::common::{NAMESPACE, Rig, survives};

#[tokio::test(start_paused = true)]
async fn what_is_said_to_work_are_things_that_work() {
    let rig = Rig::new().await;
    let info = rig.engine().get_system_info(ws::GetSystemInfoRequest {}).await.expect("an answer");
    assert!(info.server_version.starts_with("1."), "{}", info.server_version);
    let can = info.capabilities.expect("capabilities");
    assert!(can.encoded_failure_attributes && can.upsert_memo && can.sdk_metadata);
    assert!(can.eager_workflow_start && can.activity_failure_include_heartbeat);
    assert!(can.build_id_based_versioning, "workers tell their build by it");
    assert!(!can.nexus && !can.server_scaled_deployments);
    let request = ws::DescribeNamespaceRequest {
        namespace: NAMESPACE.to_owned(),
        ..ws::DescribeNamespaceRequest::default()
    };
    let described = rig.engine().describe_namespace(request).await.expect("a namespace");
    let info = described.namespace_info.expect("an info");
    assert_eq!(info.supports_schedules, can.supports_schedules);
    let can = info.capabilities.expect("capabilities");
    assert!(can.eager_workflow_start && can.sync_update && can.async_update);
    assert!(!can.workflow_pause && !can.worker_commands && !can.standalone_activities);
    let limits = info.limits.expect("limits");
    assert_eq!((limits.blob_size_limit_error, limits.memo_size_limit_error), (2 << 20, 2 << 20));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_keeps_its_id() {
    let told = survives(async |rig: &Rig| {
        let id = || async {
            let info = rig.engine().get_cluster_info(ws::GetClusterInfoRequest {}).await;
            info.expect("an answer").cluster_id
        };
        let first = id().await;
        rig.point().await;
        let listed = rig.engine().list_clusters(os::ListClustersRequest::default()).await;
        let clusters = listed.expect("a list").clusters;
        assert_eq!((clusters.len(), clusters[0].cluster_id.as_str()), (1, first.as_str()));
        rig.point().await;
        assert_eq!(id().await, first);
        clusters[0].cluster_name.clone()
    });
    assert_eq!(told.await, "active");
}
