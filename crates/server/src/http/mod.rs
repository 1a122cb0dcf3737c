//! The HTTP door: whether the server is well, its numbers, and a page that says what this is.

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{
    StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue},
};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use steadfast_engine::Engine;
use tokio::{sync::watch, task::JoinSet};
use tokio_stream::StreamExt as _;
use tower_service::Service as _;

use crate::{
    keys::{Denied, Keys, Place, Wanted},
    listen::{Connection, Incoming},
    metrics::{self, Metrics},
    rpc::Right,
};

/// What the pages are made from.
#[derive(Clone, Debug)]
pub(crate) struct Pages {
    pub(crate) engine: Engine,
    pub(crate) keys: Keys,
    pub(crate) metrics: Arc<Metrics>,
    /// Where the other door is, for whoever came to this one by mistake.
    pub(crate) grpc: std::net::SocketAddr,
}

/// Serves until `stop`, then until the answers that are under way are sent.
pub(crate) async fn serve(pages: Pages, mut incoming: Incoming, mut stop: watch::Receiver<bool>) {
    let router = Router::new()
        .route("/", get(front))
        .route("/healthz", get(health))
        .route("/metrics", get(numbers))
        .fallback(nothing)
        .with_state(pages);
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = asked(&mut stop) => break,
            Some(_) = open.join_next() => {}
            connection = incoming.next() => match connection {
                Some(Ok(connection)) => {
                    open.spawn(attend(connection, router.clone(), stop.clone()));
                }
                Some(Err(_)) => {}
                None => break,
            },
        }
    }
    drop(incoming);
    open.join_all().await;
}

/// Answers one client, until it goes or the server stops.
async fn attend(connection: Connection, router: Router, mut stop: watch::Receiver<bool>) {
    let service =
        hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
            let mut router = router.clone();
            async move {
                let answer: Result<Response, Infallible> =
                    router.call(request.map(Body::new)).await;
                answer
            }
        });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(connection), service);
    let mut serving = pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = asked(&mut stop) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended badly");
    }
}

/// Waits until the server is asked to stop, or left alone.
pub(crate) async fn asked(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|asked| *asked).await;
}

async fn front(State(pages): State<Pages>) -> String {
    format!(
        "Steadfast {version}, a durable workflow engine.\n\
         \n\
         Workers and clients connect over gRPC to {grpc}.\n\
         /healthz  whether work can be done\n\
         /metrics  numbers for Prometheus\n",
        version = env!("CARGO_PKG_VERSION"),
        grpc = pages.grpc,
    )
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
        let code = match reason {
            Denied::NoKey | Denied::UnknownKey => StatusCode::UNAUTHORIZED,
            Denied::NotEnough { .. } => StatusCode::FORBIDDEN,
        };
        return (code, format!("{reason}\n")).into_response();
    }
    match metrics::text(&pages.metrics, &pages.engine) {
        Ok(text) => ([(CONTENT_TYPE, HeaderValue::from_static(metrics::CONTENT_TYPE))], text)
            .into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn nothing() -> (StatusCode, &'static str) {
    (StatusCode::NOT_FOUND, "there is no such page; / lists those that there are\n")
}

/// How long a client may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(10);
