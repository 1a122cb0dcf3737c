//! Which service answers a call.
//!
//! What the services do is found by its path in one table; what the server tells of itself is asked
//! for rarely, and found by a router.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use http::{Request, Response};
use hyper::body::Incoming;
use steadfast_proto::DESCRIPTORS;
use tonic::{codec::CompressionEncoding::Gzip, service::Routes};
use tower_service::Service as _;

use super::{
    OPERATOR, WORKFLOW,
    door::Door,
    operator,
    unary::{Answer, Answered, Coming, Handler},
    workflow,
};
use crate::rpc::Rpcs;

/// All that can be called.
#[derive(Clone, Debug)]
pub(super) struct Services {
    door: Door,
    /// What carries out a call, by its path.
    handlers: Arc<BTreeMap<String, Handler>>,
    others: Routes,
}

impl Services {
    pub(super) async fn new(door: Door) -> Self {
        let ours = [(WORKFLOW, workflow::HANDLERS), (OPERATOR, operator::HANDLERS)];
        let handlers = ours.into_iter().flat_map(|(rpcs, handlers)| by_path(rpcs, handlers));
        let others = about_itself().await;
        Self { door, handlers: Arc::new(handlers.collect()), others }
    }
}

fn by_path(rpcs: Rpcs, handlers: &'static [Handler]) -> impl Iterator<Item = (String, Handler)> {
    let path = move |name: &str| format!("/{}/{name}", rpcs.service);
    rpcs.rpcs.iter().map(move |rpc| path(rpc.name())).zip(handlers.iter().copied())
}

/// What a server tells of itself. SDKs may compress whatever they send, health checks too.
async fn about_itself() -> Routes {
    let (health, healthy) = tonic_health::server::health_reporter();
    for service in [WORKFLOW.service, OPERATOR.service] {
        health.set_service_status(service, tonic_health::ServingStatus::Serving).await;
    }
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let mut routes = Routes::new(healthy.accept_compressed(Gzip));
    if let Ok(newer) = reflection().build_v1() {
        routes = routes.add_service(newer.accept_compressed(Gzip));
    }
    if let Ok(older) = reflection().build_v1alpha() {
        routes = routes.add_service(older.accept_compressed(Gzip));
    }
    routes
}

impl hyper::service::Service<Request<Incoming>> for Services {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Coming;

    fn call(&self, request: Request<Incoming>) -> Coming {
        match self.handlers.get(request.uri().path()) {
            Some(handler) => handler(self.door.clone(), request),
            None => Box::pin(other(self.others.clone(), request)),
        }
    }
}

async fn other(mut others: Routes, request: Request<Incoming>) -> Answered {
    Ok(others.call(request).await?.map(Answer::Other))
}
