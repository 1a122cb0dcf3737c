//! The service that operators use.

use http::request::Parts;
use steadfast_proto::operatorservice;
use tonic::Status;

use super::unary::{self, Handler};
use crate::{
    keys::{Place, Wanted},
    rpc::{Right, Rpc, Rpcs, State, service},
};

service! {
    /// What of the operator service is answered.
    OPERATOR: "temporal.api.operatorservice.v1.OperatorService", in operatorservice, by HANDLERS;
    serves {
        Admin namespace add_search_attributes(AddSearchAttributesRequest);
        Admin namespace remove_search_attributes(RemoveSearchAttributesRequest);
        Read namespace list_search_attributes(ListSearchAttributesRequest);
        Admin cluster delete_namespace(DeleteNamespaceRequest);
        Read cluster list_clusters(ListClustersRequest);
    }
    refuses {
        AddOrUpdateRemoteClusterRequest;
        RemoveRemoteClusterRequest;
        GetNexusEndpointRequest;
        CreateNexusEndpointRequest;
        UpdateNexusEndpointRequest;
        DeleteNexusEndpointRequest;
        ListNexusEndpointsRequest;
    }
}
