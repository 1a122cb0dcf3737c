//! The public Temporal API over gRPC.
//!
//! ```text
//!   services ──▶ workflow, operator ──▶ door ──▶ Engine
//!   (by path)    (tables of RPCs)  │      └──▶ status: its errors on the wire
//!                                  └──▶ unary ──▶ frame, gzip: messages on the wire
//! ```

mod deadline;
mod door;
mod frame;
mod gzip;
mod operator;
mod own_worker;
mod services;
mod status;
mod together;
mod unary;
mod workflow;

pub use operator::OPERATOR;
pub use workflow::WORKFLOW;

use std::{sync::Arc, time::Duration};

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use steadfast_engine::Engine;
use tokio::sync::watch;

use self::{door::Door, services::Services, together::Together};
use crate::{
    keys::Keys,
    listen::{self, Connection, Incoming},
    metrics::Metrics,
    wrong_door::Directions,
};

/// Serves until `stop`, then until the calls that are under way have ended.
pub(crate) async fn serve(
    engine: Engine,
    keys: Keys,
    metrics: Arc<Metrics>,
    incoming: Incoming,
    directions: Directions,
    stop: watch::Receiver<bool>,
) {
    let services = Services::new(Door::new(engine, keys, metrics)).await;
    let attend = move |connection, stop| attend(connection, services.clone(), stop);
    directions.attend_all(incoming, stop, attend).await;
}

/// Answers one client, until it goes or the server stops.
async fn attend(connection: Connection, services: Services, stop: watch::Receiver<bool>) {
    let serving = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        // gRPC has no use for the date, which would be in the headers of every answer.
        .auto_date_header(false)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(KEEPALIVE)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .serve_connection(TokioIo::new(Together::new(connection)), services);
    let ended = listen::serve(serving, stop, http2::Connection::graceful_shutdown).await;
    if let Err(error) = ended {
        tracing::debug!(%error, "a gRPC connection ended badly");
    }
}

/// Large histories come in one answer.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// Each poller of a worker holds a stream, and its other calls need one beside them.
const STREAMS: u32 = 100_000;
/// How often a silent client is asked whether it is there, and how long it may take to say so.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
