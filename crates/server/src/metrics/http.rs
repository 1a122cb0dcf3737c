//! Numbers about calls of the HTTP API.
//!
//! Operators and their programs make few of them, so a call looks its place up by name.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use http::StatusCode;
use steadfast_engine::Histogram;

use super::{Gauge, MICROS, Metrics};

/// How calls went.
#[derive(Debug, Default)]
pub(super) struct HttpMetrics {
    /// How long they took, in microseconds, by their name and how they ended.
    ended: Mutex<BTreeMap<Ended, Arc<Histogram>>>,
    pub(super) in_flight: Gauge,
}

/// The name of a call, and the status that it ended with.
pub(super) type Ended = (&'static str, u16);

impl HttpMetrics {
    /// What there is to tell of each.
    pub(super) fn ended(&self) -> Vec<(Ended, Arc<Histogram>)> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.iter().map(|(what, took)| (*what, Arc::clone(took))).collect()
    }

    fn end(&self, what: Ended, began: Instant) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = ended.entry(what).or_insert_with(|| Arc::new(Histogram::new(MICROS)));
        histogram.record(began.elapsed().as_micros().try_into().unwrap_or(u64::MAX));
    }
}

/// A call under way. One that is dropped was left by its client.
#[derive(Debug)]
pub(crate) struct HttpCall {
    metrics: Arc<Metrics>,
    name: &'static str,
    began: Instant,
    status: u16,
}

impl HttpCall {
    #[expect(clippy::disallowed_methods, reason = "how long a call took, for metrics")]
    pub(crate) fn begin(metrics: &Arc<Metrics>, name: &'static str) -> Self {
        metrics.http.in_flight.add();
        Self { metrics: Arc::clone(metrics), name, began: Instant::now(), status: LEFT }
    }

    /// It was answered.
    pub(crate) fn answered(mut self, status: StatusCode) {
        self.status = status.as_u16();
    }
}

impl Drop for HttpCall {
    fn drop(&mut self) {
        self.metrics.http.in_flight.remove();
        self.metrics.http.end((self.name, self.status), self.began);
    }
}

/// As others say it of a client that has closed its request.
const LEFT: u16 = 499;
