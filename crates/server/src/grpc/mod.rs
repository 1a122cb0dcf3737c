//! The public Temporal API over gRPC.
//!
//! ```text
//!   sizes ──▶ workflow, operator ──▶ door ──▶ Engine
//!             (tables of RPCs)         └──▶ status: its errors on the wire
//! ```

mod deadline;
mod door;
mod operator;
mod sizes;
mod status;
mod workflow;

pub use operator::OPERATOR;
pub use workflow::WORKFLOW;

use std::{future::Future, sync::Arc, time::Duration};

use steadfast_engine::Engine;
use steadfast_proto::services::{
    DESCRIPTORS, operator::operator_service_server::OperatorServiceServer,
    workflow::workflow_service_server::WorkflowServiceServer,
};
use tonic::{codec::CompressionEncoding::Gzip, transport};

use self::{
    door::Door,
    sizes::{LARGEST_REQUEST, Sizes},
};
use crate::{keys::Keys, listen::Incoming, metrics::Metrics};

/// Serves until `stop`, then until the calls that are under way have ended.
pub(crate) async fn serve(
    engine: Engine,
    keys: Keys,
    metrics: Arc<Metrics>,
    incoming: Incoming,
    stop: impl Future<Output = ()>,
) -> Result<(), transport::Error> {
    let door = Door::new(engine, keys, metrics);
    let workflow = WorkflowServiceServer::new(door.clone())
        .accept_compressed(Gzip)
        .send_compressed(Gzip)
        .max_decoding_message_size(LARGEST_REQUEST)
        .max_encoding_message_size(usize::MAX);
    let operator = OperatorServiceServer::new(door)
        .accept_compressed(Gzip)
        .send_compressed(Gzip)
        .max_decoding_message_size(LARGEST_REQUEST);
    let (health, healthy) = tonic_health::server::health_reporter();
    for service in [WORKFLOW.service, OPERATOR.service] {
        health.set_service_status(service, tonic_health::ServingStatus::Serving).await;
    }
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    transport::Server::builder()
        .layer(Sizes)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(STREAMS)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .add_service(workflow)
        .add_service(operator)
        // SDKs may compress whatever they send, health checks too.
        .add_service(healthy.accept_compressed(Gzip))
        .add_optional_service(reflection().build_v1().ok().map(|it| it.accept_compressed(Gzip)))
        .add_optional_service(
            reflection().build_v1alpha().ok().map(|it| it.accept_compressed(Gzip)),
        )
        .serve_with_incoming_shutdown(incoming, stop)
        .await
}

/// Large histories come in one answer.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// Each poller of a worker holds a stream, and its other calls need one beside them.
const STREAMS: u32 = 100_000;
/// How often a silent client is asked whether it is there, and how long it may take to say so.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
