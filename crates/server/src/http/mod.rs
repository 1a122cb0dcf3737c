//! The HTTP door: whether the server is well, its numbers, what operators do about failures, and pages
//! to look at.
//!
//! ```text
//!   pages ──▶ / · /healthz · /metrics          text, for people and Prometheus
//!   api ────▶ /api/v1/namespaces/…             JSON, for operators and their programs
//!   ui ─────▶ /namespaces/…                    HTML, for people with a browser
//! ```

mod api;
mod origin;
mod pages;
mod ui;

pub use api::openapi;
pub(crate) use origin::Names;
pub(crate) use pages::Pages;

use std::{convert::Infallible, time::Duration};

use axum::{Router, body::Body, response::Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::watch;
use tower_service::Service as _;

use crate::{
    listen::{self, Connection, Incoming},
    wrong_door::Directions,
};

/// Serves until `stop`, then until the answers that are under way are sent.
pub(crate) async fn serve(pages: Pages, incoming: Incoming, stop: watch::Receiver<bool>) {
    let directions = Directions::to_grpc(pages.grpc);
    let router = pages::router().merge(api::router()).merge(ui::router()).with_state(pages);
    let attend = move |connection, stop| attend(connection, router.clone(), stop);
    directions.attend_all(incoming, stop, attend).await;
}

/// Answers one client, until it goes or the server stops.
async fn attend(connection: Connection, router: Router, stop: watch::Receiver<bool>) {
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
    let ended = listen::serve(serving, stop, http1::Connection::graceful_shutdown).await;
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended badly");
    }
}

/// How long a client may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(10);
