//! The service that operators use.

use steadfast_proto::{
    operatorservice, services::operator::operator_service_server::OperatorService,
};
use tonic::{Request, Response, Status};

use super::door::Door;
use crate::{
    keys::{Place, Wanted},
    rpc::{Right, Rpc, Rpcs, State, service},
};

service! {
    /// What of the operator service is answered.
    OPERATOR: OperatorService as "temporal.api.operatorservice.v1.OperatorService", in operatorservice;
    serves {
        Admin namespace add_search_attributes(AddSearchAttributesRequest)
            -> AddSearchAttributesResponse;
        Admin namespace remove_search_attributes(RemoveSearchAttributesRequest)
            -> RemoveSearchAttributesResponse;
        Read namespace list_search_attributes(ListSearchAttributesRequest)
            -> ListSearchAttributesResponse;
        Admin cluster delete_namespace(DeleteNamespaceRequest) -> DeleteNamespaceResponse;
        Read cluster list_clusters(ListClustersRequest) -> ListClustersResponse;
    }
    refuses {
        add_or_update_remote_cluster(AddOrUpdateRemoteClusterRequest)
            -> AddOrUpdateRemoteClusterResponse;
        remove_remote_cluster(RemoveRemoteClusterRequest) -> RemoveRemoteClusterResponse;
        get_nexus_endpoint(GetNexusEndpointRequest) -> GetNexusEndpointResponse;
        create_nexus_endpoint(CreateNexusEndpointRequest) -> CreateNexusEndpointResponse;
        update_nexus_endpoint(UpdateNexusEndpointRequest) -> UpdateNexusEndpointResponse;
        delete_nexus_endpoint(DeleteNexusEndpointRequest) -> DeleteNexusEndpointResponse;
        list_nexus_endpoints(ListNexusEndpointsRequest) -> ListNexusEndpointsResponse;
    }
}
