//! Numbers about the doors and the engine, for Prometheus.
//!
//! Counting is a few atomic additions at places that are known beforehand: no names are looked up
//! while a call is served. Names, labels and text are made when somebody asks for the numbers.

mod failures;
mod http;
mod process;
mod text;

pub(crate) use http::HttpCall;
pub(crate) use text::{CONTENT_TYPE, text};

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use steadfast_engine::Histogram;
use tonic::Code;

use self::http::HttpMetrics;
use crate::rpc::{Row, Rpcs};

/// What is counted at the doors.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: SystemTime,
    grpc_connections: Gauge,
    services: Vec<(Rpcs, Vec<RpcMetrics>)>,
    http: HttpMetrics,
}

impl Metrics {
    /// Nothing counted yet, for these services.
    #[expect(clippy::disallowed_methods, reason = "when the process began is told to people")]
    pub(crate) fn new(services: &[Rpcs]) -> Self {
        let of_service = |rpcs: &Rpcs| {
            let metrics = rpcs.rpcs.iter().map(|_| RpcMetrics::default()).collect();
            (*rpcs, metrics)
        };
        Self {
            started: SystemTime::now(),
            grpc_connections: Gauge::default(),
            services: services.iter().map(of_service).collect(),
            http: HttpMetrics::default(),
        }
    }

    /// Counts a connection for as long as the answer is kept.
    pub(crate) fn connection(self: &Arc<Self>) -> Connected {
        self.grpc_connections.add();
        Connected(Arc::clone(self))
    }

    /// The numbers of one RPC.
    pub(crate) fn rpc(&self, row: Row) -> Option<&RpcMetrics> {
        let (_, rpcs) = self.services.iter().find(|(rpcs, _)| rpcs.service == row.service)?;
        rpcs.get(row.number)
    }
}

/// A connection that is counted.
#[derive(Debug)]
pub(crate) struct Connected(Arc<Metrics>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.grpc_connections.remove();
    }
}

/// The numbers of one RPC.
#[derive(Debug, Default)]
pub(crate) struct RpcMetrics {
    /// Calls that are under way: of a poll, those who wait.
    in_flight: Gauge,
    /// How long calls took, in microseconds, by how they ended.
    ended: [OnceLock<Histogram>; CODES.len()],
}

impl RpcMetrics {
    pub(crate) fn begin(&self) {
        self.in_flight.add();
    }

    pub(crate) fn end(&self, code: Code, took: Duration) {
        self.in_flight.remove();
        self.count(code, took);
    }

    /// Counts a call that was not let in.
    pub(crate) fn count(&self, code: Code, took: Duration) {
        if let Some(histogram) =
            usize::try_from(i32::from(code)).ok().and_then(|n| self.ended.get(n))
        {
            let micros = took.as_micros().try_into().unwrap_or(u64::MAX);
            histogram.get_or_init(|| Histogram::new(MICROS)).record(micros);
        }
    }
}

/// How many there are of something.
#[derive(Debug, Default)]
struct Gauge(AtomicU64);

impl Gauge {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn remove(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The names of the codes, by number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

const MICROS: &[u64] = &[
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
    5_000_000, 30_000_000, 70_000_000,
];
