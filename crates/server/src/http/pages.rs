//! Pages of plain text: what this is, whether it is well, its numbers.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use http::{
    HeaderMap, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use steadfast_engine::Engine;

use super::{Names, api};
use crate::{
    keys::{Keys, Place, Wanted},
    metrics::{self, Metrics},
    rpc::Right,
};

/// What the pages are made from.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub(crate) engine: Engine,
    pub(crate) keys: Keys,
    pub(crate) names: Names,
    pub(crate) metrics: Arc<Metrics>,
    /// Where the other door is, for whoever came to this one by mistake.
    pub(crate) grpc: std::net::SocketAddr,
}

/// The pages.
pub(super) fn router() -> Router<Pages> {
    Router::new()
        .route("/", get(front))
        .route("/healthz", get(health))
        .route("/metrics", get(numbers))
        .fallback(nothing)
}

/// A browser is shown to the pages that are made for it.
async fn front(State(pages): State<Pages>, headers: HeaderMap) -> Response {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accepted.contains("text/html") {
        return Redirect::to("/namespaces").into_response();
    }
    let text = format!(
        "Steadfast {version}, a durable workflow engine.\n\
         \n\
         Workers and clients connect over gRPC to {grpc}.\n\
         /namespaces  what runs and what fails, for a browser\n\
         /healthz  whether work can be done\n\
         /metrics  numbers for Prometheus\n\
         /api/v1/openapi.json  what operators can ask for over HTTP\n",
        version = env!("CARGO_PKG_VERSION"),
        grpc = pages.grpc,
    );
    text.into_response()
}

async fn health(State(pages): State<Pages>) -> Response {
    match pages.engine.check_health().await {
        Ok(()) => "ok\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn numbers(State(pages): State<Pages>, request: Request) -> Response {
    let key = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let wanted = Wanted { right: Right::Read, place: Place::Cluster };
    if let Err(reason) = pages.keys.check(key, wanted) {
        return (api::denied_status(&reason), format!("{reason}\n")).into_response();
    }
    match metrics::text(&pages.metrics, &pages.engine).await {
        Ok(text) => ([(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE))], text)
            .into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn nothing(request: Request) -> Response {
    if request.uri().path().starts_with("/api/") {
        return api::unknown_path().into_response();
    }
    let text = "there is no such page; / lists those that there are\n";
    (StatusCode::NOT_FOUND, text).into_response()
}
