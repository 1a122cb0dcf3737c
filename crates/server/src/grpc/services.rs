//! Which service answers a call.
//!
//! Workers and clients call the workflow service thousands of times a second, so that is asked
//! first and directly; the others are found by a router.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use http::{Request, Response};
use hyper::body::Incoming;
use steadfast_proto::services::{
    DESCRIPTORS, operator::operator_service_server::OperatorServiceServer,
    workflow::workflow_service_server::WorkflowServiceServer,
};
use tonic::{body::Body, codec::CompressionEncoding::Gzip, service::Routes};
use tower_service::Service as _;

use super::{
    OPERATOR, WORKFLOW,
    door::Door,
    sizes::{self, LARGEST_REQUEST},
};

/// All that can be called.
#[derive(Clone, Debug)]
pub(super) struct Services {
    workflow: WorkflowServiceServer<Door>,
    others: Routes,
}

/// An answer to come.
pub(super) struct Answer {
    coming: Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>,
}

impl Services {
    pub(super) async fn new(door: Door) -> Self {
        let workflow = WorkflowServiceServer::new(door.clone())
            .accept_compressed(Gzip)
            .send_compressed(Gzip)
            .max_decoding_message_size(LARGEST_REQUEST)
            .max_encoding_message_size(usize::MAX);
        let operator = OperatorServiceServer::new(door)
            .accept_compressed(Gzip)
            .send_compressed(Gzip)
            .max_decoding_message_size(LARGEST_REQUEST);
        Self { workflow, others: about_itself(Routes::new(operator)).await }
    }
}

/// Adds what a server tells of itself. SDKs may compress whatever they send, health checks too.
async fn about_itself(routes: Routes) -> Routes {
    let (health, healthy) = tonic_health::server::health_reporter();
    for service in [WORKFLOW.service, OPERATOR.service] {
        health.set_service_status(service, tonic_health::ServingStatus::Serving).await;
    }
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut routes = routes.add_service(healthy.accept_compressed(Gzip));
    if let Ok(newer) = reflection().build_v1() {
        routes = routes.add_service(newer.accept_compressed(Gzip));
    }
    if let Ok(older) = reflection().build_v1alpha() {
        routes = routes.add_service(older.accept_compressed(Gzip));
    }
    routes
}

impl hyper::service::Service<Request<Incoming>> for Services {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn call(&self, request: Request<Incoming>) -> Answer {
        let service = request.uri().path().strip_prefix('/').and_then(|it| it.split('/').next());
        let coming = if service == Some(WORKFLOW.service) {
            self.workflow.clone().call(request)
        } else {
            Box::pin(self.others.clone().call(request))
        };
        Answer { coming }
    }
}

impl Future for Answer {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.coming.as_mut().poll(context).map_ok(|mut response| {
            sizes::reword(response.headers_mut());
            response
        })
    }
}
