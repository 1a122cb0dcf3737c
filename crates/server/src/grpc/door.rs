//! The way in and the way out of every RPC.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::{HeaderMap, HeaderName, header::AUTHORIZATION};
use steadfast_engine::{Engine, Error};
use tonic::{Code, Status};

use super::{
    deadline, own_worker,
    status::{denied, status},
};
use crate::{
    keys::{Keys, Wanted},
    metrics::{Metrics, RpcMetrics},
    rpc::Row,
};

/// Where calls come in. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    engine: Engine,
    keys: Arc<Keys>,
    metrics: Arc<Metrics>,
}

/// A call that was let in.
#[derive(Debug)]
pub(super) struct Call {
    row: Row,
    /// The engine, for as long as the caller waits.
    engine: Engine,
    metrics: Arc<Metrics>,
    began: Instant,
    /// How it ended; until it has, its caller may go away at any time.
    ended: Code,
}

impl Door {
    pub(crate) fn new(engine: Engine, keys: Keys, metrics: Arc<Metrics>) -> Self {
        Self { engine, keys: Arc::new(keys), metrics }
    }

    /// Lets a call in, or says why not.
    pub(super) fn enter(
        &self,
        row: Row,
        wanted: Wanted<'_>,
        headers: &HeaderMap,
    ) -> Result<Call, Status> {
        let key = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes);
        if let Err(reason) = self.keys.check(key, wanted) {
            return Err(self.turned_away(row, denied(&reason)));
        }
        let engine = match deadline::of(headers) {
            Some(Duration::ZERO) => {
                return Err(self.turned_away(row, Status::deadline_exceeded(NO_TIME)));
            }
            Some(span) => self.engine.within(deadline::for_us(span)),
            None => self.engine.clone(),
        };
        let engine = match own_worker::of(headers) {
            Ok(None) => engine,
            Ok(Some(worker)) => worker.introduce(&engine),
            Err(bad) => {
                return Err(self.turned_away(row, Status::invalid_argument(bad.to_string())));
            }
        };
        let engine = if is_sdk(headers) { engine.with_task_under_way() } else { engine };
        Ok(Call::begin(row, engine, Arc::clone(&self.metrics)))
    }

    /// The answer to an RPC that is not served.
    pub(super) fn refuse(&self, row: Row) -> Status {
        let name = row.rpc.name();
        let status = Status::unimplemented(format!("{name} is not supported by this server"));
        self.turned_away(row, status)
    }

    /// Counts a call that was not let in.
    fn turned_away(&self, row: Row, status: Status) -> Status {
        if let Some(metrics) = self.metrics.rpc(row) {
            metrics.count(status.code(), Duration::ZERO);
        }
        status
    }
}

const NO_TIME: &str = "the call came with no time left (grpc-timeout is 0): nothing was done";

/// Whether the caller may be a worker: an SDK says so by its name, and so do programs for people, which
/// want to see what is written.
fn is_sdk(headers: &HeaderMap) -> bool {
    let name = headers.get(&CLIENT_NAME).and_then(|name| name.to_str().ok());
    name.is_some_and(|name| name.starts_with("temporal-") && !FOR_PEOPLE.contains(&name))
}

static CLIENT_NAME: HeaderName = HeaderName::from_static("client-name");
const FOR_PEOPLE: [&str; 2] = ["temporal-cli", "temporal-ui"];

impl Call {
    #[expect(clippy::disallowed_methods, reason = "how long a call took, for metrics")]
    fn begin(row: Row, engine: Engine, metrics: Arc<Metrics>) -> Self {
        metrics.rpc(row).map(RpcMetrics::begin);
        Self { row, engine, metrics, began: Instant::now(), ended: Code::Cancelled }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Gives the engine's answer to the caller.
    pub(super) fn leave<M>(mut self, answer: Result<M, Error>) -> Result<M, Status> {
        match answer {
            Ok(message) => {
                self.ended = Code::Ok;
                Ok(message)
            }
            Err(error) => {
                let rpc = self.row.rpc.name();
                tracing::debug!(rpc, code = %error.code, "{}", error.message);
                let status = status(error);
                self.ended = status.code();
                Err(status)
            }
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let Some(metrics) = self.metrics.rpc(self.row) {
            metrics.end(self.ended, self.began.elapsed());
        }
    }
}
