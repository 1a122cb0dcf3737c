//! The public Temporal protobuf vocabulary.
//!
//! Messages are generated from the description of the API in the published crate, under short names
//! for the packages that Steadfast speaks; with the feature `clients` there are the clients that
//! call a server. There is no event model of our own: what an SDK wrote is given back as it was.

pub mod causes;
mod command_of;
#[cfg(feature = "described")]
mod described;
pub mod generated;
#[cfg(feature = "json")]
pub mod json;
mod metadata;
pub mod names;
pub mod payload;
#[cfg(feature = "payloads")]
mod payloads;
#[cfg(feature = "json")]
pub mod telling;
pub mod waiting;

#[cfg(feature = "described")]
pub use described::DESCRIPTORS;
pub use generated::google::rpc;
pub use generated::temporal::api::{
    activity::v1 as activity, batch::v1 as batch, command::v1 as command, common::v1 as common,
    deployment::v1 as deployment, enums::v1 as enums, errordetails::v1 as errordetails,
    failure::v1 as failure, filter::v1 as filter, history::v1 as history,
    namespace::v1 as namespace, operatorservice::v1 as operatorservice, protocol::v1 as protocol,
    query::v1 as query, replication::v1 as replication, schedule::v1 as schedule, sdk::v1 as sdk,
    taskqueue::v1 as taskqueue, update::v1 as update, version::v1 as version, worker::v1 as worker,
    workflow::v1 as workflow, workflowservice::v1 as workflowservice,
};
#[cfg(feature = "payloads")]
pub use payloads::EachPayload;
pub use {prost, prost_types};

/// The clients that call a server.
#[cfg(feature = "clients")]
pub mod clients {
    pub use crate::generated::{
        grpc::health::v1::{self as health, health_client::HealthClient},
        temporal::api::{
            operatorservice::v1::operator_service_client::OperatorServiceClient,
            workflowservice::v1::workflow_service_client::WorkflowServiceClient,
        },
    };
}
